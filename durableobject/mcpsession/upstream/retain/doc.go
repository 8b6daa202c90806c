// Package retain keeps values that can be made anew, within a bound on what they take together: the least recently used
// go first. A cache may be used from any goroutine.
package retain
