package actor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/tandem-do/tandem/proto/sidecar"
)

const (
	// smallBodyBytes is the size up to which a body of known length is read before a turn, so that reading it within
	// the turn never waits.
	smallBodyBytes = 64 << 10
	// maxUnflushedBytes is how much of a response may wait for a Flush. Like workerd: the limit of an RPC value.
	maxUnflushedBytes = 32 << 20
	// streamPieceBytes is how much ReadFrom reads at a time, and how much it lets gather.
	streamPieceBytes = 64 << 10
)

// readSmall reads the whole of a small body, so that nobody has to wait for it later. A larger one, or one of unknown
// length, is returned as it is.
func readSmall(body io.ReadCloser, length int64) (io.ReadCloser, error) {
	if body == nil || body == http.NoBody || length == 0 {
		return http.NoBody, nil
	}
	if length < 0 || length > smallBodyBytes {
		return body, nil
	}
	b := make([]byte, length)
	_, err := io.ReadFull(body, b)
	body.Close()
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return smallBody{bytes.NewReader(b)}, nil
}

// smallBody is a body that is all there.
type smallBody struct{ *bytes.Reader }

// Close implements io.Closer.
func (smallBody) Close() error { return nil }

// gatedBody is a body that comes from outside the object: waiting for its next bytes gives the turn away, if the
// event that it belongs to holds one.
type gatedBody struct {
	io.ReadCloser
	actor *Actor
	ctx   context.Context // the event's
}

// Read implements io.Reader.
func (b *gatedBody) Read(p []byte) (n int, err error) {
	if _, small := b.ReadCloser.(smallBody); small || b.ReadCloser == http.NoBody {
		return b.ReadCloser.Read(p)
	}
	// io.EOF must come back as it is, so it does not go through leave's error.
	left := b.actor.leave(b.ctx, func(context.Context) error {
		n, err = b.ReadCloser.Read(p)
		return nil
	})
	if left != nil {
		return 0, left
	}
	return n, err
}

// Ungated returns a request's or response's body as it came from outside, for an engine that does not read in a turn and
// comes back to one with what it read. Reading it never gives a turn away, and may wait.
func Ungated(body io.ReadCloser) io.ReadCloser {
	if g, ok := body.(*gatedBody); ok {
		return g.ReadCloser
	}
	return body
}

// responseWriter is what an instance writes its response to. It keeps everything until Flush or the event's end, and
// then lets it leave through the object's exit. As with net/http's, one goroutine at a time may use it.
type responseWriter struct {
	actor *Actor
	ctx   context.Context // the event's, set when it begins
	w     http.ResponseWriter

	status int
	body   []byte
	// begun is true once the head has left, so that headers can't change any more.
	begun bool
}

var (
	_ http.ResponseWriter             = (*responseWriter)(nil)
	_ http.Flusher                    = (*responseWriter)(nil)
	_ interface{ FlushError() error } = (*responseWriter)(nil)
	_ io.StringWriter                 = (*responseWriter)(nil)
	_ io.ReaderFrom                   = (*responseWriter)(nil)
)

// Header implements http.ResponseWriter.
func (r *responseWriter) Header() http.Header { return r.w.Header() }

// WriteHeader implements http.ResponseWriter. It does not wait.
func (r *responseWriter) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
}

// Write implements http.ResponseWriter. It does not wait; what it is given must not exceed 32 MiB between two Flushes.
// io.Copy, which flushes, has no such limit.
func (r *responseWriter) Write(p []byte) (int, error) {
	if err := r.reserve(len(p)); err != nil {
		return 0, err
	}
	r.body = append(r.body, p...)
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (r *responseWriter) WriteString(s string) (int, error) {
	if err := r.reserve(len(s)); err != nil {
		return 0, err
	}
	r.body = append(r.body, s...)
	return len(s), nil
}

// ReadFrom implements io.ReaderFrom, which is what io.Copy to a response uses: it flushes each piece that it has read, so
// that a body of any size takes constant memory. It gives the turn away, if the event holds it.
func (r *responseWriter) ReadFrom(src io.Reader) (n int64, err error) {
	piece := make([]byte, streamPieceBytes)
	for {
		m, err := src.Read(piece)
		n += int64(m)
		if _, werr := r.Write(piece[:m]); werr != nil {
			return n, werr
		}
		switch {
		case err == io.EOF: // as io.Copy compares it
			return n, nil
		case err != nil:
			return n, err
		case len(r.body) < streamPieceBytes:
			continue
		}
		if err := r.FlushError(); err != nil {
			return n, err
		}
	}
}

func (r *responseWriter) reserve(n int) error {
	if len(r.body)+n > maxUnflushedBytes {
		return fmt.Errorf("write response: more than %d bytes without a Flush", maxUnflushedBytes)
	}
	return nil
}

// Flush implements http.Flusher; use http.ResponseController for its error.
func (r *responseWriter) Flush() { _ = r.FlushError() }

// FlushError lets the head and what was written leave. It gives the turn away, if the event holds it.
func (r *responseWriter) FlushError() error {
	return r.actor.leave(r.ctx, func(context.Context) error {
		if err := r.send(); err != nil {
			return err
		}
		if err := http.NewResponseController(r.w).Flush(); err != nil {
			return fmt.Errorf("flush response: %w", err)
		}
		return nil
	})
}

// finish sends what was not flushed, after the event has ended and the output gate has opened.
func (r *responseWriter) finish() error {
	if err := r.send(); err != nil {
		return &sidecar.Error{Reason: sidecar.ReasonDisconnected, Message: "Network connection lost.", Cause: err}
	}
	return nil
}

// send hands what there is to the caller's writer.
func (r *responseWriter) send() error {
	if !r.begun {
		r.begun = true
		if r.status == 0 {
			r.status = http.StatusOK
		}
		r.w.WriteHeader(r.status)
	}
	if len(r.body) == 0 {
		return nil
	}
	_, err := r.w.Write(r.body)
	r.body = r.body[:0]
	if err != nil {
		return fmt.Errorf("write response: %w", err)
	}
	return nil
}
