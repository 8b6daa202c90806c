package webapi

import (
	"bytes"
	"mime"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/google/uuid"
)

// formData is what is behind a FormData object.
type formData struct {
	internal
	list []formEntry
}

type formEntry struct {
	name string
	text string
	// file is set when the value is one.
	file *goja.Object
	blob *blob
}

// endsInBackslash reports whether the end of a name would be taken for part of it.
func (e formEntry) endsInBackslash() bool {
	return strings.HasSuffix(e.name, `\`) || e.blob != nil && strings.HasSuffix(e.blob.name, `\`)
}

const formTypeText = "Unrecognized Content-Type header value. FormData can only parse the following MIME types: " +
	"multipart/form-data, application/x-www-form-urlencoded"

// maxFormParts bounds a parsed form.
const maxFormParts = 10_000

// parseFormData parses a body with a form.
func (r *Realm) parseFormData(contentType string, data []byte) goja.Value {
	if contentType == "" {
		r.throwType("Parsing a Body as FormData requires a Content-Type header.")
	}
	kind, params, _ := mime.ParseMediaType(contentType)
	f := &formData{}
	switch kind {
	case "application/x-www-form-urlencoded":
		for _, p := range parseForm(string(data)) {
			f.list = append(f.list, formEntry{name: p.name, text: p.value})
		}
	case "multipart/form-data":
		if params["boundary"] == "" {
			r.throwType("No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary " +
				"parameter, e.g. 'Content-Type: multipart/form-data; boundary=\"abcd\"'. See RFC 7578, section 4.")
		}
		r.parseMultipart(f, data, params["boundary"])
	default:
		r.throwType(formTypeText)
	}
	return r.formData.wrap(f)
}

func (r *Realm) fileEntry(name string, b *blob) formEntry {
	return formEntry{name: name, blob: b, file: r.file.wrap(b)}
}

// encode writes multipart/form-data.
func (f *formData) encode() (body, string) {
	boundary := strings.ReplaceAll(uuid.NewString(), "-", "")
	escape := strings.NewReplacer("\r\n", "%0D%0A", "\n", "%0A", "\r", "%0D", `"`, "%22", `\`, `\\`)
	var b bytes.Buffer
	for _, e := range f.list {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + escape.Replace(e.name) + `"`)
		if e.blob == nil {
			b.WriteString("\r\n\r\n" + e.text)
		} else {
			kind := e.blob.contentType
			if kind == "" {
				kind = "application/octet-stream"
			}
			b.WriteString(`; filename="` + escape.Replace(e.blob.name) + "\"\r\nContent-Type: " + kind + "\r\n\r\n")
			b.Write(e.blob.data)
		}
		b.WriteString("\r\n")
	}
	b.WriteString("--" + boundary + "--")
	return bytesBody(b.Bytes()), "multipart/form-data; boundary=" + boundary
}

// entry makes an entry of what append and set take.
func (r *Realm) entry(c *class[*formData], call goja.FunctionCall, method string) formEntry {
	name := c.text(call, 0, method)
	if len(call.Arguments) < 2 {
		r.throwType("Failed to execute '%s' on 'FormData': parameter 2 is not of type 'File or Blob or string'.", method)
	}
	value := call.Argument(1)
	b, ok := r.blob.of(value)
	if !ok {
		return formEntry{name: name, text: r.text(value)}
	}
	filename := call.Argument(2)
	if b.file && isMissing(filename) {
		return formEntry{name: name, blob: b, file: value.(*goja.Object)}
	}
	copied := *b
	copied.file, copied.name, copied.modified = true, name, float64(r.isolate.Now().UnixMilli())
	if !isMissing(filename) {
		copied.name = r.text(filename)
	}
	return r.fileEntry(name, &copied)
}

func (r *Realm) entryValue(e formEntry) goja.Value {
	if e.file != nil {
		return e.file
	}
	return r.rt.ToValue(e.text)
}

func (r *Realm) installFormData() error {
	c := newClass(r, "FormData", func(goja.ConstructorCall) *formData { return &formData{} })
	r.formData = c
	c.method("append", func(f *formData, call goja.FunctionCall) goja.Value {
		f.list = append(f.list, r.entry(c, call, "append"))
		return goja.Undefined()
	})
	c.method("delete", func(f *formData, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "delete")
		f.list = slices.DeleteFunc(f.list, func(e formEntry) bool { return e.name == name })
		return goja.Undefined()
	})
	c.method("get", func(f *formData, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "get")
		if n := slices.IndexFunc(f.list, func(e formEntry) bool { return e.name == name }); n >= 0 {
			return r.entryValue(f.list[n])
		}
		return goja.Null()
	})
	c.method("getAll", func(f *formData, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "getAll")
		var out []any
		for _, e := range f.list {
			if e.name == name {
				out = append(out, r.entryValue(e))
			}
		}
		return r.rt.NewArray(out...)
	})
	c.method("has", func(f *formData, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "has")
		return r.rt.ToValue(slices.ContainsFunc(f.list, func(e formEntry) bool { return e.name == name }))
	})
	c.method("set", func(f *formData, call goja.FunctionCall) goja.Value {
		entry := r.entry(c, call, "set")
		n := slices.IndexFunc(f.list, func(e formEntry) bool { return e.name == entry.name })
		if n < 0 {
			f.list = append(f.list, entry)
			return goja.Undefined()
		}
		f.list[n] = entry
		rest := slices.DeleteFunc(f.list[n+1:], func(e formEntry) bool { return e.name == entry.name })
		f.list = f.list[:n+1+len(rest)]
		return goja.Undefined()
	})
	r.installFormDataIteration(c)
	return c.install()
}

func (r *Realm) installFormDataIteration(c *class[*formData]) {
	iterateLive(r, c, func(f *formData) []formEntry { return f.list }, func(e formEntry) (string, goja.Value) {
		return e.name, r.entryValue(e)
	})
	c.method("forEach", func(f *formData, call goja.FunctionCall) goja.Value {
		callback, ok := goja.AssertFunction(call.Argument(0))
		if !ok {
			r.throwType("Failed to execute 'forEach' on 'FormData': parameter 1 is not of type 'function'.")
		}
		self, this := call.Argument(1), call.This
		for n := 0; n < len(f.list); n++ {
			r.call(callback, self, r.entryValue(f.list[n]), r.rt.ToValue(f.list[n].name), this)
		}
		return goja.Undefined()
	})
}
