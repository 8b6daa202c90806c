package webapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/compatibility"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// Options configure the globals.
type Options struct {
	// Fetch sends a request out. nil refuses, with an error. It is called from any goroutine.
	Fetch func(ctx context.Context, r *http.Request) (*http.Response, error)
	// Cache is behind caches; nil has its methods reject.
	Cache Cache
	// MaxBodyBytes bounds a body that is read as a whole; the default is 128 MiB.
	MaxBodyBytes int64
	// Env makes env, once an isolate, after its top level has run; nil makes an empty one.
	Env func(*Realm) (*goja.Object, error)
	// Exports makes ctx.exports, once an isolate, at its first event; nil leaves it out.
	Exports func(*Realm) (*goja.Object, error)
}

// Realm is the web platform of one isolate. Its methods run on the isolate's goroutine.
type Realm struct {
	isolate *isolate.Isolate
	rt      *goja.Runtime
	options Options
	// brand is the property that leads from an object of ours to its Go value.
	brand *goja.Symbol

	headers      *class[*Headers]
	cryptoKey    *class[*cryptoKey]
	cryptoClass  *class[*cryptoObject]
	request      *class[*Request]
	response     *class[*Response]
	url          *class[*URL]
	searchParams *class[*searchParams]
	execution    *class[*executionContext]
	encoder      *class[*textEncoder]
	decoder      *class[*textDecoder]

	blob     *class[*blob]
	file     *class[*blob]
	formData *class[*formData]

	dated dated
	// on are the compatibility flags that are on.
	on        map[string]bool
	iterators iterators
	prelude   prelude
	intrinsic intrinsics
	env       *goja.Object
	exports   *goja.Object
	handlers  map[string]*handler
	// inspectSymbol is the name of the methods by which objects say how they are inspected.
	inspectSymbol *goja.Symbol
	// target takes the listeners of the global object; nil before there is one.
	target *goja.Object
}

// dated is what depends on the script's compatibility date and flags.
type dated struct {
	// tags is whether objects of the platform name their kinds.
	tags bool
	// stripBOM is whether the text of a body loses its byte order mark.
	stripBOM bool
	// iterables is whether a body may be any iterable.
	iterables bool
	// cacheOption is whether requests take the option cache.
	cacheOption bool
	// structs is whether dictionaries that the platform makes have their missing members, as undefined.
	structs bool
	// byobView is whether a read into a buffer gives the view back at the end.
	byobView bool
	// writer is whether the promise ready of a writer that was released rejects.
	writer bool
	// upperMethods is whether every method of a request is turned into capitals.
	upperMethods bool
	// standardURL is whether a request's URL is parsed as the standard has it.
	standardURL bool
	// blobTypes is whether the type of a body's blob is normalized.
	blobTypes bool
	// language is whether navigator tells languages.
	language bool
}

func datedBy(c isolate.Compatibility) dated {
	return dated{
		structs:      c.Since("2025-12-03", "enable_fast_jsg_struct", "disable_fast_jsg_struct"),
		byobView:     c.Since("2024-05-13", "internal_stream_byob_return_view", "internal_stream_byob_return_undefined"),
		writer:       c.Since("2026-03-24", "writable_stream_spec_compliant_writer", "no_writable_stream_spec_compliant_writer"),
		upperMethods: c.Since("2024-10-14", "upper_case_all_http_methods", "no_upper_case_all_http_methods"),
		language:     c.Since("2025-05-19", "enable_navigator_language", "disable_navigator_language"),
		blobTypes:    c.Since("2024-06-03", "blob_standard_mime_type", "blob_legacy_mime_type"),
		standardURL:  c.Since("2024-06-03", "fetch_standard_url", "fetch_legacy_url"),
		tags:         c.Since("2024-09-26", "set_tostring_tag", "do_not_set_tostring_tag"),
		stripBOM:     c.Since("2026-01-13", "strip_bom_in_read_all_text", "do_not_strip_bom_in_read_all_text"),
		iterables:    c.Since("2026-02-19", "fetch_iterable_type_support", "no_fetch_iterable_type_support"),
		cacheOption:  c.Since("2024-11-11", "cache_option_enabled", "cache_option_disabled"),
	}
}

type realmKey struct{}

// Install returns what installs the globals; it belongs into isolate.Options.Install.
func Install(o Options) func(*isolate.Isolate) error {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 128 << 20
	}
	return func(i *isolate.Isolate) error {
		r := &Realm{isolate: i, rt: i.Runtime(), options: o, brand: goja.NewSymbol("tandem"), handlers: map[string]*handler{}}
		c := i.Compatibility()
		r.dated, r.on = datedBy(c), compatibility.Resolve(c.Date, c.Flags)
		i.SetValue(realmKey{}, r)
		for _, install := range []func() error{
			r.takeIntrinsics, r.installIterators, r.installHeaders, r.installURL, r.installBodies, r.installEncoding, r.installCrypto,
			r.installTimers, r.installConsole, r.installPrelude, r.installMisc, r.installIntl, r.installCache,
			r.installFetch, r.installExecution,
		} {
			if err := install(); err != nil {
				return fmt.Errorf("install the web platform: %w", err)
			}
		}
		return nil
	}
}

