package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"time"

	"github.com/tandem-do/tandem/proto/objectid"
)

const (
	maxHeaderBytes = maxNamespaceBytes + 1 + objectid.Size + 1 + objectid.MaxNameBytes
	maxAlarmBytes  = 4 * binary.MaxVarintLen64
	maxEndBytes    = binary.MaxVarintLen64 + sha256.Size
	// maxMillis is the last millisecond that a JavaScript Date can hold.
	maxMillis = 8_640_000_000_000_000
)

// Reader reads one archive.
type Reader struct {
	in     *bufio.Reader
	sum    hash.Hash
	header Header
	offset int64 // of the next byte
	buf    []byte
	keys   uint64
	last   string
	alarm  bool // one was read
	err    error
}

// NewReader reads the beginning of an archive. Errors wrap ErrFormat or are the source's.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReader(in), sum: sha256.New()}
	var begin [len(magic) + 1]byte
	if err := r.full(begin[:]); err != nil {
		return nil, err
	}
	if string(begin[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrFormat)
	}
	if v := begin[len(magic)]; v != Version {
		return nil, fmt.Errorf("%w: it has version %d, this reads %d", ErrFormat, v, Version)
	}
	kind, payload, err := r.record()
	if err != nil {
		return nil, err
	}
	if kind != kindHeader {
		return nil, fmt.Errorf("%w: it has no header", ErrFormat)
	}
	r.header, err = parseHeader(payload)
	return r, err
}

// Header returns which object it is of.
func (r *Reader) Header() Header { return r.header }

// Keys returns how many keys were read.
func (r *Reader) Keys() uint64 { return r.keys }

// Next returns the next record, or io.EOF when the archive was read to its end and is whole. Other errors wrap
// ErrFormat or are the source's; they stay.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	rec, err := r.next()
	r.err = err
	return rec, err
}

func (r *Reader) next() (Record, error) {
	kind, payload, err := r.record()
	if err != nil {
		return Record{}, err
	}
	switch kind {
	case kindAlarm:
		if r.alarm || r.keys > 0 {
			return Record{}, r.fault("an alarm in the wrong place")
		}
		r.alarm = true
		a, ok := parseAlarm(payload)
		if !ok {
			return Record{}, r.fault("an alarm that can't be")
		}
		return Record{Alarm: &a}, nil
	case kindKey:
		n, used := binary.Uvarint(payload)
		if used <= 0 || n > MaxKeyBytes || n > uint64(len(payload)-used) {
			return Record{}, r.fault("a key that can't be")
		}
		key := string(payload[used : used+int(n)])
		if r.keys > 0 && key <= r.last {
			return Record{}, r.fault("keys are not in order")
		}
		r.keys, r.last = r.keys+1, key
		return Record{Key: key, Value: payload[used+int(n):]}, nil
	case kindEnd:
		return Record{}, r.end(payload)
	}
	return Record{}, r.fault(fmt.Sprintf("a record of an unknown kind 0x%02x", kind))
}

// end checks the end and returns io.EOF.
func (r *Reader) end(payload []byte) error {
	n, used := binary.Uvarint(payload)
	if used <= 0 || n != r.keys || len(payload) != used {
		return r.fault("an end that does not fit")
	}
	want := r.sum.Sum(nil)
	var got [sha256.Size]byte
	if err := r.full(got[:]); err != nil {
		return err
	}
	if !bytes.Equal(want, got[:]) {
		return fmt.Errorf("%w: its checksum is wrong, so it was damaged", ErrFormat)
	}
	if _, err := r.in.ReadByte(); err == nil {
		return r.fault("something after the end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return io.EOF
}

// record reads one record; of an end without its checksum.
func (r *Reader) record() (kind byte, payload []byte, err error) {
	if kind, err = r.byte(); err != nil {
		return 0, nil, err
	}
	size, err := r.uvarint()
	if err != nil {
		return 0, nil, err
	}
	least, most := uint64(0), uint64(0)
	switch kind {
	case kindHeader:
		most = maxHeaderBytes
	case kindAlarm:
		most = maxAlarmBytes
	case kindKey:
		most = binary.MaxVarintLen64 + MaxKeyBytes + MaxValueBytes
	case kindEnd:
		least, most = sha256.Size, maxEndBytes
	}
	if size < least || size > most {
		return 0, nil, r.fault(fmt.Sprintf("a record 0x%02x of %d bytes", kind, size))
	}
	if kind == kindEnd {
		size -= sha256.Size
	}
	payload, err = r.payload(int(size))
	return kind, payload, err
}

// payload reads n bytes, into memory that grows with what is really there.
func (r *Reader) payload(n int) ([]byte, error) {
	const step = 1 << 20
	r.buf = r.buf[:0]
	for len(r.buf) < n {
		begin := len(r.buf)
		more := min(n-begin, step)
		r.buf = slices.Grow(r.buf, more)[:begin+more]
		if err := r.full(r.buf[begin:]); err != nil {
			return nil, err
		}
	}
	return r.buf, nil
}

func (r *Reader) uvarint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, r.fault("a bad length")
}

func (r *Reader) byte() (byte, error) {
	var b [1]byte
	err := r.full(b[:])
	return b[0], err
}

// full reads exactly len(b) bytes, and has the checksum include them.
func (r *Reader) full(b []byte) error {
	n, err := io.ReadFull(r.in, b)
	r.sum.Write(b[:n]) // never fails
	r.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends early, after %d bytes", ErrFormat, r.offset)
	}
	return err
}

func (r *Reader) fault(what string) error {
	return fmt.Errorf("%w: before offset %d there is %s", ErrFormat, r.offset, what)
}

func parseHeader(b []byte) (Header, error) {
	bad := func(what string) (Header, error) {
		return Header{}, fmt.Errorf("%w: its header has %s", ErrFormat, what)
	}
	end := bytes.IndexByte(b, 0)
	if end < 1 || end > maxNamespaceBytes {
		return bad("a bad namespace")
	}
	h := Header{Namespace: string(b[:end])}
	if b = b[end+1:]; len(b) < objectid.Size+1 {
		return bad("no object ID")
	}
	copy(h.ID[:], b)
	switch named, name := b[objectid.Size], b[objectid.Size+1:]; {
	case named == 1 && len(name) <= objectid.MaxNameBytes:
		h.Name, h.HasName = string(name), true
	case named != 0 || len(name) > 0:
		return bad("a bad name")
	}
	return h, nil
}

func parseAlarm(b []byte) (a Alarm, ok bool) {
	var v [4]uint64
	for i := range v {
		n := 0
		if v[i], n = binary.Uvarint(b); n <= 0 {
			return a, false
		}
		b = b[n:]
	}
	if len(b) > 0 || v[0] > maxMillis || v[1] > maxMillis || v[2] > math.MaxInt32 || v[3] > v[2] {
		return a, false
	}
	return Alarm{
		ScheduledTime: time.UnixMilli(int64(v[0])), Due: time.UnixMilli(int64(v[1])), Retries: int(v[2]), Counted: int(v[3]),
	}, true
}
