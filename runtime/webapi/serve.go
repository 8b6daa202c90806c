package webapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
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
	// CF says what request.cf is; nil means what came with the request, from another script.
	CF CF
	// Context is where the event's input and output belongs; nil makes one for it alone.
	Context *isolate.Context
}

// notResponseText is workerd's.
const notResponseText = "Incorrect type for Promise: the Promise did not resolve to 'Response'."

// Reply is what a fetch handler answered.
type Reply struct {
	Status int
	// StatusText is the script's, or empty.
	StatusText string
	// Body is what may still be being written: it has to be closed. It is nil when the body is Data, and http.NoBody when
	// there is none.
	Body io.ReadCloser
	Data []byte
	// Length is that of the body, or negative when it is not known yet.
	Length int64
	// Streamed is set when the script writes the body piece by piece.
	Streamed bool

	headers Headers
}

// Header adds the headers to h, names in Go's form.
func (p *Reply) Header(h http.Header) { p.headers.write(h) }

// response gives it as a response to in.
func (p *Reply) response(in *http.Request) *http.Response {
	out := &http.Response{
		StatusCode: p.Status, Status: statusLine(p.Status, p.StatusText), Header: make(http.Header, len(p.headers.list)+1),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: p.Body, ContentLength: p.Length, Request: in,
	}
	p.Header(out.Header)
	if out.Body == nil {
		out.Body = &dataBody{Reader: bytes.NewReader(p.Data)}
	}
	return out
}

// Fetch delivers a request to a fetch handler, and returns its response with a body that may still be being written:
// close it. Otherwise it is like Deliver.
func Fetch(ctx context.Context, i *isolate.Isolate, in *http.Request, to Call) (*http.Response, error) {
	reply, err := Deliver(ctx, i, in, to)
	if err != nil {
		return nil, err
	}
	return reply.response(in), nil
}

// Deliver delivers a request to a fetch handler. The request's body is read as the script reads it, until the reply's is
// closed. Of ctx, which cancels the event as long as it has not answered, the script's outgoing calls keep the values.
//
// Errors are those of isolate.Context.Run. It may be called from any goroutine but the isolate's.
func Deliver(ctx context.Context, i *isolate.Isolate, in *http.Request, to Call) (*Reply, error) {
	c := to.Context
	if c == nil {
		c = i.NewContext(isolate.ContextOptions{})
	}
	d := &fetchEvent{in: in, to: to}
	if err := c.Run(ctx, d.start, d.finish); err != nil {
		return nil, err
	}
	return &d.out, nil
}

// fetchEvent is a request on its way to a fetch handler and back.
type fetchEvent struct {
	in    *http.Request
	to    Call
	realm *Realm // from the start on
	out   Reply
}

func (d *fetchEvent) start(e *isolate.Event) (goja.Value, error) {
	r := Of(e.Context().Isolate())
	d.realm = r
	var props goja.Value
	if d.to.Props != nil {
		props = d.to.Props(r)
	}
	cf := d.to.CF
	if cf == nil {
		cf = carriedCF
	}
	return r.Call(e, d.to.Entrypoint, "fetch", r.request.wrap(incomingRequest(d.in, cf)), props)
}

func (d *fetchEvent) finish(e *isolate.Event, v goja.Value) error {
	r := d.realm
	p, ok := r.response.of(v)
	if !ok {
		return r.thrown("TypeError", notResponseText)
	}
	return r.takeReply(e, p, &d.out)
}

// takeReply takes what leaves out of a response. Its body keeps the event's context until it is closed.
func (r *Realm) takeReply(e *isolate.Event, p *Response, out *Reply) error {
	if p.kind == "error" {
		return r.thrown("Error", "Return value from serve handler must not be an error response (like Response.error())")
	}
	if r.bodyUsed(&p.body) {
		return r.thrown("TypeError", usedText)
	}
	out.Status, out.StatusText = p.status, p.statusText
	// The script may go on to change its headers.
	out.headers.list = slices.Clone(p.headers.list)
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
		out.Length, out.Streamed = -1, true
		if length := r.streamOp("length", content.stream); !isMissing(length) {
			out.Length = length.ToInteger() // that of a FixedLengthStream
		}
		out.Body = r.newStreamBody(e, content.stream)
	case content.source != nil:
		out.Length = content.length
		out.Body = newHeldBody(e, content.source)
	default:
		out.Data, out.Length = content.data, int64(len(content.data))
	}
	return nil
}

// statusLine words a status; text may be empty.
func statusLine(status int, text string) string {
	if text == "" {
		text = http.StatusText(status)
	}
	return strconv.Itoa(status) + " " + text
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
