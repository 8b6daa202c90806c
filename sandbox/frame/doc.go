// Package frame is what a sandbox and its children say to each other over a pair of pipes.
//
// A frame is a length of four bytes (big endian, without itself), a kind of one byte, and the kind's
// fields: numbers as unsigned varints, strings and bytes with their length before them. The parent sends
// Start and Result; the child sends Ready once, then Log, Emit and Call while a program runs, and one
// Done at its end.
//
// A child is never trusted: the Reader refuses frames that are longer than its limit, allocates only for
// bytes that have arrived, and refuses what is cut short or has bytes left over. Whether a frame is in
// order is for its taker to judge. Reader and Writer belong to one goroutine each.
package frame
