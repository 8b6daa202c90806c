package webapi

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/dop251/goja"
)

// searchParams is what is behind a URLSearchParams object.
type searchParams struct {
	internal
	list []formPair
	// url is the URL that follows, or nil.
	url *URL
}

type formPair struct{ name, value string }

// write has the URL follow.
func (p *searchParams) write() {
	if p.url != nil {
		p.url.full().SetSearch(encodeForm(p.list))
	}
}

// parseForm decodes application/x-www-form-urlencoded.
func parseForm(text string) []formPair {
	if text == "" {
		return nil
	}
	list := make([]formPair, 0, strings.Count(text, "&")+1)
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		list = append(list, formPair{decodeFormText(name), decodeFormText(value)})
	}
	return list
}

func decodeFormText(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	b := make([]byte, 0, len(s))
	for n := 0; n < len(s); n++ {
		switch c := s[n]; {
		case c == '+':
			b = append(b, ' ')
		case c == '%' && n+2 < len(s) && unhex(s[n+1]) >= 0 && unhex(s[n+2]) >= 0:
			b = append(b, byte(unhex(s[n+1])<<4|unhex(s[n+2])))
			n += 2
		default:
			b = append(b, c)
		}
	}
	return decodeUTF8(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// encodeForm encodes application/x-www-form-urlencoded.
func encodeForm(list []formPair) string {
	var b strings.Builder
	for n, p := range list {
		if n > 0 {
			b.WriteByte('&')
		}
		encodeFormText(&b, p.name)
		b.WriteByte('=')
		encodeFormText(&b, p.value)
	}
	return b.String()
}

const upperHex = "0123456789ABCDEF"

func encodeFormText(b *strings.Builder, s string) {
	for n := range len(s) {
		c := s[n]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("*-._", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
}

func (r *Realm) newSearchParams(init goja.Value) *searchParams {
	p := &searchParams{}
	o, ok := init.(*goja.Object)
	switch {
	case isMissing(init):
	case !ok:
		p.list = parseForm(strings.TrimPrefix(r.text(init), "?"))
	case r.isSearchParams(o):
		other, _ := r.searchParams.of(o)
		p.list = slices.Clone(other.list)
	case isNullish(o.GetSymbol(goja.SymIterator)):
		for _, name := range o.Keys() {
			p.list = append(p.list, formPair{name, r.text(o.Get(name))})
		}
	default:
		r.rt.ForOf(o, func(v goja.Value) bool {
			if _, ok := v.(*goja.Object); !ok {
				r.throwType("Incorrect type: the provided value is not of type 'Sequence'.")
			}
			pair := r.pair(v)
			if len(pair) != 2 {
				r.throwType("Invalid URL search params sequence.")
			}
			p.list = append(p.list, formPair{pair[0], pair[1]})
			return true
		})
	}
	return p
}

func (r *Realm) isSearchParams(v goja.Value) bool {
	_, ok := r.searchParams.of(v)
	return ok
}

func (r *Realm) installSearchParams() error {
	c := newClass(r, "URLSearchParams", func(call goja.ConstructorCall) *searchParams {
		return r.newSearchParams(call.Argument(0))
	})
	r.searchParams = c
	c.attribute("size", func(p *searchParams) goja.Value { return r.rt.ToValue(len(p.list)) }, nil)
	c.method("append", func(p *searchParams, call goja.FunctionCall) goja.Value {
		p.list = append(p.list, formPair{c.text(call, 0, "append"), c.text(call, 1, "append")})
		p.write()
		return goja.Undefined()
	})
	c.method("delete", func(p *searchParams, call goja.FunctionCall) goja.Value {
		matches := r.matcher(c, call, "delete")
		p.list = slices.DeleteFunc(p.list, matches)
		p.write()
		return goja.Undefined()
	})
	c.method("get", func(p *searchParams, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "get")
		for _, e := range p.list {
			if e.name == name {
				return r.rt.ToValue(e.value)
			}
		}
		return goja.Null()
	})
	c.method("getAll", func(p *searchParams, call goja.FunctionCall) goja.Value {
		name := c.text(call, 0, "getAll")
		var out []any
		for _, e := range p.list {
			if e.name == name {
				out = append(out, e.value)
			}
		}
		return r.rt.NewArray(out...)
	})
	c.method("has", func(p *searchParams, call goja.FunctionCall) goja.Value {
		return r.rt.ToValue(slices.ContainsFunc(p.list, r.matcher(c, call, "has")))
	})
	c.method("set", func(p *searchParams, call goja.FunctionCall) goja.Value {
		p.set(c.text(call, 0, "set"), c.text(call, 1, "set"))
		p.write()
		return goja.Undefined()
	})
	c.method("sort", func(p *searchParams, _ goja.FunctionCall) goja.Value {
		slices.SortStableFunc(p.list, func(a, b formPair) int { return compareUTF16(a.name, b.name) })
		p.write()
		return goja.Undefined()
	})
	r.installSearchParamsIteration(c)
	c.method("toString", func(p *searchParams, _ goja.FunctionCall) goja.Value {
		return r.rt.ToValue(encodeForm(p.list))
	})
	return c.install()
}

// matcher is that of delete and has: by name, and by value where one is given.
func (r *Realm) matcher(c *class[*searchParams], call goja.FunctionCall, method string) func(formPair) bool {
	name := c.text(call, 0, method)
	if isMissing(call.Argument(1)) {
		return func(e formPair) bool { return e.name == name }
	}
	value := r.text(call.Argument(1))
	return func(e formPair) bool { return e.name == name && e.value == value }
}

func (p *searchParams) set(name, value string) {
	first := slices.IndexFunc(p.list, func(e formPair) bool { return e.name == name })
	if first < 0 {
		p.list = append(p.list, formPair{name, value})
		return
	}
	p.list[first].value = value
	rest := slices.DeleteFunc(p.list[first+1:], func(e formPair) bool { return e.name == name })
	p.list = p.list[:first+1+len(rest)]
}

// compareUTF16 orders as the web does, by code units.
func compareUTF16(a, b string) int {
	return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
}

func (r *Realm) installSearchParamsIteration(c *class[*searchParams]) {
	iterateLive(r, c, func(p *searchParams) []formPair { return p.list }, func(e formPair) (string, goja.Value) {
		return e.name, r.rt.ToValue(e.value)
	})
	c.method("forEach", func(p *searchParams, call goja.FunctionCall) goja.Value {
		f, ok := goja.AssertFunction(call.Argument(0))
		if !ok {
			r.throwType("Failed to execute 'forEach' on 'URLSearchParams': parameter 1 is not of type 'function'.")
		}
		self, this := call.Argument(1), call.This
		for n := 0; n < len(p.list); n++ {
			r.call(f, self, r.rt.ToValue(p.list[n].value), r.rt.ToValue(p.list[n].name), this)
		}
		return goja.Undefined()
	})
}
