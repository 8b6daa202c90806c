package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// local delivers calls between objects of one host, without a wire. Epochs play no part in it: what is here is here.
// Nor does draining: an object that finishes its event may need another one for that.
type local struct{ host *Host }

var _ sidecar.Caller = local{}

// Local returns a caller of the objects that this host has, for code in the host's own process: it asks no router, and
// takes every object to be here.
func (h *Host) Local() sidecar.Caller { return local{h} }

// Call implements sidecar.Caller.
func (l local) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	l.host.running.enter()
	defer l.host.running.leave()
	c, err := l.host.class(t.Namespace)
	if err != nil {
		return nil, err
	}
	if ctx, err = sidecar.Deeper(ctx); err != nil {
		return nil, err
	}
	value, err := l.host.call(ctx, c, t, method, args)
	if err != nil {
		return nil, l.host.outward(ctx, err)
	}
	return value, nil
}

// Fetch implements sidecar.Caller. The event runs on a goroutine of its own, so that the caller has the response's head
// while the body is written.
func (l local) Fetch(ctx context.Context, t sidecar.Target, r *http.Request) (*http.Response, error) {
	c, err := l.host.class(t.Namespace)
	if err != nil {
		return nil, err
	}
	if r.URL == nil {
		return nil, &sidecar.Error{Reason: sidecar.ReasonInvalid, Name: "TypeError", Message: "The request has no URL."}
	}
	if ctx, err = sidecar.Deeper(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	in := r.Clone(ctx)
	if in.Host == "" {
		in.Host = in.URL.Host
	}
	if in.ContentLength == 0 && in.Body != nil && in.Body != http.NoBody {
		in.ContentLength = -1 // of a client's request it means that the length is not known
	}
	w := &localWriter{header: http.Header{}, head: make(chan struct{}), cancel: cancel}
	l.host.running.enter()
	go func() {
		defer l.host.running.leave()
		w.finish(l.host.fetch(ctx, c, t, w, in))
	}()
	<-w.head // the event ends when ctx does
	if w.err != nil {
		cancel(nil)
		return nil, l.host.outward(ctx, w.err)
	}
	w.response.Request = r
	return w.response, nil
}

// outward returns an event's error as its caller in this process sees it, having logged an internal one.
func (h *Host) outward(ctx context.Context, err error) *sidecar.Error {
	e := sidecar.FromError(err)
	sidecar.LogInternal(ctx, h.log, e)
	return e
}

// inlineBytes is how much of a response is held back to be sent with its head. Like sidecar.
const inlineBytes = sidecar.MaxInlineBodyBytes

// localWriter is the http.ResponseWriter of a call within the host. The event's goroutine alone uses it.
type localWriter struct {
	cancel context.CancelCauseFunc
	header http.Header
	status int
	buf    []byte
	// pipe takes the body once the head is out; nil before.
	pipe *io.PipeWriter

	// head is closed when response or err is set.
	head     chan struct{}
	response *http.Response
	err      error
}

// Header implements http.ResponseWriter.
func (w *localWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *localWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *localWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.pipe == nil && len(w.buf)+len(p) <= inlineBytes {
		w.buf = append(w.buf, p...)
		return len(p), nil
	}
	if err := w.FlushError(); err != nil {
		return 0, err
	}
	return w.pipe.Write(p)
}

// FlushError sends the head and what was held back. http.ResponseController finds it.
func (w *localWriter) FlushError() error {
	w.WriteHeader(http.StatusOK)
	if w.pipe == nil {
		r, pipe := io.Pipe()
		w.pipe = pipe
		w.respond(&localBody{Reader: r, close: func() error {
			w.cancel(errors.New("the response's reader has gone"))
			return r.Close()
		}}, -1)
	}
	if len(w.buf) == 0 {
		return nil
	}
	b := w.buf
	w.buf = nil
	_, err := w.pipe.Write(b)
	return err
}

// finish ends the response when the event has ended.
func (w *localWriter) finish(err error) {
	switch {
	case w.pipe != nil && err != nil:
		w.pipe.CloseWithError(err)
	case w.pipe != nil:
		w.pipe.Close() //nolint:errcheck // a pipe has none
	case err != nil:
		w.err = err
		close(w.head)
	default:
		w.WriteHeader(http.StatusOK)
		w.respond(&localBody{Reader: bytes.NewReader(w.buf), close: func() error {
			w.cancel(nil)
			return nil
		}}, int64(len(w.buf)))
	}
}

// respond gives the caller its response.
func (w *localWriter) respond(body io.ReadCloser, length int64) {
	w.response = &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header.Clone(), Body: body, ContentLength: length,
	}
	close(w.head)
}

// localBody is the body of a response within the host.
type localBody struct {
	io.Reader
	once  sync.Once
	close func() error
}

// Close implements io.Closer.
func (b *localBody) Close() (err error) {
	b.once.Do(func() { err = b.close() })
	return err
}
