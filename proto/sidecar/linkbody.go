package sidecar

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"google.golang.org/grpc"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// outgoingRequest returns the head of r with its body where that is small, otherwise the upload of it. On
// an error it has closed the body.
func (l *Link) outgoingRequest(r *http.Request) (*dopb.HttpRequest, *upload, error) {
	head := &dopb.HttpRequest{Method: r.Method, Url: requestURL(r), Headers: toHeaders(r.Header)}
	if head.Method == "" {
		head.Method = http.MethodGet
	}
	if r.Body == nil || r.Body == http.NoBody {
		return head, nil, nil
	}
	if n := r.ContentLength; n < 0 || n > MaxInlineBodyBytes || n == 0 {
		up := newUpload(l.ctx, r.Body)
		head.UploadToken = &up.token
		if n > 0 {
			head.ContentLength = &n
		}
		return head, up, nil
	}
	body, err := ReadBody(r)
	if err != nil {
		return nil, nil, err
	}
	head.Body = body
	return head, nil, nil
}

// ReadBody reads the body of r, whose ContentLength says its size, and closes it. Errors are *Error.
func ReadBody(r *http.Request) ([]byte, error) {
	if b, ok := r.Body.(*inlineBody); ok && int64(len(b.rest)) == r.ContentLength {
		return b.rest, nil
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, bodyError(err)
	}
	return body, nil
}

// BytesBody returns a request's body that is in memory. A Link does not copy it.
func BytesBody(b []byte) io.ReadCloser { return &inlineBody{rest: b} }

// requestURL returns the absolute URL of a client's request, or of one that a server received.
func requestURL(r *http.Request) string {
	if r.URL == nil {
		return ""
	}
	if r.URL.Host != "" || r.Host == "" {
		return r.URL.String()
	}
	u := *r.URL
	u.Scheme, u.Host = "http", r.Host
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}

func bodyError(cause error) *Error {
	return &Error{
		Reason: ReasonCanceled, Message: "The request's body could not be read.",
		Cause: errors.Join(ErrNotSent, fmt.Errorf("read the request's body: %w", cause)),
	}
}

func toHeaders(h http.Header) []*dopb.HttpHeader {
	if len(h) == 0 {
		return nil
	}
	store := make([]dopb.HttpHeader, len(h))
	list := make([]*dopb.HttpHeader, 0, len(h))
	for name, values := range h {
		e := &store[len(list)]
		e.Name, e.Values = name, values
		list = append(list, e)
	}
	return list
}

// fromHeaders returns the header with canonical names. The values' slices are shared.
func fromHeaders(list []*dopb.HttpHeader) http.Header {
	h := make(http.Header, len(list))
	for _, e := range list {
		name := http.CanonicalHeaderKey(e.GetName())
		if have := h[name]; have != nil {
			h[name] = append(have, e.GetValues()...)
		} else {
			h[name] = e.GetValues()
		}
	}
	return h
}

// upload is a request's body that flows on a stream of its own, from the moment the host wants it.
type upload struct {
	token string
	body  io.ReadCloser
	// ctx is the upload's lifetime: it ends with the call, with the body or with the link.
	ctx  context.Context
	stop func() // ends ctx and closes the body; idempotent
}

func newUpload(lifetime context.Context, body io.ReadCloser) *upload {
	u := &upload{token: rand.Text(), body: body}
	ctx, cancel := context.WithCancel(lifetime)
	u.ctx = ctx
	u.stop = sync.OnceFunc(func() {
		cancel()
		body.Close() // its owner knows of a failure
	})
	context.AfterFunc(ctx, u.stop)
	return u
}

// end stops the upload if there is one.
func (u *upload) end() {
	if u != nil {
		u.stop()
	}
}

// run sends the body, until it ends, the call ends or the link is closed.
func (u *upload) run(client dopb.ObjectServiceClient) {
	defer u.stop()
	stream, err := client.Upload(u.ctx)
	if err != nil {
		return
	}
	if u.copy(stream) {
		stream.CloseAndRecv() //nolint:errcheck // the call's own reply says how it ended
	}
}

// copy sends the body in pieces; it reports whether it reached the body's end.
func (u *upload) copy(stream grpc.ClientStreamingClient[dopb.UploadRequest, dopb.UploadResponse]) bool {
	if stream.Send(&dopb.UploadRequest{Token: u.token}) != nil {
		return false
	}
	buf := make([]byte, MaxInlineBodyBytes)
	for {
		n, err := u.body.Read(buf)
		if n > 0 && stream.Send(&dopb.UploadRequest{Data: buf[:n]}) != nil {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// response builds the response from its head, and opens the stream of its body where it has one.
func (l *Link) response(ctx context.Context, r *http.Request, p *pendingCall, h *dopb.HttpResponse) (
	*http.Response, error,
) {
	code := int(h.GetStatus())
	resp := &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: fromHeaders(h.GetHeaders()), Request: r,
	}
	if h.DownloadToken == nil {
		p.upload.end()
		resp.ContentLength = int64(len(h.GetBody()))
		resp.Body = http.NoBody
		if len(h.GetBody()) > 0 {
			resp.Body = &inlineBody{rest: h.GetBody()}
		}
		return resp, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := l.client.Download(ctx, &dopb.DownloadRequest{Token: h.GetDownloadToken()})
	if err != nil {
		cancel()
		l.abandon(p)
		p.upload.end()
		return nil, FromError(err)
	}
	resp.ContentLength = -1
	if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		resp.ContentLength = n
	}
	body := &downloadBody{stream: stream, cancel: cancel, upload: p.upload}
	body.unlink = context.AfterFunc(l.ctx, cancel)
	resp.Body = body
	return resp, nil
}

// inlineBody is a body that is in memory, such as one that came with its head.
type inlineBody struct{ rest []byte }

// Read implements io.Reader.
func (b *inlineBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo.
func (b *inlineBody) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.rest)
	b.rest = b.rest[n:]
	return int64(n), err
}

// Close implements io.Closer.
func (b *inlineBody) Close() error {
	b.rest = nil
	return nil
}

// downloadBody is a response's body that flows on a stream of its own.
type downloadBody struct {
	stream grpc.ServerStreamingClient[dopb.DownloadResponse]
	cancel context.CancelFunc
	unlink func() bool
	upload *upload
	// rest is what Read has not given out of the last piece; err ended the body.
	rest []byte
	err  error
}

// Read implements io.Reader. Errors but io.EOF are *Error.
func (b *downloadBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		piece, err := b.stream.Recv()
		switch {
		case err == nil:
			b.rest = piece.GetData()
			continue
		case errors.Is(err, io.EOF):
			b.err = io.EOF
		default:
			b.err = FromError(err)
		}
		b.release()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close implements io.Closer. Before the body's end it tells the object that its reader has gone.
func (b *downloadBody) Close() error {
	b.release()
	return nil
}

func (b *downloadBody) release() {
	b.cancel()
	b.unlink()
	b.upload.end()
}
