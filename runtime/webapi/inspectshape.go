package webapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// constructorName is the name of the first class on an object's way up; it reports false when there is none.
func (in *inspector) constructorName(o *goja.Object) (string, bool) {
	for p := o; p != nil; p = p.Prototype() {
		d := in.realm.describe(p, in.realm.rt.ToValue("constructor"))
		if d == nil {
			continue
		}
		c, ok := d.Get("value").(*goja.Object)
		if !ok {
			continue
		}
		name, ok := c.Get("name").(goja.String)
		if ok && name.Length() > 0 && in.realm.rt.InstanceOf(o, c) {
			return name.String(), true
		}
	}
	return "", false
}

// describe is Object.getOwnPropertyDescriptor; nil when there is no such property.
func (r *Realm) describe(o *goja.Object, key goja.Value) *goja.Object {
	d, _ := r.call(r.intrinsic.describe, goja.Undefined(), o, key).(*goja.Object)
	return d
}

// inheritedTag is an object's tag unless it is a property that is shown.
func (in *inspector) inheritedTag(o *goja.Object) string {
	tag := in.realm.tagOf(o)
	if tag == "" {
		return ""
	}
	if d := in.realm.describe(o, goja.SymToStringTag); d != nil && d.Get("enumerable").ToBoolean() {
		return ""
	}
	return tag
}

// prefix is what stands before an object's braces: its class, and its tag where that says something else.
func (in *inspector) prefix(o *goja.Object, fallback, size string) string {
	name, ok := in.constructorName(o)
	tag := in.inheritedTag(o)
	if !ok {
		if tag != "" && tag != fallback {
			return fmt.Sprintf("[%s%s: null prototype] [%s] ", fallback, size, tag)
		}
		return fmt.Sprintf("[%s%s: null prototype] ", fallback, size)
	}
	if tag != "" && tag != name && !in.realm.isNative(o) {
		return fmt.Sprintf("%s%s [%s] ", name, size, tag)
	}
	return name + size + " "
}

// fallback is the class of an object whose prototype tells none.
func (in *inspector) fallback(o *goja.Object) string {
	switch in.realm.kindOf(o) {
	case kindArray:
		return "Array"
	case kindMap:
		return "Map"
	case kindSet:
		return "Set"
	}
	return "Object"
}

// shapeOf says how an object is laid out. It reports true when base is the whole of it.
func (in *inspector) shapeOf(o *goja.Object) (s shape, done bool) {
	kind := in.realm.kindOf(o)
	if kind != kindFunction && in.realm.isNative(o) {
		s = in.nativeShape(o)
		return s, s.open == ""
	}
	s = shape{open: "{", close: "}", keys: in.keys(o, kind == kindArray || kind == kindView)}
	if c, ok := in.container(o, kind, s); ok {
		return c, len(c.keys) == 0 && c.entries == nil
	}
	switch kind {
	case kindFunction:
		s.base = in.functionBase(o)
	case kindRegExp:
		s.base = "/" + o.Get("source").String() + "/" + o.Get("flags").String()
	case kindDate:
		s.base = in.dateText(o)
	case kindError:
		s.base, s.keys = in.errorBase(o, s.keys)
	case kindBoxed:
		s.base = "[" + boxedClass(o) + ": " + in.primitive(in.realm.unbox(o)) + "]"
		if o.ClassName() == "String" {
			s.keys = slices.DeleteFunc(s.keys, func(k property) bool { _, index := arrayIndex(k.name); return index })
		}
	case kindWeak:
		s.open = in.prefix(o, "WeakMap", "") + "{"
		s.entries = func(int) []string { return []string{"<items unknown>"} }
		return s, false
	default:
		return in.plainShape(o, s)
	}
	return s, len(s.keys) == 0
}

