package env

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// pieceBytes is how much of a stream is read at a time.
const pieceBytes = 64 << 10

// readName is what a stream is asked for.
const readName = "read"

// readable is a stream of a script's that another script reads: a piece for each call, so that nothing is read before
// there is room for it. Its methods may be called from any goroutine.
type readable struct {
	body io.ReadCloser
	// owner is what the pieces leave through; nil where nothing holds them back.
	owner Owner
	refs  atomic.Int64

	mu     sync.Mutex // held while a piece is read
	buffer []byte
}

var _ sidecar.Stub = (*readable)(nil)

// Dup implements sidecar.Stub.
func (s *readable) Dup() sidecar.Stub {
	s.refs.Add(1)
	return s
}

// Drop implements sidecar.Stub. After the last reference the stream is canceled, unless it has ended. It does not wait for
// that: the body of a slow client's request closes when the client has sent more of it, and who drops may be what reads a
// link.
func (s *readable) Drop() {
	if s.refs.Add(-1) == 0 {
		time.AfterFunc(0, func() { _ = s.body.Close() }) // its reader has gone
	}
}

// Invoke implements sidecar.Stub: it returns the next piece; none at the end.
func (s *readable) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	sidecar.Entered(ctx)
	if len(in.Path) != 1 || in.Path[0] != readName {
		return sidecar.Value{}, sidecar.NoSuchMethod(in.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buffer == nil {
		s.buffer = make([]byte, pieceBytes)
	}
	for {
		n, err := s.body.Read(s.buffer)
		if n > 0 {
			piece := append([]byte(nil), s.buffer[:n]...)
			if s.owner == nil {
				return sidecar.Value{Bytes: piece}, nil
			}
			return sidecar.Value{Bytes: piece}, s.owner.Settle(ctx)
		}
		if err == io.EOF {
			return sidecar.Value{}, nil
		}
		if err != nil {
			// The cause may be a value of this isolate's, which another must not see.
			return sidecar.Value{}, &sidecar.Error{
				Reason: sidecar.ReasonException, Name: "Error", Message: (&webapi.CutStream{}).Error(),
			}
		}
	}
}

// Readable implements webapi.Sender.
func (e *encoding) Readable(body io.ReadCloser) v8value.Value {
	s := &readable{body: body}
	s.owner, _ = e.classes.contextOf().Owner().(Owner)
	s.refs.Store(1)
	return e.index(s)
}

// Writable implements webapi.Sender: another script writes by calling a function.
func (e *encoding) Writable(stream *goja.Object) v8value.Value {
	c := e.classes
	f := c.must(c.sink(goja.Undefined(), stream)).(*goja.Object)
	return e.index(c.export(c.realm.Isolate().RequireEvent(), f, e.direction == returning))
}

// Readable implements webapi.Receiver.
func (d *decoding) Readable(v v8value.Value) io.ReadCloser {
	h := d.take(v)
	if h == nil {
		return nil
	}
	s := &remoteStream{held: h, ctx: d.classes.realm.Isolate().RequireEvent().GoContext()}
	watch(s, h)
	return s
}

// Writable implements webapi.Receiver.
func (d *decoding) Writable(v v8value.Value) goja.Value {
	h, c := d.take(v), d.classes
	if h == nil {
		return nil
	}
	return c.must(c.writable(goja.Undefined(), c.stubProxy(&stub{invoker: h, held: h}), c.realm.Class("streams", "WritableStream")))
}

// take makes the stub of a stream the receiver's own: unlike others it outlives the call. It returns nil when there is
// none.
func (d *decoding) take(index v8value.Value) *held {
	h := d.at(index)
	if h == nil {
		return nil
	}
	s := h.take()
	if s == nil {
		return nil
	}
	return hold(d.classes.contextOf(), []sidecar.Stub{s}, false)[0].(*held)
}

// remoteStream is a stream of another script's. Read and Close are for one goroutine at a time.
type remoteStream struct {
	held *held
	ctx  context.Context // the reader's lifetime
	rest []byte
	err  error
}

// Read implements io.Reader. Errors but io.EOF are *webapi.CutStream.
func (s *remoteStream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 && s.err == nil {
		v, err := s.held.Invoke(s.ctx, sidecar.Invocation{Path: []string{readName}, Read: true})
		v.Stubs, s.rest = nil, v.Bytes
		switch {
		case err != nil:
			s.err = &webapi.CutStream{}
		case len(v.Bytes) == 0:
			s.err = io.EOF
		}
		if s.err != nil {
			s.held.drop()
		}
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer: the other script's stream is canceled unless it has ended.
func (s *remoteStream) Close() error {
	s.held.drop()
	return nil
}
