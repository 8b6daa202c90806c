package frame

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"
)

// headerBytes is the length of a frame's length.
const headerBytes = 4

// firstReadBytes is how much of a frame is allocated before any of it has arrived.
const firstReadBytes = 64 << 10

// Append appends m's frame to b.
func Append(b []byte, m Message) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, byte(m.kind()))
	b = m.append(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-headerBytes))
	return b
}

// Decode parses what follows a frame's length. Errors are ErrMalformed.
func Decode(body []byte) (Message, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	m, err := newMessage(kind(body[0]))
	if err != nil {
		return nil, err
	}
	p := &parser{rest: body[1:]}
	m.parse(p)
	if p.err == nil && len(p.rest) > 0 {
		p.fail("bytes left over")
	}
	if p.err != nil {
		return nil, p.err
	}
	return m, nil
}

// Reader reads frames.
type Reader struct {
	r   *bufio.Reader
	max int
}

// NewReader returns a reader that refuses frames longer than maxBytes.
func NewReader(r io.Reader, maxBytes int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 8<<10), max: maxBytes}
}

// Next returns the next message, which does not share memory with later ones. It returns io.EOF when the
// stream ends between two frames, ErrMalformed for what is no frame, and otherwise the stream's error.
func (r *Reader) Next() (Message, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r.r, header[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(header[:]))
	if n > r.max {
		return nil, fmt.Errorf("%w: %d bytes, of at most %d", ErrMalformed, n, r.max)
	}
	body := make([]byte, min(n, firstReadBytes))
	for read := 0; ; {
		m, err := io.ReadFull(r.r, body[read:])
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if read += m; read == n {
			return Decode(body)
		}
		body = append(body, make([]byte, min(n-read, read))...)
	}
}

// parser takes fields from the front of rest. After the first error every field is zero.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) fail(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	}
	p.rest = nil
}

func (p *parser) number() uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.fail("bad number")
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *parser) duration() time.Duration {
	return time.Duration(min(p.number(), math.MaxInt64))
}

func (p *parser) bool() bool {
	v := p.number()
	if v > 1 {
		p.fail("bad boolean")
	}
	return v == 1
}

func (p *parser) bytes() []byte {
	n := p.number()
	if n > uint64(len(p.rest)) {
		p.fail("cut short")
		return nil
	}
	if n == 0 {
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

// takenBytes is the least that one Taken takes.
const takenBytes = 3

func (p *parser) taken() []Taken {
	n := p.number()
	if n > uint64(len(p.rest)/takenBytes) {
		p.fail("cut short")
		return nil
	}
	if n == 0 {
		return nil
	}
	taken := make([]Taken, n)
	for i := range taken {
		taken[i] = Taken{CallID: p.number(), Timers: p.number(), Active: p.duration()}
	}
	return taken
}

func appendTaken(b []byte, taken []Taken) []byte {
	b = binary.AppendUvarint(b, uint64(len(taken)))
	for _, t := range taken {
		b = binary.AppendUvarint(b, t.CallID)
		b = binary.AppendUvarint(b, t.Timers)
		b = binary.AppendUvarint(b, uint64(max(0, t.Active)))
	}
	return b
}

func appendBytes[T string | []byte](b []byte, v T) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
