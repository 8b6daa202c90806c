package webapi

import (
	"bytes"
	"strings"

	"github.com/dop251/goja"
)

// blob is what is behind a Blob, and behind a File when file is set.
type blob struct {
	internal
	data        []byte
	contentType string
	file        bool
	name        string
	modified    float64
}

// blobType is a content type as Blob keeps it.
func blobType(text string) string {
	for n := range len(text) {
		if text[n] < 0x20 || text[n] > 0x7e {
			return ""
		}
	}
	return strings.ToLower(text)
}

// standardType is the content type of a body as its blob has it: names in small letters, parameters without spaces.
func standardType(text string) string {
	essence, params, ok := strings.Cut(text, ";")
	out := strings.ToLower(strings.TrimSpace(essence))
	for ok {
		var param string
		param, params, ok = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if name != "" && value != "" {
			out += ";" + strings.ToLower(name) + "=" + value
		}
	}
	return out
}

// blobData joins the parts of a Blob's constructor.
func (r *Realm) blobData(parts goja.Value, class string) []byte {
	if isMissing(parts) {
		return nil
	}
	o, ok := parts.(*goja.Object)
	if !ok || r.kindOf(o) != kindArray {
		r.throwType("Failed to construct '%s': constructor parameter 1 is not of type 'Array'.", class)
	}
	var data []byte
	r.rt.ForOf(o, func(v goja.Value) bool {
		if b, ok := r.blob.of(v); ok {
			data = append(data, b.data...)
		} else if b, ok := r.bytesOf(v); ok {
			data = append(data, b...)
		} else {
			data = append(data, r.text(v)...)
		}
		if int64(len(data)) > r.options.MaxBodyBytes {
			r.isolate.Throw("RangeError", "Blob size %d exceeds limit %d", len(data), r.options.MaxBodyBytes)
		}
		return true
	})
	return data
}

func (r *Realm) applyBlobOptions(b *blob, options goja.Value) {
	o, ok := options.(*goja.Object)
	if !ok {
		return
	}
	if v := o.Get("type"); !isMissing(v) {
		b.contentType = blobType(r.text(v))
	}
	if v := o.Get("endings"); !isMissing(v) {
		r.isolate.Throw("Error", "The 'endings' field on 'Options' is not implemented.")
	}
	if v := o.Get("lastModified"); !isMissing(v) && b.file {
		b.modified = v.ToFloat()
	}
}

func (r *Realm) installBlob() error {
	c := newClass(r, "Blob", func(call goja.ConstructorCall) *blob {
		b := &blob{data: r.blobData(call.Argument(0), "Blob")}
		r.applyBlobOptions(b, call.Argument(1))
		return b
	})
	r.blob = c
	c.attribute("size", func(b *blob) goja.Value { return r.rt.ToValue(len(b.data)) }, nil)
	c.attribute("type", func(b *blob) goja.Value { return r.rt.ToValue(b.contentType) }, nil)
	c.method("slice", func(b *blob, call goja.FunctionCall) goja.Value {
		start := relativeIndex(call.Argument(0), 0, len(b.data))
		end := max(start, relativeIndex(call.Argument(1), len(b.data), len(b.data)))
		part := &blob{data: b.data[start:end:end]}
		if v := call.Argument(2); !isMissing(v) {
			part.contentType = blobType(r.text(v))
		}
		return c.wrap(part)
	})
	c.promise("arrayBuffer", func(b *blob, _ goja.FunctionCall) goja.Value {
		return r.rt.ToValue(r.rt.NewArrayBuffer(bytes.Clone(b.data)))
	})
	c.promise("bytes", func(b *blob, _ goja.FunctionCall) goja.Value { return r.newBytes(bytes.Clone(b.data)) })
	c.promise("text", func(b *blob, _ goja.FunctionCall) goja.Value { return r.rt.ToValue(decodeUTF8(b.data)) })
	c.method("stream", func(b *blob, _ goja.FunctionCall) goja.Value {
		content := bytesBody(b.data)
		return r.newSourceStream(&content)
	})
	if err := c.install(); err != nil {
		return err
	}
	return r.installFile(c)
}

func (r *Realm) installFile(parent *class[*blob]) error {
	c := newClass(r, "File", func(call goja.ConstructorCall) *blob {
		if len(call.Arguments) < 2 {
			r.throwType("Failed to construct 'File': constructor parameter 2 is not of type 'string'.")
		}
		b := &blob{
			data: r.blobData(call.Argument(0), "File"), file: true, name: r.text(call.Argument(1)),
			modified: float64(r.isolate.Now().UnixMilli()),
		}
		r.applyBlobOptions(b, call.Argument(2))
		return b
	})
	c.attribute("name", func(b *blob) goja.Value { return r.rt.ToValue(b.name) }, nil)
	c.attribute("lastModified", func(b *blob) goja.Value { return r.rt.ToValue(b.modified) }, nil)
	if err := c.proto.SetPrototype(parent.proto); err != nil {
		return err
	}
	if err := c.ctor.SetPrototype(parent.ctor); err != nil {
		return err
	}
	r.file = c
	return c.install()
}

// relativeIndex is that of slice: negative counts from the end.
func relativeIndex(v goja.Value, missing, length int) int {
	if isMissing(v) {
		return missing
	}
	n := v.ToInteger()
	if n < 0 {
		n += int64(length)
	}
	return int(min(max(n, 0), int64(length)))
}
