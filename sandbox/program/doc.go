// Package program is the body of a sandbox's child process: it runs untrusted programs, one at a time,
// each on a JavaScript runtime of its own.
//
// The child protects its parent and its neighbours, not itself: before it takes a program it gives up
// what it does not need (files, core dumps, privileges to gain, memory beyond the program's limit), and
// while one runs a watch measures processor time and memory. Whoever passes a limit, or may have harmed
// the process, ends with it. A program that ended well leaves a child that may run another one.
//
// A program can be run again to where it was. All that it learns of the world comes with a result, a timer or its start,
// and nothing else changes its clock or its randomness; so the seed, the start and the order of those lead it to the same
// place, through the same calls (see replay).
//
// What it does not do: it does not measure the wall clock and cannot be relied on to end; both are the
// parent's (package pool). Nothing that it says is trusted there.
//
// Goroutines: one runs all JavaScript, one reads frames, one watches. They share only the inbox and the
// output, which has a lock, and live as long as the process: Main returns as soon as one of them does.
package program
