// Package traces is the development trace store: it takes spans over OTLP (gRPC and HTTP), keeps the newest
// of them within an age and a size, and answers searches, traces and a small page for people.
//
// It guarantees that a span can be found as soon as its export call returned, that a span which is
// exported again replaces itself, and that what is kept stays within MaxBytes, oldest dropped first, across
// restarts. Writes are not synced: a crash of the machine may lose the last moments, a crash of the process
// at most what had not reached the operating system. It is no production store: no authentication, one
// process, and it answers to loopback names only.
//
// Keys of the Pebble store, numbers big-endian:
//
//	v                          format version: one byte
//	b                          bytes kept: uint64, written with every change in the same batch
//	t <seq 8>                  a span's record, in the order of arrival
//	i <trace id 16> <span id 8>    the span's seq: uint64
//
// A seq is the time of arrival in nanoseconds, made unique and rising; "newest first", lookback and MaxAge
// go by it, since a sender's clock may be wrong. Its bytes are those of the two entries of a span.
//
// Serve runs everything. The store's methods may be called from any goroutine.
package traces
