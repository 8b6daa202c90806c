package webapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// Headers is what is behind a Headers object.
type Headers struct {
	internal
	// list is in order of insertion; names are lower case.
	list      []header
	immutable bool
}

type header struct{ name, value string }

const setCookie = "set-cookie"

// newHeaders copies Go's headers.
func newHeaders(h http.Header, immutable bool) *Headers {
	out := &Headers{immutable: immutable, list: make([]header, 0, len(h))}
	for name, values := range h {
		if name == sidecar.HeaderCF {
			continue // it is none
		}
		lower := strings.ToLower(name)
		for _, v := range values {
			out.list = append(out.list, header{lower, v})
		}
	}
	if len(out.list) > 1 {
		slices.SortStableFunc(out.list, func(a, b header) int { return strings.Compare(a.name, b.name) })
	}
	return out
}

func (h *Headers) clone() *Headers { return &Headers{list: slices.Clone(h.list)} }

// write adds them to Go's.
func (h *Headers) write(to http.Header) {
	for _, e := range h.list {
		name := http.CanonicalHeaderKey(e.name)
		to[name] = append(to[name], e.value)
	}
}

func (h *Headers) get(name string) (string, bool) {
	var out string
	found := false
	for n := range h.list {
		if h.list[n].name != name {
			continue
		}
		if found {
			out += ", " + h.list[n].value
		} else {
			out, found = h.list[n].value, true
		}
	}
	return out, found
}

func (h *Headers) remove(name string) {
	h.list = slices.DeleteFunc(h.list, func(e header) bool { return e.name == name })
}

func (h *Headers) set(name, value string) {
	for n := range h.list {
		if h.list[n].name == name {
			h.list[n].value = value
			rest := slices.DeleteFunc(h.list[n+1:], func(e header) bool { return e.name == name })
			h.list = h.list[:n+1+len(rest)]
			return
		}
	}
	h.list = append(h.list, header{name, value})
}

// sorted returns them as iteration shows them: by name, values of one name joined, but for Set-Cookie.
func (h *Headers) sorted() []header {
	out := slices.Clone(h.list)
	slices.SortStableFunc(out, func(a, b header) int { return strings.Compare(a.name, b.name) })
	kept := out[:0]
	for _, e := range out {
		if n := len(kept); n > 0 && kept[n-1].name == e.name && e.name != setCookie {
			kept[n-1].value += ", " + e.value
		} else {
			kept = append(kept, e)
		}
	}
	return kept
}

func (r *Realm) headerName(name string) string {
	if strings.ContainsAny(name, " \t\r\n\x00:") {
		r.throwType("Invalid header name.")
	}
	return strings.ToLower(name)
}

func (r *Realm) headerValue(value string) string {
	value = strings.Trim(value, " \t\r\n")
	if strings.ContainsAny(value, "\x00\r\n") {
		r.throwType("Invalid header value.")
	}
	return value
}

func (r *Realm) mutable(h *Headers) {
	if h.immutable {
		r.throwType("Can't modify immutable headers.")
	}
}

// fillHeaders adds what a HeadersInit holds.
func (r *Realm) fillHeaders(h *Headers, init goja.Value, what string) {
	if isMissing(init) {
		return
	}
	o, ok := init.(*goja.Object)
	if !ok {
		r.throwType("%s of type 'Headers or Sequence or object'.", what)
	}
	if other, ok := r.headers.of(o); ok {
		h.list = append(h.list, other.list...)
		return
	}
	add := func(name, value string) {
		h.list = append(h.list, header{r.headerName(name), r.headerValue(value)})
	}
	if isNullish(o.GetSymbol(goja.SymIterator)) {
		for _, name := range o.Keys() {
			add(name, r.text(o.Get(name)))
		}
		return
	}
	r.rt.ForOf(o, func(v goja.Value) bool {
		pair := r.pair(v)
		if len(pair) != 2 {
			r.throwType("To initialize a Headers object from a sequence, each inner sequence must have exactly two elements.")
		}
		add(pair[0], pair[1])
		return true
	})
}

// pair returns the texts of a sequence.
func (r *Realm) pair(v goja.Value) []string {
	var out []string
	r.rt.ForOf(v, func(item goja.Value) bool {
		out = append(out, r.text(item))
		return len(out) < 3
	})
	return out
}

func (r *Realm) installHeaders() error {
	c := newClass(r, "Headers", func(call goja.ConstructorCall) *Headers {
		h := &Headers{}
		r.fillHeaders(h, call.Argument(0), "Failed to construct 'Headers': constructor parameter 1 is not")
		return h
	})
	r.headers = c
	c.method("get", func(h *Headers, call goja.FunctionCall) goja.Value {
		v, ok := h.get(r.headerName(c.text(call, 0, "get")))
		if !ok {
			return goja.Null()
		}
		return r.rt.ToValue(v)
	})
	c.method("getAll", func(h *Headers, call goja.FunctionCall) goja.Value {
		if !strings.EqualFold(c.text(call, 0, "getAll"), setCookie) {
			r.throwType(`getAll() can only be used with the header name "Set-Cookie".`)
		}
		return r.cookies(h)
	})
	c.method("getSetCookie", func(h *Headers, _ goja.FunctionCall) goja.Value { return r.cookies(h) })
	c.method("has", func(h *Headers, call goja.FunctionCall) goja.Value {
		_, ok := h.get(r.headerName(c.text(call, 0, "has")))
		return r.rt.ToValue(ok)
	})
	c.method("set", func(h *Headers, call goja.FunctionCall) goja.Value {
		name, value := c.text(call, 0, "set"), c.text(call, 1, "set")
		r.mutable(h)
		h.set(r.headerName(name), r.headerValue(value))
		return goja.Undefined()
	})
	c.method("append", func(h *Headers, call goja.FunctionCall) goja.Value {
		name, value := c.text(call, 0, "append"), c.text(call, 1, "append")
		r.mutable(h)
		h.list = append(h.list, header{r.headerName(name), r.headerValue(value)})
		return goja.Undefined()
	})
	c.method("delete", func(h *Headers, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "delete")
		r.mutable(h)
		h.remove(r.headerName(name))
		return goja.Undefined()
	})
	r.installHeadersIteration(c)
	return c.install()
}

func (r *Realm) cookies(h *Headers) goja.Value {
	var out []any
	for _, e := range h.list {
		if e.name == setCookie {
			out = append(out, e.value)
		}
	}
	return r.rt.NewArray(out...)
}

func (r *Realm) installHeadersIteration(c *class[*Headers]) {
	c.method("forEach", func(h *Headers, call goja.FunctionCall) goja.Value {
		f, ok := goja.AssertFunction(call.Argument(0))
		if !ok {
			r.throwType("Failed to execute 'forEach' on 'Headers': parameter 1 is not of type 'function'.")
		}
		self, this := call.Argument(1), call.This
		for _, e := range h.sorted() {
			r.call(f, self, r.rt.ToValue(e.value), r.rt.ToValue(e.name), this)
		}
		return goja.Undefined()
	})
	each := func(name string, item func(header) any) {
		c.method(name, func(h *Headers, _ goja.FunctionCall) goja.Value {
			list := h.sorted()
			out := make([]any, len(list))
			for n, e := range list {
				out[n] = item(e)
			}
			return r.iterate(out)
		})
	}
	each("entries", func(e header) any { return r.rt.NewArray(e.name, e.value) })
	each("keys", func(e header) any { return e.name })
	each("values", func(e header) any { return e.value })
	c.iterator("entries")
}
