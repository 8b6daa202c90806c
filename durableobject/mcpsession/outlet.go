package mcpsession

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/proto/props"
)

const (
	// keepaliveInterval is how often a silent stream carries a comment.
	keepaliveInterval = 25 * time.Second
	// maxPendingBytes is how much waits for a slow reader before its stream is closed.
	maxPendingBytes = 8 << 20
	// maxBacklogBytes is how much waits for all slow readers of the host together.
	maxBacklogBytes = 64 << 20
	// flushDelay is how long what the SDK flushed on a POST's stream waits for more, so that a call that is answered
	// soon takes one message on the wire.
	flushDelay = 10 * time.Millisecond
)

const keepalive = ": keepalive\n\n"

var (
	primeEvent = []byte("event: prime\n")
	// retryField tells clients how many milliseconds to wait before they come back for a stream that was cut.
	retryField = []byte("retry: 500\n")

	errSlowReader = errors.New("the stream's reader is too slow")
)

// outlet stands between the SDK, which writes responses from goroutines of its own and must never wait for a client,
// and the object's response, which one goroutine writes. The SDK's side are the methods of http.ResponseWriter and
// http.Flusher; pump is the other.
type outlet struct {
	// noPrime drops the priming event.
	noPrime bool
	// streamOnly says that a GET is answered: a stream without events is an answer then.
	streamOnly bool
	// fresh says that the GET comes back for nothing that was.
	fresh bool
	// message is the POST that is answered, where the outlet is to know it.
	message *inspected
	// ended reports whether what is written comes too late, as its session has ended: what a call says that was cancelled
	// by the end is not its answer. Nil if there is no session.
	ended func() bool
	// wake has a token when something was flushed.
	wake chan struct{}

	// mu guards the fields below.
	mu      sync.Mutex
	header  http.Header
	status  int
	pending []byte
	// moving is how much pump has taken and not yet handed on.
	moving int
	// err is why nothing more is taken.
	err error
	// backlog counts what waits in all outlets.
	backlog *backlog
}

// backlog is how many bytes wait in all outlets of a host.
type backlog struct{ bytes atomic.Int64 }

var (
	_ http.ResponseWriter = (*outlet)(nil)
	_ http.Flusher        = (*outlet)(nil)
)

// newOutlet returns an outlet; release ends it.
func newOutlet(b *backlog) *outlet {
	return &outlet{wake: make(chan struct{}, 1), header: http.Header{}, backlog: b}
}

// release gives up what still waits, after the last write.
func (o *outlet) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.backlog.bytes.Add(-int64(len(o.pending) + o.moving))
	o.pending, o.moving = nil, 0
}

// Header implements http.ResponseWriter.
func (o *outlet) Header() http.Header { return o.header }

// WriteHeader implements http.ResponseWriter.
func (o *outlet) WriteHeader(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status == 0 {
		o.status = status
	}
}

// Write implements http.ResponseWriter. The SDK writes whole events. One event is always taken by an empty outlet, so
// that no response is too large to be delivered, and no reader that keeps up is refused because others don't.
func (o *outlet) Write(p []byte) (int, error) {
	prime := bytes.HasPrefix(p, primeEvent)
	if prime && o.noPrime {
		return len(p), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status < 400 && o.ended != nil && o.ended() {
		return 0, errDisposed
	}
	if o.err != nil {
		return 0, o.err
	}
	waits := len(o.pending) + o.moving
	if waits > 0 && (waits+len(p) > maxPendingBytes || o.backlog.bytes.Load()+int64(len(p)) > maxBacklogBytes) {
		o.err = errSlowReader
		o.signal()
		return 0, o.err
	}
	if o.status == 0 {
		o.status = http.StatusOK
	}
	written := len(p)
	if prime {
		o.pending = append(append(o.pending, primeEvent...), retryField...)
		p = p[len(primeEvent):]
	}
	o.pending = append(o.pending, p...)
	o.backlog.bytes.Add(int64(len(o.pending) + o.moving - waits))
	return written, nil
}

// Flush implements http.Flusher.
func (o *outlet) Flush() { o.signal() }

func (o *outlet) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns what waits and why nothing more will come, if so. It counts as waiting until handedOn.
func (o *outlet) take() ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.pending
	o.backlog.bytes.Add(-int64(o.moving))
	o.pending, o.moving = nil, len(p)
	return p, o.err
}

// handedOn notes that what take returned has been handed on.
func (o *outlet) handedOn() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.backlog.bytes.Add(-int64(o.moving))
	o.moving = 0
}

