package binding

import (
	"io"
	"net/http"
	"sync"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// replay lets a request be sent more than once: a small body is held in memory, a larger one may be sent again
// as long as nobody has read of it.
type replay struct {
	req    *http.Request
	small  []byte
	stream *streamBody // nil when the body is small or absent
}

// newReplay takes the body of r, which it closes on an error.
func newReplay(r *http.Request) (*replay, error) {
	p := &replay{req: r}
	switch {
	case r.Body == nil || r.Body == http.NoBody:
	case r.ContentLength > 0 && r.ContentLength <= sidecar.MaxInlineBodyBytes:
		b, err := sidecar.ReadBody(r)
		if err != nil {
			return nil, err
		}
		p.small = b
	default:
		p.stream = &streamBody{body: r.Body}
	}
	return p, nil
}

// request returns the request for one attempt.
func (p *replay) request() *http.Request {
	r := *p.req
	switch {
	case p.small != nil:
		r.Body = sidecar.BytesBody(p.small)
	case p.stream != nil:
		p.stream.begin()
		r.Body = p.stream
	}
	return &r
}

// again reports whether the request may be sent once more.
func (p *replay) again() bool { return p.stream == nil || !p.stream.touched() }

// release lets the body be closed by whoever has it: no further attempt is made.
func (p *replay) release() {
	if p.stream != nil {
		p.stream.release()
	}
}

// abandon closes the body of a request that was not sent.
func (p *replay) abandon() {
	if p.stream != nil {
		p.release()
		p.stream.Close() //nolint:errcheck // nobody reads it
	}
}

// streamBody is a body whose Close waits until no further attempt can need it.
type streamBody struct {
	body io.ReadCloser

	mu sync.Mutex // guards all below
	// read is true once somebody has read; then the body can be closed at any time.
	read bool
	// released is true once no attempt follows; closeWanted that Close was called before.
	released, closeWanted bool
}

// Read implements io.Reader.
func (b *streamBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.read = true
	b.mu.Unlock()
	return b.body.Read(p)
}

// Close implements io.Closer.
func (b *streamBody) Close() error {
	b.mu.Lock()
	if !b.read && !b.released {
		b.closeWanted = true
		b.mu.Unlock()
		return nil
	}
	b.mu.Unlock()
	return b.body.Close()
}

// begin starts another attempt, which the last one's Close does not concern.
func (b *streamBody) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeWanted = false
}

func (b *streamBody) touched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read
}

func (b *streamBody) release() {
	b.mu.Lock()
	b.released = true
	closing := b.closeWanted && !b.read
	b.mu.Unlock()
	if closing {
		b.body.Close()
	}
}
