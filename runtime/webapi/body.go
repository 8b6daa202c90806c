package webapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/dop251/goja"
)

// body is that of a Request or a Response. It is one of: nothing, bytes, a reader of the host's, a stream.
type body struct {
	null bool
	// data is set when source and stream are not.
	data   []byte
	source io.ReadCloser
	// length is that of source, or negative when unknown.
	length int64
	// stream is the ReadableStream: the script's, or what the attribute body made of data or source.
	stream *goja.Object
	// used is set when data or source were consumed.
	used bool
}

func nullBody() body             { return body{null: true} }
func bytesBody(data []byte) body { return body{data: data, length: int64(len(data))} }
func (b *body) state() *body     { return b }
func (b *body) replayable() bool { return b.null || b.source == nil && b.stream == nil && !b.used }

// readerBody is a body that the host reads. length may be negative.
func readerBody(source io.ReadCloser, length int64) body {
	if source == nil || length == 0 {
		return nullBody()
	}
	return body{source: source, length: length}
}

type bodied interface{ state() *body }

const (
	usedText   = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."
	lockedText = "This ReadableStream is currently locked to a reader."
	cloneText  = "This ReadableStream is currently locked to a reader,"
)

// extract makes a body of a BodyInit, and names the content type that goes with it, if one does.
func (r *Realm) extract(init goja.Value) (body, string) {
	if isNullish(init) {
		return nullBody(), ""
	}
	o, ok := init.(*goja.Object)
	if !ok {
		return bytesBody([]byte(r.text(init))), "text/plain;charset=UTF-8"
	}
	if p, ok := r.searchParams.of(o); ok {
		return bytesBody([]byte(encodeForm(p.list))), "application/x-www-form-urlencoded;charset=UTF-8"
	}
	if b, ok := r.blob.of(o); ok {
		return bytesBody(b.data), b.contentType
	}
	if f, ok := r.formData.of(o); ok {
		if slices.ContainsFunc(f.list, formEntry.endsInBackslash) {
			r.throwType("Name or filename can't end with backslash")
		}
		return f.encode()
	}
	if data, ok := r.bytesOf(o); ok {
		return bytesBody(bytes.Clone(data)), ""
	}
	if r.isStream(o) {
		if r.streamFlag("disturbed", o) {
			r.throwType("This ReadableStream is disturbed (has already been read from), and cannot be used as a body.")
		}
		if r.streamFlag("locked", o) {
			r.throwType("This ReadableStream is locked to a reader, and cannot be used as a body.")
		}
		return body{stream: o, length: -1}, ""
	}
	if r.dated.iterables && o.ClassName() != "String" && r.isIterable(o) {
		return body{stream: r.streamOp("fromIterable", o).(*goja.Object), length: -1}, ""
	}
	return bytesBody([]byte(r.text(o))), "text/plain;charset=UTF-8"
}

// isIterable reports whether for await…of takes an object.
func (r *Realm) isIterable(o *goja.Object) bool {
	if !isNullish(o.GetSymbol(goja.SymIterator)) {
		return true
	}
	s, ok := r.rt.Get("Symbol").(*goja.Object).Get("asyncIterator").(*goja.Symbol)
	return ok && !isNullish(o.GetSymbol(s))
}

func (r *Realm) bodyUsed(b *body) bool {
	return b.used || b.stream != nil && r.streamFlag("disturbed", b.stream)
}

// consume reads a body as a whole and returns a promise of what then makes of it. then owns the bytes.
func (r *Realm) consume(b *body, then func([]byte) goja.Value) goja.Value {
	switch {
	case b.null:
		return r.isolate.Resolved(then(nil))
	case b.used:
		r.throwType(usedText)
	case b.stream != nil:
		if r.streamFlag("disturbed", b.stream) {
			r.throwType(usedText)
		}
		if r.streamFlag("locked", b.stream) {
			r.throwType(lockedText)
		}
		if source, ok := r.takeSource(b.stream); ok {
			return r.consume(&source, then)
		}
		f := r.isolate.Function("", 1, func(call goja.FunctionCall) goja.Value {
			data, _ := r.bytesOf(call.Argument(0))
			return then(data)
		})
		return r.streamOp("readAll", b.stream, f, r.rt.ToValue(r.options.MaxBodyBytes))
	}
	b.used = true
	if b.source == nil {
		return r.isolate.Resolved(then(b.data))
	}
	source := b.source
	return r.isolate.Go(func(context.Context) func() (goja.Value, error) {
		data, err := readAll(source, r.options.MaxBodyBytes)
		return func() (goja.Value, error) {
			if err != nil {
				return nil, err
			}
			return then(data), nil
		}
	})
}

var errBodyTooLarge = errors.New("Memory limit would be exceeded before EOF.")

