package webapi

import (
	"bytes"
	"context"
	"io"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// sourceHolder is what leads from a ReadableStream to a body of the host's.
type sourceHolder struct {
	isolate.Opaque
	content body
	done    bool
}

// streamOp calls an operation of the prelude's streams.
func (r *Realm) streamOp(name string, args ...goja.Value) goja.Value {
	return r.operation("streams", name, args...)
}

func (r *Realm) streamFlag(name string, o *goja.Object) bool { return r.streamOp(name, o).ToBoolean() }

// isStream reports whether v is a ReadableStream. None exists before the prelude has made their class.
func (r *Realm) isStream(v goja.Value) bool {
	return r.prelude.loaded["streams"] != nil && r.streamOp("isReadable", v).ToBoolean()
}

// newSourceStream gives a body of the host's as a stream of bytes.
func (r *Realm) newSourceStream(content *body) *goja.Object {
	holder := r.rt.NewDynamicObject(&sourceHolder{content: *content})
	return r.streamOp("fromSource", holder, r.rt.ToValue(content.length)).(*goja.Object)
}

// takeSource takes the host's body out of a stream that nobody has read from, and leaves it used.
func (r *Realm) takeSource(stream *goja.Object) (body, bool) {
	o, ok := r.streamOp("takeSource", stream).(*goja.Object)
	if !ok {
		return body{}, false
	}
	h, ok := o.Export().(*sourceHolder)
	if !ok {
		return body{}, false
	}
	return h.content, true
}

// sourceChunk is how much is read at once.
const sourceChunk = 32 << 10

// readSource(holder) returns a promise of the next bytes, or of undefined at the end.
func (r *Realm) readSource(call goja.FunctionCall) goja.Value {
	o, _ := call.Argument(0).(*goja.Object)
	h, ok := o.Export().(*sourceHolder)
	if !ok || h.done {
		return r.isolate.Resolved(goja.Undefined())
	}
	if h.content.source == nil {
		h.done = true
		if len(h.content.data) == 0 {
			return r.isolate.Resolved(goja.Undefined())
		}
		return r.isolate.Resolved(r.newBytes(bytes.Clone(h.content.data)))
	}
	source := h.content.source
	return r.isolate.Go(func(context.Context) func() (goja.Value, error) {
		buffer := make([]byte, sourceChunk)
		n, err := source.Read(buffer)
		for n == 0 && err == nil {
			n, err = source.Read(buffer)
		}
		return func() (goja.Value, error) {
			switch {
			case n > 0:
				return r.newBytes(buffer[:n]), nil
			case err == io.EOF:
				h.done = true
				return goja.Undefined(), nil
			}
			h.done = true
			return nil, r.sendError(err)
		}
	})
}

// thrown is an error that rejects with an object of a global class.
func (r *Realm) thrown(class, message string) error {
	x := r.isolate.NewException(r.isolate.NewError(class, message))
	return x
}

// cancelSource(holder) ends a body that nobody reads any more.
func (r *Realm) cancelSource(call goja.FunctionCall) goja.Value {
	if o, ok := call.Argument(0).(*goja.Object); ok {
		if h, ok := o.Export().(*sourceHolder); ok && !h.done {
			h.done = true
			if s := h.content.source; s != nil {
				r.isolate.Background(func() { _ = s.Close() })
			}
		}
	}
	return goja.Undefined()
}

// transferBuffer(buffer) leaves an ArrayBuffer detached and returns another one of its bytes.
func (r *Realm) transferBuffer(call goja.FunctionCall) goja.Value {
	o, _ := call.Argument(0).(*goja.Object)
	b, ok := o.Export().(goja.ArrayBuffer)
	if !ok || b.Detached() {
		r.throwType("Unable to use detached ArrayBuffer")
	}
	data := b.Bytes()
	b.Detach()
	return r.rt.ToValue(r.rt.NewArrayBuffer(data))
}
