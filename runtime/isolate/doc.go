// Package isolate will hold one JavaScript heap and its event loop, touched by one goroutine at a time. Nothing runs
// JavaScript Workers yet: the sandbox's programs have a runtime of their own in sandbox/program.
package isolate