var errConnectionLost = errors.New("Network connection lost.")

func readAll(source io.ReadCloser, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(source, limit+1))
	if closeErr := source.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	var cut *CutStream
	if errors.As(err, &cut) {
		return nil, cut
	}
	if err != nil {
		return nil, errConnectionLost
	}
	if int64(len(data)) > limit {
		return nil, errBodyTooLarge
	}
	return data, nil
}

// streamOf gives the body as a ReadableStream.
func (r *Realm) streamOf(b *body) goja.Value {
	if b.null {
		return goja.Null()
	}
	if b.stream == nil {
		content := body{data: b.data, source: b.source, length: b.length}
		b.stream = r.newSourceStream(&content)
		if b.used {
			r.streamOp("consume", b.stream)
		}
	}
	return b.stream
}

// fork gives a second body with the same content, for clone.
func (r *Realm) fork(b *body) body {
	if b.null {
		return nullBody()
	}
	if b.used || b.stream != nil && (r.streamFlag("disturbed", b.stream) || r.streamFlag("locked", b.stream)) {
		r.throwType(cloneText)
	}
	if b.replayable() {
		return bytesBody(b.data)
	}
	pair := r.streamOp("tee", r.streamOf(b)).(*goja.Object)
	*b = body{stream: pair.Get("0").(*goja.Object), length: -1}
	return body{stream: pair.Get("1").(*goja.Object), length: -1}
}

// move takes the content for another object; b is used from then on.
func (r *Realm) move(b *body) body {
	if b.null {
		return nullBody()
	}
	if b.used || b.stream != nil && r.streamFlag("disturbed", b.stream) {
		r.throwType("Cannot reconstruct a Request with a used body.")
	}
	if b.stream != nil {
		if source, ok := r.takeSource(b.stream); ok {
			return source
		}
		return body{stream: r.streamOp("proxy", b.stream).(*goja.Object), length: -1}
	}
	content := *b
	b.used = true
	return content
}

func (r *Realm) installBodies() error {
	c := newClass[native](r, "Body", nil)
	of := func(n native) *body {
		b, ok := n.(bodied)
		if !ok {
			r.throwType("%s", illegalInvocation)
		}
		return b.state()
	}
	c.attribute("body", func(n native) goja.Value { return r.streamOf(of(n)) }, nil)
	c.attribute("bodyUsed", func(n native) goja.Value { return r.rt.ToValue(r.bodyUsed(of(n))) }, nil)
	consumer := func(name string, then func(native, []byte) goja.Value) {
		c.promise(name, func(n native, _ goja.FunctionCall) goja.Value {
			return r.consume(of(n), func(b []byte) goja.Value { return then(n, b) })
		})
	}
	consumer("arrayBuffer", func(_ native, b []byte) goja.Value {
		return r.rt.ToValue(r.rt.NewArrayBuffer(bytes.Clone(b)))
	})
	consumer("bytes", func(_ native, b []byte) goja.Value { return r.newBytes(bytes.Clone(b)) })
	consumer("text", func(_ native, b []byte) goja.Value {
		if !r.dated.stripBOM {
			return r.rt.ToValue(decodeUTF8(b))
		}
		return r.rt.ToValue(decodeBody(b))
	})
	consumer("json", func(_ native, b []byte) goja.Value {
		if !r.dated.stripBOM {
			return r.isolate.ParseJSON(decodeUTF8(b))
		}
		return r.isolate.ParseJSON(decodeBody(b))
	})
	consumer("formData", func(n native, b []byte) goja.Value { return r.parseFormData(r.contentType(n), b) })
	consumer("blob", func(n native, b []byte) goja.Value {
		kind := r.contentType(n)
		if r.dated.blobTypes {
			kind = standardType(kind)
		}
		return r.blob.wrap(&blob{data: bytes.Clone(b), contentType: kind})
	})
	if err := c.install(); err != nil {
		return err
	}
	if err := r.installBlob(); err != nil {
		return err
	}
	if err := r.installFormData(); err != nil {
		return err
	}
	if err := r.installRequest(); err != nil {
		return err
	}
	if err := r.installResponse(); err != nil {
		return err
	}
	for _, proto := range []*goja.Object{r.request.proto, r.response.proto} {
		if err := proto.SetPrototype(c.proto); err != nil {
			return err
		}
	}
	return nil
}

// decodeBody is the text of a body: UTF-8 without its mark.
func decodeBody(b []byte) string { return decodeUTF8(bytes.TrimPrefix(b, utf8BOM)) }

func (r *Realm) contentType(n native) string {
	var h *Headers
	switch n := n.(type) {
	case *Request:
		h = r.headersOf(n)
	case *Response:
		h = n.headers
	}
	if h == nil {
		return ""
	}
	v, _ := h.get("content-type")
	return v
}