func (in *inspector) plainShape(o *goja.Object, s shape) (shape, bool) {
	name, named := in.constructorName(o)
	tag := in.inheritedTag(o)
	if named && name == "Object" && tag == "" {
		if len(s.keys) == 0 {
			s.base = "{}"
			return s, true
		}
		return s, false
	}
	s.open = in.prefix(o, "Object", "") + "{"
	if len(s.keys) == 0 {
		s.base = s.open + "}"
		return s, true
	}
	return s, false
}

// container is an object that holds more than properties.
func (in *inspector) container(o *goja.Object, kind kind, s shape) (shape, bool) {
	switch kind {
	case kindArray:
		return in.arrayShape(o, s), true
	case kindSet, kindMap:
		return in.collectionShape(o, kind, s), true
	case kindView:
		return in.viewShape(o, s), true
	case kindArrayBuffer:
		s.open = in.prefix(o, "ArrayBuffer", "") + "{"
		s.entries = func(int) []string { return in.bufferEntries(o) }
		return s, true
	case kindPromise:
		s.open = in.prefix(o, "Promise", "") + "{"
		s.entries = func(depth int) []string { return in.promiseEntries(o, depth) }
		return s, true
	}
	return s, false
}

func (in *inspector) arrayShape(o *goja.Object, s shape) shape {
	length := o.Get("length").ToInteger()
	s.open, s.close, s.array = "[", "]", true
	if name, ok := in.constructorName(o); !ok || name != "Array" || in.inheritedTag(o) != "" {
		s.open = in.prefix(o, "Array", fmt.Sprintf("(%d)", length)) + "["
	}
	if length == 0 && len(s.keys) == 0 && !in.Hidden {
		s.base = s.open + "]"
		return s
	}
	s.entries = func(depth int) []string { return in.arrayEntries(o, length, depth) }
	return s
}

func (in *inspector) arrayEntries(o *goja.Object, length int64, depth int) []string {
	var out []string
	at := int64(0)
	for at < length && len(out) < in.MaxEntries {
		v := o.Get(strconv.FormatInt(at, 10))
		if v != nil {
			out = append(out, in.nested(v, depth))
			at++
			continue
		}
		next := in.nextIndex(o, at, length)
		if holes := next - at; holes == 1 {
			out = append(out, "<1 empty item>")
		} else {
			out = append(out, fmt.Sprintf("<%d empty items>", holes))
		}
		at = next
	}
	if at < length {
		out = append(out, moreText(length-at))
	}
	if in.Hidden {
		out = append(out, fmt.Sprintf("[length]: %d", length))
	}
	return out
}

// nextIndex is the first index behind at that an array has.
func (in *inspector) nextIndex(o *goja.Object, at, length int64) int64 {
	for _, key := range o.Keys() {
		if n, ok := arrayIndex(key); ok && int64(n) > at {
			return int64(n)
		}
	}
	return length
}

func moreText(n int64) string {
	if n == 1 {
		return "... 1 more item"
	}
	return fmt.Sprintf("... %d more items", n)
}

func (in *inspector) collectionShape(o *goja.Object, kind kind, s shape) shape {
	size := o.Get("size").ToInteger()
	fallback, list := "Map", in.realm.intrinsic.mapEntries
	if kind == kindSet {
		fallback, list = "Set", in.realm.intrinsic.setValues
	}
	s.open = in.prefix(o, fallback, fmt.Sprintf("(%d)", size)) + "{"
	if size == 0 && len(s.keys) == 0 {
		s.base = s.open + "}"
		return s
	}
	s.entries = func(depth int) []string {
		var out []string
		in.realm.rt.ForOf(in.realm.call(list, o), func(v goja.Value) bool {
			if len(out) >= in.MaxEntries {
				out = append(out, moreText(size-int64(in.MaxEntries)))
				return false
			}
			out = append(out, in.collectionEntry(v, kind, depth))
			return true
		})
		return out
	}
	return s
}

