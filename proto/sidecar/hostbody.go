package sidecar

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"google.golang.org/grpc"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// collectTimeout is how long a body waits for its stream before it is dropped.
const collectTimeout = 30 * time.Second

// incomingRequest builds the request that the handler sees.
func (h *hostCall) incomingRequest(r *dopb.HttpRequest) (*http.Request, error) {
	u, err := url.Parse(r.GetUrl())
	if err != nil {
		return nil, invalid("invalid call: fetch.url is not a URL")
	}
	req := &http.Request{
		Method: r.GetMethod(), URL: u, Host: u.Host, Header: fromHeaders(r.GetHeaders()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
	switch {
	case r.UploadToken != nil:
		req.ContentLength = -1
		if r.ContentLength != nil {
			req.ContentLength = r.GetContentLength()
		}
		req.Body = &uploadBody{
			call: h, ctx: &h.ctx, token: r.GetUploadToken(),
			attached: make(chan struct{}), ended: make(chan struct{}),
		}
	case len(r.GetBody()) > 0:
		req.ContentLength = int64(len(r.GetBody()))
		req.Body = &inlineBody{rest: r.GetBody()}
	}
	return req.WithContext(&h.ctx), nil
}

// uploadBody is a request's body that comes by Upload, once the handler has begun to read it. Read and
// Close are for one goroutine.
type uploadBody struct {
	call  *hostCall
	ctx   context.Context // the call's
	token string

	// attached is closed when the stream has come, ended when the body was read to its end.
	attached, ended chan struct{}
	stream          grpc.ClientStreamingServer[dopb.UploadRequest, dopb.UploadResponse]
	// first is what came with the stream's first message.
	first []byte
	// rest is what Read has not given out of the last piece; err ended the body.
	rest   []byte
	err    error
	wanted bool
}

// attach gives the body its stream, and what came with the stream's first message.
func (b *uploadBody) attach(s grpc.ClientStreamingServer[dopb.UploadRequest, dopb.UploadResponse], data []byte) {
	b.stream, b.first = s, data
	close(b.attached)
}

// Read implements io.Reader. The first Read asks for the body.
func (b *uploadBody) Read(p []byte) (int, error) {
	if !b.wanted {
		b.wanted = true
		b.err = b.await()
	}
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		piece, err := b.stream.Recv()
		switch {
		case err == nil:
			b.rest = piece.GetData()
		case errors.Is(err, io.EOF):
			b.err = io.EOF
			close(b.ended)
		default:
			b.err = fmt.Errorf("read the request's body: %w", io.ErrUnexpectedEOF)
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// await asks for the body and waits for its stream.
func (b *uploadBody) await() error {
	o := b.call.conn.objects
	o.expect(b.token, b)
	defer o.forget(b.token)
	b.call.push(&dopb.HostFrame{Result: &dopb.HostFrame_WantBody{WantBody: &dopb.WantBody{}}})
	patience := time.NewTimer(collectTimeout)
	defer patience.Stop()
	select {
	case <-b.attached:
		b.rest = b.first
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-patience.C:
		return fmt.Errorf("wait for the request's body: %w", io.ErrUnexpectedEOF)
	}
}

// Close implements io.Closer. The body's stream ends with the call.
func (b *uploadBody) Close() error {
	b.wanted = true
	if b.err == nil {
		b.err, b.rest = http.ErrBodyReadAfterClose, nil
	}
	return nil
}

// download is a response's body that the caller collects by Download. The handler's goroutine writes;
// the goroutine of the stream waits until the body has ended or its reader has gone.
type download struct {
	call  *hostCall
	token string
	// patience ends the call when nobody comes for the body.
	patience *time.Timer

	// attached is closed when the stream has come, ended when the handler has written everything.
	attached, ended chan struct{}

	mu sync.Mutex // guards all below, and is held while a piece is sent
	// stream is nil once its reader has gone.
	stream grpc.ServerStreamingServer[dopb.DownloadResponse]
	// err says how the body ended; it has no cause.
	err *Error
}

func newDownload(h *hostCall) *download {
	d := &download{
		call: h, token: rand.Text(), attached: make(chan struct{}), ended: make(chan struct{}),
	}
	h.conn.objects.expect(d.token, d)
	d.patience = time.AfterFunc(collectTimeout, func() { h.life.End(errNotCollected) })
	return d
}

func (d *download) attach(s grpc.ServerStreamingServer[dopb.DownloadResponse]) {
	d.mu.Lock()
	d.stream = s
	d.mu.Unlock()
	d.patience.Stop()
	close(d.attached)
}

// detach notes that the reader has gone, which ends the call. A piece that is being sent is given up.
func (d *download) detach() {
	d.call.life.End(errCallerCanceled)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stream = nil
}

// await waits until the reader has come.
func (d *download) await() error {
	select {
	case <-d.attached:
		return nil
	case <-d.call.ctx.Done():
		return d.call.ctx.Err()
	}
}

// write sends p in pieces. It fails once the reader has gone.
func (d *download) write(p []byte) error {
	if err := d.await(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(p) > 0 {
		if d.stream == nil {
			return errCallerCanceled
		}
		n := min(len(p), MaxInlineBodyBytes)
		if err := d.stream.Send(&dopb.DownloadResponse{Data: p[:n]}); err != nil {
			d.call.life.End(errCallerCanceled)
			return err
		}
		p = p[n:]
	}
	return nil
}

// end ends the body; a reader that has come is told err.
func (d *download) end(err *Error) {
	d.patience.Stop()
	d.call.conn.objects.forget(d.token)
	d.mu.Lock()
	if err != nil {
		d.err = FromCallError(ToCallError(err))
	}
	d.mu.Unlock()
	close(d.ended)
}

func (d *download) outcome() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		return nil
	}
	return d.err
}
