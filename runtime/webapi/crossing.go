package webapi

import (
	"bytes"
	"io"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// Sender passes streams to another script, with a value that they are part of.
type Sender interface {
	// Readable passes on what is read from body, and returns what stands for it.
	Readable(body io.ReadCloser) v8value.Value
	// Writable passes on a WritableStream.
	Writable(stream *goja.Object) v8value.Value
}

// Receiver takes streams from another script.
type Receiver interface {
	// Readable returns what a Sender's Readable was given; nil when there is none.
	Readable(v v8value.Value) io.ReadCloser
	// Writable makes a WritableStream; nil when there is none.
	Writable(v v8value.Value) goja.Value
}

// maxInlineBytes is the largest body that is part of its message; a larger one is a stream.
const maxInlineBytes = 64 << 10

// Texts of what crosses between scripts. Like workerd.
const (
	lockedStreamText   = "The ReadableStream has been locked to a reader."
	canceledStreamText = "ReadableStream sent over RPC was canceled or released by the remote execution context."
	cutStreamText      = "ReadableStream received over RPC disconnected prematurely."
	signalText         = "AbortSignal serialization is not enabled."
)

// Pack takes an object of the platform apart for another script. It reports false for those that cannot be passed on.
func (r *Realm) Pack(o *goja.Object, to Sender) (v8value.Value, bool) {
	if h, ok := r.headers.of(o); ok {
		return host(sidecar.HostHeaders, packHeaders(h)), true
	}
	if p, ok := r.response.of(o); ok {
		return host(sidecar.HostResponse, r.packResponse(p, to)), true
	}
	if q, ok := r.request.of(o); ok {
		return host(sidecar.HostRequest, r.packRequest(q, to)), true
	}
	if b, ok := r.blob.of(o); ok && !b.file {
		out := &v8value.Object{}
		set(out, "type", b.contentType)
		set(out, "data", &v8value.ArrayBuffer{Bytes: b.data})
		return host(sidecar.HostBlob, out), true
	}
	if r.isStream(o) {
		b := body{stream: o, length: -1}
		return host(sidecar.HostReadable, r.packBody(&b, to)), true
	}
	if r.prelude.loaded["streams"] != nil && r.streamFlag("isWritable", o) {
		return host(sidecar.HostWritable, to.Writable(o)), true
	}
	if r.prelude.loaded["events"] != nil && r.isSignal(o) {
		r.throwDOM("DataCloneError", signalText)
	}
	if r.isDOMException(o) {
		out := &v8value.Object{}
		set(out, "name", o.Get("name").String())
		set(out, "message", o.Get("message").String())
		return host(sidecar.HostDOMException, out), true
	}
	return nil, false
}

// isDOMException reports whether an object is a DOMException.
func (r *Realm) isDOMException(o *goja.Object) bool {
	dom := r.prelude.loaded["dom"]
	if dom == nil {
		return false
	}
	class, ok := dom.Get("DOMException").(*goja.Object)
	return ok && r.rt.InstanceOf(o, class)
}

func host(kind uint32, v v8value.Value) v8value.Value { return &v8value.Host{Kind: kind, Value: v} }

func set(o *v8value.Object, name string, v v8value.Value) {
	o.Properties = append(o.Properties, v8value.Property{Key: name, Value: v})
}

func packHeaders(h *Headers) *v8value.Array {
	out := &v8value.Array{Length: uint32(2 * len(h.list))}
	for _, e := range h.list {
		out.Items = append(out.Items, e.name, e.value)
	}
	return out
}

func (r *Realm) packResponse(p *Response, to Sender) v8value.Value {
	if !isNullish(p.webSocket) {
		r.throwDOM("DataCloneError",
			"Could not serialize object of type \"WebSocket\". This type does not support serialization.")
	}
	out := &v8value.Object{}
	set(out, "status", float64(p.status))
	set(out, "statusText", p.statusText)
	set(out, "kind", p.kind)
	set(out, "headers", packHeaders(p.headers))
	set(out, "body", r.packBody(&p.body, to))
	set(out, "cf", r.packCF(p.cf))
	return out
}

func (r *Realm) packRequest(q *Request, to Sender) v8value.Value {
	if !isNullish(q.signal) {
		r.throwDOM("DataCloneError", signalText)
	}
	out := &v8value.Object{}
	set(out, "method", q.method)
	set(out, "url", q.url)
	set(out, "redirect", q.redirect)
	set(out, "headers", packHeaders(r.headersOf(q)))
	set(out, "body", r.packBody(&q.body, to))
	set(out, "cf", r.packCF(q.cfOf()))
	return out
}

// packBody takes a body from the script: null, its bytes, or an array of what the Sender says and the length.
func (r *Realm) packBody(b *body, to Sender) v8value.Value {
	if b.null {
		return nil
	}
	if b.used || b.stream != nil && (r.streamFlag("disturbed", b.stream) || r.streamFlag("locked", b.stream)) {
		r.throwType(lockedStreamText)
	}
	content := *b
	b.used = true
	if content.stream != nil {
		if source, ok := r.takeSource(content.stream); ok {
			content = source
		}
	}
	e := r.isolate.RequireEvent()
	switch {
	case content.stream != nil:
		return streamValue(to.Readable(r.newCrossingBody(e, content.stream)), -1)
	case content.source != nil:
		return streamValue(to.Readable(newHeldBody(e, content.source)), content.length)
	case len(content.data) > maxInlineBytes:
		return streamValue(to.Readable(&dataBody{Reader: bytes.NewReader(content.data)}), int64(len(content.data)))
	}
	return &v8value.ArrayBuffer{Bytes: bytes.Clone(content.data)}
}

func streamValue(v v8value.Value, length int64) v8value.Value {
	return &v8value.Array{Length: 2, Items: []v8value.Value{v, float64(length)}}
}

// Unpack makes what Pack took apart. It reports false when it knows nothing of it.
func (r *Realm) Unpack(h *v8value.Host, from Receiver) (goja.Value, bool) {
	if h.Kind == sidecar.HostHeaders {
		return r.headers.wrap(unpackHeaders(h.Value)), true
	}
	if h.Kind == sidecar.HostReadable {
		b, ok := unpackBody(h.Value, from)
		if !ok || b.null {
			return nil, false
		}
		return r.streamOf(&b), true
	}
	if h.Kind == sidecar.HostWritable {
		v := from.Writable(h.Value)
		return v, v != nil
	}
	o, ok := h.Value.(*v8value.Object)
	if !ok {
		return nil, false
	}
	switch h.Kind {
	case sidecar.HostResponse:
		return r.unpackResponse(o, from)
	case sidecar.HostRequest:
		return r.unpackRequest(o, from)
	case sidecar.HostBlob:
		data, _ := o.Get("data").(*v8value.ArrayBuffer)
		if data == nil {
			return nil, false
		}
		return r.blob.wrap(&blob{data: data.Bytes, contentType: textOf(o, "type")}), true
	case sidecar.HostDOMException:
		return r.NewDOMException(textOf(o, "name"), textOf(o, "message")), true
	}
	return nil, false
}

func textOf(o *v8value.Object, name string) string {
	s, _ := o.Get(name).(string)
	return s
}

func unpackHeaders(v v8value.Value) *Headers {
	out := &Headers{}
	a, _ := v.(*v8value.Array)
	if a == nil {
		return out
	}
	for n := 0; n+1 < len(a.Items); n += 2 {
		name, _ := a.Items[n].(string)
		value, _ := a.Items[n+1].(string)
		out.list = append(out.list, header{name, value})
	}
	return out
}

func unpackBody(v v8value.Value, from Receiver) (body, bool) {
	switch v := v.(type) {
	case nil:
		return nullBody(), true
	case *v8value.ArrayBuffer:
		return bytesBody(v.Bytes), true
	case *v8value.Array:
		if len(v.Items) != 2 {
			return body{}, false
		}
		length, _ := v.Items[1].(float64)
		source := from.Readable(v.Items[0])
		return body{source: source, length: int64(length)}, source != nil
	}
	return body{}, false
}

func (r *Realm) unpackResponse(o *v8value.Object, from Receiver) (goja.Value, bool) {
	status, _ := o.Get("status").(float64)
	p := &Response{
		status: int(status), statusText: textOf(o, "statusText"), kind: textOf(o, "kind"),
		headers: unpackHeaders(o.Get("headers")), cf: r.unpackCF(o.Get("cf")),
	}
	var ok bool
	p.body, ok = unpackBody(o.Get("body"), from)
	return r.response.wrap(p), ok
}

func (r *Realm) unpackRequest(o *v8value.Object, from Receiver) (goja.Value, bool) {
	q := &Request{
		method: textOf(o, "method"), url: textOf(o, "url"), redirect: textOf(o, "redirect"),
		headers: unpackHeaders(o.Get("headers")), cf: r.unpackCF(o.Get("cf")),
	}
	var ok bool
	q.body, ok = unpackBody(o.Get("body"), from)
	return r.request.wrap(q), ok
}

// CutStream is the error of a stream from another script that ends before its time.
type CutStream struct{}

// Error says what happened.
func (e *CutStream) Error() string { return cutStreamText }

// JSValue makes the error that the script sees.
func (e *CutStream) JSValue(r *Realm) goja.Value { return r.isolate.NewError("Error", cutStreamText) }

// Class returns a class that the prelude makes, such as WritableStream.
func (r *Realm) Class(group, name string) goja.Value { return r.group(group).Get(name) }
