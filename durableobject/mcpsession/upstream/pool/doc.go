// Package pool shares the connections to sources among all that a process does with them: one connection to a source at a
// revision, opened at the first use and closed after a time without any.
//
// Guarantees: at most MaxConnections connections, a quarter of them of one owner, and what they weigh is bounded; at most
// MaxCalls calls at once to one source, a bound on the wait for
// each call and on each result; a source that failed is connected to anew by the next use, and a panic in a source's code
// is an error of that one call. Connections are opened by the first caller that needs one; others wait for it.
//
// A Pool may be used from any goroutine. It starts none but timers, which Close stops.
package pool