func (in *inspector) collectionEntry(v goja.Value, kind kind, depth int) string {
	if kind == kindSet {
		return in.nested(v, depth)
	}
	pair := v.(*goja.Object)
	return in.nested(pair.Get("0"), depth) + " => " + in.nested(pair.Get("1"), depth)
}

func (in *inspector) viewShape(o *goja.Object, s shape) shape {
	if tag := in.realm.tagOf(o); tag == "DataView" {
		s.open = in.prefix(o, tag, "") + "{"
		s.entries = func(depth int) []string {
			return []string{
				"byteLength: " + o.Get("byteLength").String(), "byteOffset: " + o.Get("byteOffset").String(),
				"buffer: " + in.nested(o.Get("buffer"), depth),
			}
		}
		return s
	}
	length := o.Get("length").ToInteger()
	s.open, s.close, s.array = in.prefix(o, in.realm.tagOf(o), fmt.Sprintf("(%d)", length))+"[", "]", true
	if length == 0 && len(s.keys) == 0 {
		s.base = s.open + "]"
		return s
	}
	s.entries = func(depth int) []string {
		out := make([]string, 0, min(length, int64(in.MaxEntries))+1)
		for n := range min(length, int64(in.MaxEntries)) {
			out = append(out, in.nested(o.Get(strconv.FormatInt(n, 10)), depth))
		}
		if length > int64(in.MaxEntries) {
			out = append(out, moreText(length-int64(in.MaxEntries)))
		}
		return out
	}
	return s
}

func (in *inspector) bufferEntries(o *goja.Object) []string {
	b := o.Export().(goja.ArrayBuffer)
	if b.Detached() {
		return []string{"(detached)", "byteLength: 0"}
	}
	data := b.Bytes()
	const shown = 50
	text := fmt.Sprintf("% x", data[:min(len(data), shown)])
	if more := len(data) - shown; more == 1 {
		text += " ... 1 more byte"
	} else if more > 1 {
		text += fmt.Sprintf(" ... %d more bytes", more)
	}
	return []string{"[Uint8Contents]: <" + text + ">", fmt.Sprintf("byteLength: %d", len(data))}
}

func (in *inspector) promiseEntries(o *goja.Object, depth int) []string {
	p := o.Export().(*goja.Promise)
	switch p.State() {
	case goja.PromiseStatePending:
		return []string{"<pending>"}
	case goja.PromiseStateRejected:
		return []string{"<rejected> " + in.nested(p.Result(), depth)}
	}
	return []string{in.nested(p.Result(), depth)}
}

// nested words a value within another one.
func (in *inspector) nested(v goja.Value, depth int) string {
	in.indent += 2
	defer func() { in.indent -= 2 }()
	return in.format(v, depth)
}

func (in *inspector) dateText(o *goja.Object) string {
	if f := in.realm.call(in.realm.intrinsic.getTime, o).ToFloat(); f != f {
		return "Invalid Date"
	}
	return in.realm.call(in.realm.intrinsic.toISOString, o).String()
}

var classHead = regexp.MustCompile(`^class\b`)

// functionBase words a function by its kind and name.
func (in *inspector) functionBase(o *goja.Object) string {
	source := in.realm.call(in.realm.intrinsic.functionText, o).String()
	name := ""
	if n, ok := o.Get("name").(goja.String); ok {
		name = n.String()
	}
	if classHead.MatchString(source) {
		base := "[class (anonymous)"
		if name != "" {
			base = "[class " + name
		}
		if parent := o.Prototype(); parent != nil {
			if n, ok := parent.Get("name").(goja.String); ok && n.Length() > 0 {
				base += " extends " + n.String()
			}
		}
		return base + "]"
	}
	kind := "Function"
	if c, ok := in.constructorName(o); ok && (c == "AsyncFunction" || c == "GeneratorFunction") {
		kind = c
	}
	if name == "" {
		return "[" + kind + " (anonymous)]"
	}
	return "[" + kind + ": " + strings.TrimSpace(name) + "]"
}