// writeTo writes the whole response; it is for when the SDK is done with it.
func (o *outlet) writeTo(w http.ResponseWriter) error {
	p, err := o.take()
	over := o.streamOnly && o.header.Get("Content-Type") != "" // the client has all of the stream that it asked for
	if o.status == 0 && len(p) == 0 && !over {
		return props.ErrUnavailable // the session was disposed of meanwhile
	}
	if o.refused(w, p) {
		return nil
	}
	o.head(w)
	if _, werr := w.Write(p); werr != nil {
		return werr
	}
	return err
}

// taken reports whether the SDK did not refuse the request.
func (o *outlet) taken() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status < 400
}

// head copies status and headers.
func (o *outlet) head(w http.ResponseWriter) {
	h := w.Header()
	for k, v := range o.header {
		h[k] = v
	}
	h.Del("Connection") // for the worker to say
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status != 0 {
		w.WriteHeader(o.status)
	}
}

// refused answers in the application's own form where the SDK refused the request in plain text.
func (o *outlet) refused(w http.ResponseWriter, text []byte) bool {
	if o.status < 400 || !strings.HasPrefix(o.header.Get("Content-Type"), "text/plain") {
		return false
	}
	message := strings.TrimSpace(string(text))
	if o.answered(w, message) {
		return true
	}
	e := &props.HTTPError{Status: o.status, Code: props.CodeTransport, Message: message}
	switch {
	case o.status == http.StatusNotFound, o.fresh && message == "failed to replay events": // a session that is closing
		e = props.ErrUnavailable
	case o.status >= 500:
		e = props.ErrInternal
	case o.status == http.StatusMethodNotAllowed:
		e.Code = props.CodeUnauthorized
	case strings.HasPrefix(message, "malformed payload"):
		e.Code = props.CodeParse
	}
	e.WriteTo(w)
	return true
}

// JSON-RPC's codes for a request that came well and asks for what is not there.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// answered answers a single message that the SDK refused for what it asks rather than for how it came. That is no
// fault of the transport: a request gets an error of its own, a notification is taken and ignored.
func (o *outlet) answered(w http.ResponseWriter, refusal string) bool {
	in := o.message
	if in == nil || in.method == "" || o.status != http.StatusBadRequest {
		return false
	}
	var code int
	var message string
	switch {
	case strings.HasPrefix(refusal, "JSON RPC not handled"):
		code, message = codeMethodNotFound, "Method not found: "+shorten(in.method)
	case strings.HasSuffix(refusal, `missing required "params"`):
		code, message = codeInvalidParams, "Invalid params: "+shorten(in.method)+" needs params"
	default:
		return false
	}
	if in.id == nil {
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, in.id, code, quoteJSON(message))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(body)) // the reader has gone then
	return true
}

// carry has serve answer one request, on a goroutine of its own, and carries the answer to w as it comes. serve's context
// ends when the reader is gone or too slow; carry returns when serve has.
func (b *backlog) carry(
	ctx context.Context, w http.ResponseWriter, delay time.Duration, serve func(context.Context, *outlet) error,
) error {
	out, served := newOutlet(b), make(chan error, 1)
	defer out.release()
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(served)
		served <- serve(ctx, out)
	}()
	err := out.pump(w, served, delay)
	stop()
	for range served { // closed once it is over
	}
	return err
}

// pump carries the response to w while the SDK writes it, until served says that the SDK is done, or the reader is gone
// or too slow. delay is how long a flush waits for more.
func (o *outlet) pump(w http.ResponseWriter, served <-chan error, delay time.Duration) error {
	var begun bool
	timer := time.NewTimer(keepaliveInterval)
	defer timer.Stop()
	for {
		silent := false
		select {
		case err := <-served:
			return o.finish(w, begun, err)
		case <-timer.C:
			silent = true
		case <-o.wake:
			if delay > 0 {
				timer.Reset(delay)
				select {
				case err := <-served:
					return o.finish(w, begun, err)
				case <-timer.C:
				}
			}
		}
		timer.Reset(keepaliveInterval)
		p, err := o.take()
		if err != nil {
			return err
		}
		switch {
		case begun:
		case silent && len(p) == 0:
			// The SDK may be at its headers at this very moment. That it is silent for so long says that the answer
			// is going to be a stream.
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache, no-transform")
		default:
			o.head(w)
		}
		begun = true
		if silent && len(p) == 0 {
			p = []byte(keepalive)
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return err
		}
		o.handedOn()
	}
}

// finish writes what is left when the SDK is done, with an error if it was not asked at all.
func (o *outlet) finish(w http.ResponseWriter, begun bool, err error) error {
	if err != nil {
		return err
	}
	if !begun {
		return o.writeTo(w)
	}
	p, err := o.take()
	if _, werr := w.Write(p); werr != nil {
		return werr
	}
	return err
}
