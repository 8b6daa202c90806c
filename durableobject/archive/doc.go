// Package archive reads and writes the form in which one object leaves its host and comes back: a stream of records
// with a version and a checksum.
//
//	"tandemobj" version                           10 bytes; version is 1
//	'H' length  namespace 00 ID name?             the object; once, first
//	'A' length  scheduled, due, retries, counted  its alarm, if it has one; times in milliseconds since 1970
//	'K' length  key length, key, value            one key, in the order of their bytes
//	'Z' length  number of keys, SHA-256           the end; the checksum is over all that comes before it
//
// Lengths and numbers are unsigned varints; name? is a byte, 1 for an object with a name, and then the name. Values
// are the bytes that the object has stored.
//
// Guarantees: a Reader that has returned io.EOF has seen the whole of what a Writer wrote, unchanged. Until then
// nothing that it returned may be believed. It takes data from anywhere, never panics, and allocates no more than the
// limits of one record.
//
// A Writer or Reader is used by one goroutine at a time.
package archive