// Of returns the realm of an isolate that has one.
func Of(i *isolate.Isolate) *Realm {
	r, _ := i.Value(realmKey{}).(*Realm)
	return r
}

// Isolate returns the isolate.
func (r *Realm) Isolate() *isolate.Isolate { return r.isolate }

// intrinsics are the language's own, taken before a script could replace them.
type intrinsics struct {
	arrayValues, jsonStringify, isView, functionText goja.Callable
	getTime, mapEntries, setValues, mapSet, setAdd   goja.Callable
	describe, toISOString, freeze                    goja.Callable
	// unbox are the methods valueOf of the classes of boxed values.
	unbox           map[string]goja.Callable
	classes         map[string]*goja.Object
	objectPrototype *goja.Object
}

func (r *Realm) takeIntrinsics() error {
	in := &r.intrinsic
	in.classes = map[string]*goja.Object{}
	for _, name := range []string{
		"Object", "Array", "Date", "RegExp", "Map", "Set", "Error", "EvalError", "RangeError", "ReferenceError",
		"SyntaxError", "TypeError", "URIError", "ArrayBuffer", "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray",
		"Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array", "BigInt64Array",
		"BigUint64Array",
	} {
		in.classes[name] = r.rt.Get(name).(*goja.Object)
	}
	method := func(path ...string) goja.Callable {
		o := r.rt.GlobalObject()
		for _, name := range path {
			o = o.Get(name).(*goja.Object)
		}
		f, _ := goja.AssertFunction(o)
		return f
	}
	in.objectPrototype = in.classes["Object"].Get("prototype").(*goja.Object)
	in.arrayValues = method("Array", "prototype", "values")
	in.jsonStringify = method("JSON", "stringify")
	in.isView = method("ArrayBuffer", "isView")
	in.functionText = method("Function", "prototype", "toString")
	in.getTime = method("Date", "prototype", "getTime")
	in.mapEntries, in.mapSet = method("Map", "prototype", "entries"), method("Map", "prototype", "set")
	in.setValues, in.setAdd = method("Set", "prototype", "values"), method("Set", "prototype", "add")
	in.describe, in.freeze = method("Object", "getOwnPropertyDescriptor"), method("Object", "freeze")
	in.toISOString = method("Date", "prototype", "toISOString")
	if f := method("Symbol", "for"); f != nil {
		r.inspectSymbol, _ = r.call(f, goja.Undefined(), r.rt.ToValue("nodejs.util.inspect.custom")).(*goja.Symbol)
	}
	in.unbox = map[string]goja.Callable{}
	for _, name := range []string{"Number", "String", "Boolean", "BigInt"} {
		in.unbox[name] = method(name, "prototype", "valueOf")
	}
	return nil
}

// unbox returns what a boxed value is around.
func (r *Realm) unbox(o *goja.Object) goja.Value { return r.call(r.intrinsic.unbox[boxedClass(o)], o) }

// isNative reports whether an object is of one of our classes.
func (r *Realm) isNative(o *goja.Object) bool {
	value, ok := o.GetSymbol(r.brand).(native)
	return ok && value.slot().object == o || r.isPreludes(o)
}

// isPreludes reports whether an object is of one of the prelude's classes.
func (r *Realm) isPreludes(o *goja.Object) bool {
	for p := o.Prototype(); p != nil; p = p.Prototype() {
		if r.prelude.prototypes[p] {
			return true
		}
	}
	return false
}

// className is the name of an object's class; "Object" when it tells none.
func (r *Realm) className(o *goja.Object) string {
	if c, ok := o.Get("constructor").(*goja.Object); ok {
		if name, ok := c.Get("name").(goja.String); ok && name.Length() > 0 {
			return name.String()
		}
	}
	return "Object"
}

// iterate returns the iterator of an array of these.
func (r *Realm) iterate(values []any) goja.Value {
	return r.call(r.intrinsic.arrayValues, r.rt.NewArray(values...))
}

// call calls a function and throws what it throws.
func (r *Realm) call(f goja.Callable, this goja.Value, args ...goja.Value) goja.Value {
	v, err := f(this, args...)
	if err != nil {
		panic(err)
	}
	return v
}

// throwType throws a TypeError.
func (r *Realm) throwType(format string, args ...any) { r.isolate.Throw("TypeError", format, args...) }

// newBytes returns a Uint8Array over b, which it keeps.
func (r *Realm) newBytes(b []byte) *goja.Object {
	o, err := r.rt.New(r.intrinsic.classes["Uint8Array"], r.rt.ToValue(r.rt.NewArrayBuffer(b)))
	if err != nil {
		panic(err)
	}
	return o
}

func isMissing(v goja.Value) bool { return v == nil || goja.IsUndefined(v) }

func isNullish(v goja.Value) bool { return v == nil || goja.IsUndefined(v) || goja.IsNull(v) }
