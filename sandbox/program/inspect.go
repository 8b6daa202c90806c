package program

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// Bounds of what one console line shows, close to what other consoles show.
const (
	inspectDepth   = 4
	inspectEntries = 100
	inspectBytes   = 64 << 10
)

// formatAll words the arguments of a console method: strings as they are, the rest as a literal that
// a programmer would recognise. A leading string may hold %s, %d, %i, %f, %j, %o, %O, %c and %%.
func (i *isolate) formatAll(args []goja.Value) string {
	w := &inspector{isolate: i}
	if len(args) > 1 {
		if format, ok := args[0].(goja.String); ok && strings.Contains(format.String(), "%") {
			args = w.directives(format.String(), args[1:])
			if len(args) > 0 {
				w.b.WriteByte(' ')
			}
		}
	}
	for n, v := range args {
		if n > 0 {
			w.b.WriteByte(' ')
		}
		w.top(v)
		if w.full() {
			break
		}
	}
	return bounded(w.b.String(), inspectBytes)
}

// inspector words values into b.
type inspector struct {
	isolate *isolate
	b       strings.Builder
	path    []*goja.Object
}

func (w *inspector) full() bool { return w.b.Len() > inspectBytes }

// directives replaces those of format and returns the arguments that are left.
func (w *inspector) directives(format string, args []goja.Value) []goja.Value {
	for {
		before, after, ok := strings.Cut(format, "%")
		w.b.WriteString(before)
		if !ok {
			return args
		}
		if after == "" || !strings.Contains("sdifjoOc%", after[:1]) {
			w.b.WriteByte('%')
			format = after
			continue
		}
		format = after[1:]
		switch {
		case after[0] == '%':
			w.b.WriteByte('%')
			continue
		case len(args) == 0:
			w.b.WriteString("%" + after[:1])
			continue
		case after[0] == 'c':
		case after[0] == 'd', after[0] == 'i', after[0] == 'f':
			w.number(args[0], after[0] == 'i')
		default:
			w.top(args[0])
		}
		args = args[1:]
	}
}

func (w *inspector) number(v goja.Value, whole bool) {
	if _, isObject := v.(*goja.Object); isObject {
		w.b.WriteString("NaN")
		return
	}
	if _, isSymbol := v.(*goja.Symbol); isSymbol || goja.IsBigInt(v) {
		w.value(v)
		return
	}
	if n := v.ToNumber(); whole && !goja.IsNaN(n) && !goja.IsInfinity(n) {
		w.b.WriteString(strconv.FormatInt(n.ToInteger(), 10))
	} else {
		w.b.WriteString(n.String())
	}
}

// top words an argument: a string stands without quotes.
func (w *inspector) top(v goja.Value) {
	if s, ok := v.(goja.String); ok {
		w.b.WriteString(s.String())
		return
	}
	w.value(v)
}

// value words a value. What its getters and proxies throw is worded too.
func (w *inspector) value(v goja.Value) {
	switch v := v.(type) {
	case nil:
		w.b.WriteString("undefined")
	case goja.String:
		text := v.String()
		if len(text) > inspectBytes {
			text = bounded(text, inspectBytes)
		}
		w.b.WriteString(quote(text))
	case *goja.Object:
		if w.isolate.rt.Try(func() { w.object(v) }) != nil {
			w.b.WriteString("[unreadable]")
		}
	case *goja.Symbol:
		w.b.WriteString("Symbol(" + v.String() + ")")
	default:
		w.b.WriteString(v.String())
		if goja.IsBigInt(v) {
			w.b.WriteByte('n')
		}
	}
}

