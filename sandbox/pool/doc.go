// Package pool keeps the sandbox's children: processes that each run one untrusted program at a time.
//
// A program waits until a child is free or may be started: organizations are served in turn, the programs of one in the
// order of their coming, and both the queue and the wait are bounded. One organization has at most seven eighths of the
// children, so that programs that take for ever do not shut others out. As many children stay warm as the load of the last
// half minute needed, and a few more. The pool holds the wall clock, kills (never asks) a child whose program passed a
// limit or whose caller went away, tells from what is left of it why it ended, and starts another one. It trusts nothing
// that a child says: what breaks the protocol or the limits of size ends as crashed or as too much output.
//
// A program whose clock is stopped, because a person has to answer, does not count among those that run:
// otherwise a few open questions would stop everybody's work.
//
// Start may be called from any goroutine. Close kills all children and waits for them and for the
// pool's goroutines. What is not here: limits inside the child (package program) and the wire (package
// sandbox).
package pool
