package webapi

import (
	"math"
	"reflect"
	"strings"

	"github.com/dop251/goja"
)

// InspectOptions are those of Node's util.inspect.
type InspectOptions struct {
	// Depth is how many levels of objects are shown below the first.
	Depth int
	// Width is the number of columns beyond which an object is broken into lines.
	Width int
	// Compact is how many levels at most may share a line; 0 breaks all.
	Compact int
	// MaxEntries and MaxString bound what is shown of an array or collection, and of a string in bytes.
	MaxEntries, MaxString int
	// Hidden shows properties that are not enumerable, of arrays and functions.
	Hidden bool
	// Sorted shows properties in the order of their names.
	Sorted bool
	// Getters shows the values of getters.
	Getters bool
	// Plain leaves out what objects say of themselves.
	Plain bool
}

func (r *Realm) newInspector() inspector {
	return inspector{realm: r, InspectOptions: InspectOptions{
		Depth: inspectDepth, Width: inspectWidth, Compact: inspectCompact, MaxEntries: inspectEntries,
		MaxString: inspectString,
	}}
}

// InspectWith is Inspect with options as a script gives them to util.inspect.
func (r *Realm) InspectWith(v, options goja.Value) string {
	in := r.newInspector()
	if o, ok := options.(*goja.Object); ok {
		in.take(o)
	}
	return in.format(v, 0)
}

// take reads a script's options.
func (o *InspectOptions) take(from *goja.Object) {
	number := func(name string, to *int) {
		switch v := from.Get(name); {
		case isMissing(v):
		case goja.IsNull(v):
			*to = math.MaxInt32
		default:
			if f := v.ToFloat(); f == f {
				*to = int(math.Max(-1, math.Min(f, math.MaxInt32)))
			}
		}
	}
	number("depth", &o.Depth)
	number("breakLength", &o.Width)
	number("maxArrayLength", &o.MaxEntries)
	number("maxStringLength", &o.MaxString)
	if v := from.Get("compact"); !isNullish(v) && v.ExportType() == reflect.TypeFor[bool]() {
		// Without compact, each property has a line.
		o.Compact = 0
		if v.ToBoolean() {
			o.Compact = inspectCompact
		}
	} else {
		number("compact", &o.Compact)
	}
	flag := func(name string) bool {
		v := from.Get(name)
		return !isMissing(v) && v.ToBoolean()
	}
	o.Hidden, o.Sorted, o.Getters = flag("showHidden"), flag("sorted"), flag("getters")
	if v := from.Get("customInspect"); !isMissing(v) {
		o.Plain = !v.ToBoolean()
	}
}

// toObject gives options to what an object says of itself.
func (o *InspectOptions) toObject(r *Realm) *goja.Object {
	out := r.rt.NewObject()
	for name, v := range map[string]any{
		"depth": o.Depth, "breakLength": o.Width, "compact": o.Compact, "maxArrayLength": o.MaxEntries,
		"maxStringLength": o.MaxString, "showHidden": o.Hidden, "sorted": o.Sorted, "customInspect": !o.Plain, "colors": false,
	} {
		_ = out.Set(name, v)
	}
	_ = out.Set("stylize", func(call goja.FunctionCall) goja.Value { return r.rt.ToValue(r.text(call.Argument(0))) })
	return out
}

// customText is what an object says of itself, by a method called Symbol.for("nodejs.util.inspect.custom").
func (in *inspector) customText(o *goja.Object, depth int) (string, bool) {
	r := in.realm
	if in.Plain || r.inspectSymbol == nil {
		return "", false
	}
	f, ok := goja.AssertFunction(o.GetSymbol(r.inspectSymbol))
	if !ok {
		return "", false
	}
	options := in.InspectOptions
	options.Depth = in.Depth - depth
	v := r.call(f, o, r.rt.ToValue(options.Depth), options.toObject(r), r.InspectFunction())
	if v == goja.Value(o) {
		return "", false
	}
	if s, ok := v.(goja.String); ok {
		return strings.ReplaceAll(s.String(), "\n", "\n"+strings.Repeat(" ", in.indent)), true
	}
	return in.format(v, depth), true
}

// InspectFunction returns InspectWith as a function of the language.
func (r *Realm) InspectFunction() goja.Value {
	return r.isolate.Function("inspect", 2, func(call goja.FunctionCall) goja.Value {
		return r.rt.ToValue(r.InspectWith(call.Argument(0), call.Argument(1)))
	})
}

// Kind names what an object is, whatever its prototype says: Array, Function, Date, RegExp, Error, Boxed, Map, Set,
// ArrayBuffer, View, Promise, Proxy, Weak or Object.
func (r *Realm) Kind(o *goja.Object) string {
	switch r.kindOf(o) {
	case kindArray:
		return "Array"
	case kindFunction:
		return "Function"
	case kindDate:
		return "Date"
	case kindRegExp:
		return "RegExp"
	case kindError:
		return "Error"
	case kindBoxed:
		return "Boxed"
	case kindMap:
		return "Map"
	case kindSet:
		return "Set"
	case kindArrayBuffer:
		return "ArrayBuffer"
	case kindView:
		return "View"
	case kindPromise:
		return "Promise"
	case kindProxy:
		return "Proxy"
	case kindWeak:
		return "Weak"
	}
	return "Object"
}

// BoxedClass is the class of an object of kind Boxed.
func (r *Realm) BoxedClass(o *goja.Object) string { return boxedClass(o) }
