// Package v8value reads and writes the structured-clone format of V8, version 15, in Go and without an engine: the bytes
// that workerd keeps in a Durable Object's storage and sends between objects.
//
// It works on two levels. Encode and Decode translate between bytes and a tree of values that keeps everything the format
// can say: references and cycles, holes, boxed primitives, maps, sets, dates, regular expressions, errors and views.
// Marshal and Unmarshal translate between bytes and ordinary Go values by the rules of encoding/json (struct tags
// included), for classes written in Go:
//
//	Go                              JavaScript
//	nil, nil pointer or map         null
//	bool                            boolean
//	integers, floats                number; an integer beyond 2^53 is an error
//	*big.Int                        bigint
//	string                          string
//	time.Time                       Date, in whole milliseconds, UTC
//	[]byte                          Uint8Array
//	slice, array                    Array
//	map[string]T, struct            object
//
// Data that no one wrote by these rules is refused with ErrFormat; it never panics and never allocates more than a small
// multiple of its size. The functions have no state and may be called from any goroutine.
package v8value
