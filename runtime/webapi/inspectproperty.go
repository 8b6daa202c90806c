package webapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// property is one that is shown.
type property struct {
	name   string
	symbol *goja.Symbol
	// hidden ones are shown in brackets, though they are not enumerable.
	hidden bool
	// value is set when it is not the object's own.
	value goja.Value
}

func (p property) key(r *Realm) goja.Value {
	if p.symbol != nil {
		return p.symbol
	}
	return r.rt.ToValue(p.name)
}

// keys are the properties of an object that are shown; of an array, those that are no index.
func (in *inspector) keys(o *goja.Object, indexed bool) []property {
	var out []property
	for _, name := range o.Keys() {
		if indexed {
			if _, ok := arrayIndex(name); ok {
				continue
			}
		}
		out = append(out, property{name: name})
	}
	if in.Hidden && in.realm.kindOf(o) == kindFunction {
		for _, name := range []string{"length", "name"} {
			out = append(out, property{name: name, hidden: true})
		}
	}
	for _, s := range o.Symbols() {
		if s == in.realm.brand {
			continue
		}
		if d := in.realm.describe(o, s); d != nil && d.Get("enumerable").ToBoolean() {
			out = append(out, property{symbol: s})
		}
	}
	if in.Sorted {
		slices.SortStableFunc(out, func(a, b property) int { return strings.Compare(a.name, b.name) })
	}
	return out
}

var plainKey = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z_0-9]*$`)

// property words a property with its key.
func (in *inspector) property(o *goja.Object, p property, depth int) string {
	key := ""
	switch {
	case p.symbol != nil:
		key = symbolText(p.symbol)
	case p.hidden:
		key = "[" + p.name + "]"
	case plainKey.MatchString(p.name):
		key = p.name
	default:
		key = quoteJS(p.name)
	}
	if p.value != nil {
		return key + ": " + in.nested(p.value, depth)
	}
	d := in.realm.describe(o, p.key(in.realm))
	if d == nil {
		return key + ": undefined"
	}
	getter, setter := !isMissing(d.Get("get")), !isMissing(d.Get("set"))
	switch {
	case getter && setter:
		return key + ": " + in.got(o, d, "[Getter/Setter", depth)
	case getter:
		return key + ": " + in.got(o, d, "[Getter", depth)
	case setter:
		return key + ": [Setter]"
	}
	return key + ": " + in.nested(d.Get("value"), depth)
}

// got words a getter, with what it gives if that is wanted.
func (in *inspector) got(o, descriptor *goja.Object, label string, depth int) string {
	get, ok := goja.AssertFunction(descriptor.Get("get"))
	if !ok || !in.Getters {
		return label + "]"
	}
	var v goja.Value
	if thrown := in.realm.rt.Try(func() { v = in.realm.call(get, o) }); thrown != nil {
		return label + ": <Inspection threw (" + in.realm.isolate.NewException(thrown.Value()).Message + ")>]"
	}
	if _, isObject := v.(*goja.Object); isObject {
		return label + "] " + in.nested(v, depth)
	}
	return label + ": " + in.nested(v, depth) + "]"
}

var errorHead = regexp.MustCompile(`^([A-Z][a-zA-Z0-9_]*)(:|\n\s+at|$)`)

// errorBase words an error by its stack, and returns the properties that remain to be shown.
func (in *inspector) errorBase(o *goja.Object, keys []property) (string, []property) {
	x := in.realm.isolate.NewException(o)
	stack := x.Stack
	if name, ok := in.constructorName(o); ok {
		head := errorHead.FindStringSubmatch(stack)
		if head != nil && head[1] != name && !strings.Contains(head[1], name) && !strings.Contains(firstLine(stack), name) {
			stack = name + " [" + head[1] + "]" + stack[len(head[1]):]
			if x.Name != head[1] {
				stack = x.Stack
			}
		}
	}
	if at := strings.Index(stack, "\n    at "); at < 0 {
		stack = "[" + stack + "]"
	}
	if in.indent > 0 {
		stack = strings.ReplaceAll(stack, "\n", "\n"+strings.Repeat(" ", in.indent))
	}
	keys = slices.DeleteFunc(keys, func(p property) bool {
		return p.name == "stack" || p.name == "message" && strings.Contains(stack, x.Message) || p.name == "name"
	})
	for _, name := range []string{"cause", "errors"} {
		d := in.realm.describe(o, in.realm.rt.ToValue(name))
		if d != nil && !d.Get("enumerable").ToBoolean() {
			keys = append(keys, property{name: name, hidden: true})
		}
	}
	return stack, keys
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// nativeShape lays out an object of the platform: what its attributes give.
func (in *inspector) nativeShape(o *goja.Object) shape {
	r := in.realm
	s := shape{close: "}"}
	size := -1
	if h, ok := r.headers.of(o); ok {
		list := h.sorted()
		size = len(list)
		s.entries = func(int) []string {
			out := make([]string, 0, size+1)
			for _, e := range list {
				out = append(out, quoteJS(e.name)+" => "+quoteJS(e.value))
			}
			return append(out, fmt.Sprintf("[immutable]: %t", h.immutable))
		}
	} else if p, ok := r.searchParams.of(o); ok {
		size = len(p.list)
		s.entries = func(int) []string {
			var out []string
			for _, e := range p.list {
				out = append(out, quoteJS(e.name)+" => "+quoteJS(e.value))
			}
			return out
		}
	} else if f, ok := r.formData.of(o); ok {
		size = len(f.list)
		s.entries = func(depth int) []string {
			var out []string
			for _, e := range f.list {
				out = append(out, quoteJS(e.name)+" => "+in.nested(r.entryValue(e), depth))
			}
			return out
		}
	}
	text := ""
	if size >= 0 {
		text = fmt.Sprintf("(%d)", size)
	} else {
		s.keys = in.attributes(o)
	}
	s.keys = append(s.keys, in.keys(o, false)...)
	s.open = in.prefix(o, "Object", text) + "{"
	if size == 0 && r.isEmptyList(o) && len(s.keys) == 0 || size < 0 && len(s.keys) == 0 {
		s.entries, s.base = nil, s.open+"}"
		s.open, s.close = "", ""
	}
	return s
}

func (r *Realm) isEmptyList(o *goja.Object) bool {
	_, isHeaders := r.headers.of(o)
	return !isHeaders
}

// attributes are the accessors of an object's classes, with their values, and what is known of a stream.
func (in *inspector) attributes(o *goja.Object) []property {
	var out []property
	for p := o.Prototype(); p != nil && p != in.realm.intrinsic.objectPrototype; p = p.Prototype() {
		for _, name := range p.GetOwnPropertyNames() {
			d := in.realm.describe(p, in.realm.rt.ToValue(name))
			get, ok := goja.AssertFunction(d.Get("get"))
			if !ok || !d.Get("enumerable").ToBoolean() {
				continue
			}
			v, err := get(o)
			if err != nil {
				continue
			}
			out = append(out, property{name: name, value: v})
		}
	}
	if in.realm.prelude.loaded["streams"] == nil {
		return out
	}
	extra, ok := in.realm.streamOp("describe", o).(*goja.Object)
	if ok {
		for _, name := range extra.Keys() {
			out = append(out, property{name: name, hidden: true, value: extra.Get(name)})
		}
	}
	return out
}