func quote(s string) string {
	q := string(appendJSONString(nil, s))
	if strings.Contains(s, "'") {
		return q
	}
	return "'" + strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`) + "'"
}

func (w *inspector) object(o *goja.Object) {
	class := o.ClassName()
	if _, callable := goja.AssertFunction(o); callable {
		name, _ := o.Get("name").(goja.String)
		if name == nil || name.Length() == 0 {
			w.b.WriteString("[Function]")
		} else {
			w.b.WriteString("[Function: " + name.String() + "]")
		}
		return
	}
	for _, outer := range w.path {
		if outer == o {
			w.b.WriteString("[Circular]")
			return
		}
	}
	switch class {
	case "Error":
		w.b.WriteString(w.errorText(o))
		return
	case "Date":
		w.dateText(o)
		return
	case "RegExp":
		w.b.WriteString("/" + o.Get("source").String() + "/" + o.Get("flags").String())
		return
	case "Number", "String", "Boolean":
		fmt.Fprintf(&w.b, "[%s: %s]", class, o.ToString().String())
		return
	case "Promise":
		w.b.WriteString("Promise {}")
		return
	}
	name := className(o)
	if len(w.path) >= inspectDepth {
		w.b.WriteString("[" + name + "]")
		return
	}
	w.path = append(w.path, o)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	switch {
	case isArray(o):
		w.list(o, "")
	case (name == "Map" || name == "Set") && o.Get("size") != nil:
		w.collection(o, name)
	default:
		if strings.HasSuffix(name, "Array") && o.Get("byteLength") != nil {
			w.list(o, name)
			return
		}
		w.properties(o, name)
	}
}

// className is the name of the object's constructor; "Object" when it has none.
func className(o *goja.Object) string {
	if o.Prototype() == nil {
		return "[Object: null prototype]"
	}
	c, ok := o.Get("constructor").(*goja.Object)
	if !ok {
		return "Object"
	}
	if name, ok := c.Get("name").(goja.String); ok && name.Length() > 0 {
		return bounded(name.String(), 100)
	}
	return "Object"
}

func (w *inspector) errorText(o *goja.Object) string {
	name, message := "Error", ""
	if n, ok := o.Get("name").(goja.String); ok {
		name = n.String()
	}
	if m, ok := o.Get("message").(goja.String); ok {
		message = m.String()
	}
	if message == "" {
		return name
	}
	return bounded(name+": "+message, maxErrorBytes)
}

func (w *inspector) dateText(o *goja.Object) {
	f, ok := goja.AssertFunction(o.Get("toISOString"))
	if ok {
		if v, err := f(o); err == nil {
			w.b.WriteString(v.String())
			return
		}
	}
	w.b.WriteString("Invalid Date")
}

func (w *inspector) list(o *goja.Object, name string) {
	length := o.Get("length").ToInteger()
	if name != "" {
		fmt.Fprintf(&w.b, "%s(%d) ", name, length)
	}
	if length == 0 {
		w.b.WriteString("[]")
		return
	}
	w.b.WriteString("[ ")
	for n := range min(length, inspectEntries) {
		if n > 0 {
			w.b.WriteString(", ")
		}
		w.value(o.Get(strconv.FormatInt(n, 10)))
		if w.full() {
			return
		}
	}
	w.more(length)
	w.b.WriteString(" ]")
}

func (w *inspector) more(length int64) {
	if length > inspectEntries {
		fmt.Fprintf(&w.b, ", ... %d more", length-inspectEntries)
	}
}

// collection words a Map or Set by its own iterator.
func (w *inspector) collection(o *goja.Object, class string) {
	fmt.Fprintf(&w.b, "%s(%d) {", class, o.Get("size").ToInteger())
	n := 0
	w.isolate.rt.ForOf(o, func(v goja.Value) bool {
		if n++; n > inspectEntries || w.full() {
			w.b.WriteString(", ...")
			return false
		}
		if n > 1 {
			w.b.WriteByte(',')
		}
		w.b.WriteByte(' ')
		if pair, ok := v.(*goja.Object); ok && class == "Map" {
			w.value(pair.Get("0"))
			w.b.WriteString(" => ")
			v = pair.Get("1")
		}
		w.value(v)
		return true
	})
	if n > 0 {
		w.b.WriteByte(' ')
	}
	w.b.WriteByte('}')
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][\w$]*$`)

func (w *inspector) properties(o *goja.Object, name string) {
	if name != "Object" {
		w.b.WriteString(name + " ")
	}
	keys := o.Keys()
	if len(keys) == 0 {
		w.b.WriteString("{}")
		return
	}
	w.b.WriteString("{ ")
	for n, key := range keys[:min(len(keys), inspectEntries)] {
		if n > 0 {
			w.b.WriteString(", ")
		}
		if plainKey.MatchString(key) {
			w.b.WriteString(key)
		} else {
			w.b.WriteString(quote(bounded(key, 1000)))
		}
		w.b.WriteString(": ")
		w.value(o.Get(key))
		if w.full() {
			return
		}
	}
	w.more(int64(len(keys)))
	w.b.WriteString(" }")
}
