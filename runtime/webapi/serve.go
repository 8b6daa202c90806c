package webapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// Call names who takes an event.
type Call struct {
	// Entrypoint is the export's name; empty means the default one.
	Entrypoint string
	// Props makes ctx.props; nil makes an empty object. It runs on the isolate's goroutine.
	Props func(*Realm) goja.Value
	// CF makes request.cf; nil leaves it undefined. It runs on the isolate's goroutine.
	CF func(*Realm) goja.Value
	// Context is where the event's input and output belongs; nil makes one for it alone.
	Context *isolate.Context
}

// notResponseText is workerd's.
const notResponseText = "Incorrect type for Promise: the Promise did not resolve to 'Response'."

// Fetch delivers a request to a fetch handler, and returns its response with a body that may still be being written:
// close it. The request's body is read as the script reads it, until the response's body is closed. Of ctx, which
// cancels the event as long as it has not answered, the script's outgoing calls keep the values.
//
// Errors are those of isolate.Context.Run. It may be called from any goroutine but the isolate's.
func Fetch(ctx context.Context, i *isolate.Isolate, in *http.Request, to Call) (*http.Response, error) {
	c := to.Context
	if c == nil {
		c = i.NewContext(isolate.ContextOptions{})
	}
	var out *http.Response
	err := c.Run(ctx, func(e *isolate.Event) (goja.Value, error) {
		r := Of(i)
		var props goja.Value
		if to.Props != nil {
			props = to.Props(r)
		}
		request := r.NewRequest(in)
		if to.CF != nil {
			q, _ := r.request.of(request)
			q.cf = to.CF(r)
		}
		return r.Call(e, to.Entrypoint, "fetch", request, props)
	}, func(e *isolate.Event, v goja.Value) error {
		r := Of(i)
		p, ok := r.response.of(v)
		if !ok {
			return r.thrown("TypeError", notResponseText)
		}
		var err error
		out, err = r.httpResponse(e, p) //nolint:bodyclose // the caller closes it
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Request = in
	return out, nil
}

// httpResponse is what leaves. Its body keeps the event's context until it is closed.
func (r *Realm) httpResponse(e *isolate.Event, p *Response) (*http.Response, error) {
	if p.kind == "error" {
		return nil, r.thrown("Error", "Return value from serve handler must not be an error response (like Response.error())")
	}
	if r.bodyUsed(&p.body) {
		return nil, r.thrown("TypeError", usedText)
	}
	out := &http.Response{
		StatusCode: p.status, Status: statusLine(p), Header: make(http.Header, len(p.headers.list)+1),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	p.headers.write(out.Header)
	content := p.body
	p.used = !p.null
	if content.stream != nil {
		if source, ok := r.takeSource(content.stream); ok {
			content = source
		}
	}
	switch {
	case content.null:
		out.Body = http.NoBody
	case content.stream != nil:
		out.ContentLength = -1
		out.Body = r.newStreamBody(e, content.stream)
	case content.source != nil:
		out.ContentLength = content.length
		out.Body = newHeldBody(e, content.source)
	default:
		out.ContentLength = int64(len(content.data))
		out.Body = &dataBody{Reader: bytes.NewReader(content.data)}
	}
	return out, nil
}

func statusLine(p *Response) string {
	text := p.statusText
	if text == "" {
		text = http.StatusText(p.status)
	}
	return strconv.Itoa(p.status) + " " + text
}

// dataBody is a body that is there already.
type dataBody struct{ *bytes.Reader }

// Close has nothing to do.
func (*dataBody) Close() error { return nil }

// heldBody keeps the context of the event that made it, whose input it is.
type heldBody struct {
	io.ReadCloser
	event  *isolate.Event
	waiter *isolate.Waiter
	closed atomic.Bool
}

func newHeldBody(e *isolate.Event, source io.ReadCloser) *heldBody {
	c := e.Context()
	c.Pend(1)
	b := &heldBody{ReadCloser: source, event: e}
	b.waiter = c.Wait(func(error) { _ = source.Close() })
	return b
}

// Close ends the hold, and a Read. It may be called from any goroutine.
func (b *heldBody) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	err := b.ReadCloser.Close()
	c := b.event.Context()
	c.Enter(b.event, func() error {
		c.Pend(-1)
		b.waiter.Done()
		return nil
	})
	return err
}
