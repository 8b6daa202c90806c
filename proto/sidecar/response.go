package sidecar

import (
	"fmt"
	"net/http"
	"sync"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// responseWriter is the http.ResponseWriter of a call. It holds up to MaxInlineBodyBytes back, so that a
// small response is one frame; when more is written, or the handler flushes, the head is sent and the
// body flows by Download. Its methods may be called from any goroutine until the handler returns.
type responseWriter struct {
	call *hostCall

	mu     sync.Mutex // guards all below
	header http.Header
	// status is zero until the head is fixed; head is the header as it was then.
	status int
	head   []*dopb.HttpHeader
	// buf is what was written and not sent.
	buf []byte
	// body is set once the head has been sent.
	body *download
	// err is what every further write returns.
	err error
}

var (
	_ http.ResponseWriter = (*responseWriter)(nil)
	_ http.Flusher        = (*responseWriter)(nil)
)

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Informational heads (1xx) are dropped.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid status code %d", status)) // like net/http; it fails this call only
	}
	if status >= 200 {
		w.fixHeadLocked(status)
	}
}

func (w *responseWriter) fixHeadLocked(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.head = toHeaders(w.header)
	if n := headerBytes(w.head); n > MaxHeaderBytes {
		w.err = fmt.Errorf("response headers have %d bytes, at most %d are allowed", n, MaxHeaderBytes)
	}
}

// Write implements http.ResponseWriter. It fails once the caller has gone.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fixHeadLocked(http.StatusOK)
	if w.err != nil {
		return 0, w.err
	}
	if err := w.call.ctx.Err(); err != nil {
		w.err = err
		return 0, err
	}
	if len(w.buf)+len(p) <= MaxInlineBodyBytes {
		w.buf = append(w.buf, p...)
		return len(p), nil
	}
	if err := w.sendLocked(w.buf); err != nil {
		return 0, err
	}
	w.buf = w.buf[:0]
	if len(p) <= MaxInlineBodyBytes {
		w.buf = append(w.buf, p...)
		return len(p), nil
	}
	if err := w.sendLocked(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { w.FlushError() } //nolint:errcheck // the next Write says it

// FlushError sends what was written. http.ResponseController finds it.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fixHeadLocked(http.StatusOK)
	if w.err != nil {
		return w.err
	}
	err := w.sendLocked(w.buf)
	w.buf = w.buf[:0]
	return err
}

// sendLocked sends the head, if it has not been sent, and p.
func (w *responseWriter) sendLocked(p []byte) error {
	if w.body == nil {
		w.body = newDownload(w.call)
		w.call.push(&dopb.HostFrame{Result: &dopb.HostFrame_Fetch{Fetch: &dopb.HttpResponse{
			Status: int32(w.status), Headers: w.head, DownloadToken: &w.body.token,
		}}})
	}
	if len(p) == 0 {
		return nil
	}
	w.err = w.body.write(p)
	return w.err
}

// finish ends the response when the handler has returned err. Later writes fail.
func (w *responseWriter) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.body == nil {
		w.call.settle(w.inlineLocked(err))
		w.err = errCallEnded
		return
	}
	if err == nil && w.err == nil && len(w.buf) > 0 {
		w.sendLocked(w.buf) //nolint:errcheck // the reader has gone, or learns it from the stream
	}
	if err == nil {
		err = w.err
	}
	if err == nil {
		// A body of no bytes waits for its reader here; any other has met it.
		err = w.body.await()
	}
	w.body.end(w.call.outcome(err))
	w.err = errCallEnded
	w.call.settle(nil)
}

// inlineLocked returns the whole response in one frame.
func (w *responseWriter) inlineLocked(err error) *dopb.HostFrame {
	w.fixHeadLocked(http.StatusOK)
	if err == nil {
		err = w.err
	}
	if err != nil {
		return w.call.errorFrame(err)
	}
	return &dopb.HostFrame{Result: &dopb.HostFrame_Fetch{Fetch: &dopb.HttpResponse{
		Status: int32(w.status), Headers: w.head, Body: w.buf,
	}}}
}
