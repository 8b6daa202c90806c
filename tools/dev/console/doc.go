// Package console is how people see what the processes of a stack say: a log handler for terminals, and a writer that puts
// the lines of many processes, each with its name, on one stream. Its types may be used from any goroutine.
package console
