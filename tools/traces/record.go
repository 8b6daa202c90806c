package traces

import (
	"encoding/binary"
	"errors"
)

// traceID and spanID are ids as OTLP has them. The zero spanID stands for "no parent".
type (
	traceID [16]byte
	spanID  [8]byte
)

// span is what the store keeps of one span, within the limits of otlp.go.
type span struct {
	trace         traceID
	id, parent    spanID
	start, end    uint64 // nanoseconds since 1970, by the sender's clock
	failed        bool
	name, service string
	tags          []tag
}

// tag is one attribute as text.
type tag struct{ key, value string }

// recordHead is the length of a record's fixed part: ids, start, end and flags.
const recordHead = 16 + 8 + 8 + 8 + 8 + 1

// errRecord reports a stored record that cannot be read.
var errRecord = errors.New("trace store: a span's record is damaged")

// appendRecord appends s's encoding to b: the fixed part, then name, service and tags as texts with their
// lengths before them.
func appendRecord(b []byte, s *span) []byte {
	b = append(b, s.trace[:]...)
	b = append(b, s.id[:]...)
	b = append(b, s.parent[:]...)
	b = binary.BigEndian.AppendUint64(b, s.start)
	b = binary.BigEndian.AppendUint64(b, s.end)
	var flags byte
	if s.failed {
		flags = 1
	}
	b = append(b, flags)
	b = appendText(b, s.name)
	b = appendText(b, s.service)
	b = binary.AppendUvarint(b, uint64(len(s.tags)))
	for _, t := range s.tags {
		b = appendText(b, t.key)
		b = appendText(b, t.value)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// view is a record read in place: its slices point into the record, and decoding into the same view again
// reuses its memory. A search looks at far more spans than it returns.
type view struct {
	trace         traceID
	id, parent    spanID
	start, end    uint64
	failed        bool
	name, service []byte
	tags          []tagView
}

type tagView struct{ key, value []byte }

// decode reads a record into v. Errors: errRecord.
func (v *view) decode(b []byte) error {
	if len(b) < recordHead {
		return errRecord
	}
	copy(v.trace[:], b)
	copy(v.id[:], b[16:])
	copy(v.parent[:], b[24:])
	v.start = binary.BigEndian.Uint64(b[32:])
	v.end = binary.BigEndian.Uint64(b[40:])
	v.failed = b[48] != 0
	c := cursor{rest: b[recordHead:]}
	v.name, v.service = c.text(), c.text()
	n := c.number()
	v.tags = v.tags[:0]
	// Each tag takes two bytes at least, so a false count cannot ask for much.
	if n > uint64(len(c.rest)) {
		return errRecord
	}
	for range n {
		v.tags = append(v.tags, tagView{c.text(), c.text()})
	}
	if c.bad || len(c.rest) != 0 {
		return errRecord
	}
	return nil
}

// tag returns the value of the attribute key, and whether there is one.
func (v *view) tag(key string) ([]byte, bool) {
	for _, t := range v.tags {
		if string(t.key) == key {
			return t.value, true
		}
	}
	return nil, false
}

// span copies the record out of its memory.
func (v *view) span() span {
	s := span{
		trace: v.trace, id: v.id, parent: v.parent, start: v.start, end: v.end, failed: v.failed,
		name: string(v.name), service: string(v.service), tags: make([]tag, len(v.tags)),
	}
	for i, t := range v.tags {
		s.tags[i] = tag{string(t.key), string(t.value)}
	}
	return s
}

// cursor reads texts and numbers off the front of a record; bad stays true after the first fault.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) number() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *cursor) text() []byte {
	n := c.number()
	if n > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return nil
	}
	text := c.rest[:n:n]
	c.rest = c.rest[n:]
	return text
}
