package webapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// Options configure the globals.
type Options struct {
	// Fetch sends a request out. nil refuses, with an error. It is called from any goroutine.
	Fetch func(ctx context.Context, r *http.Request) (*http.Response, error)
	// MaxBodyBytes bounds a body that is read as a whole; the default is 128 MiB.
	MaxBodyBytes int64
	// Env makes env, once an isolate, after its top level has run; nil makes an empty one.
	Env func(*Realm) (*goja.Object, error)
}

// Realm is the web platform of one isolate. Its methods run on the isolate's goroutine.
type Realm struct {
	isolate *isolate.Isolate
	rt      *goja.Runtime
	options Options
	// brand is the property that leads from an object of ours to its Go value.
	brand *goja.Symbol

	headers      *class[*Headers]
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

	prelude   prelude
	intrinsic intrinsics
	env       *goja.Object
	crypto    *goja.Object
	handlers  map[string]*handler
}

type realmKey struct{}

// Install returns what installs the globals; it belongs into isolate.Options.Install.
func Install(o Options) func(*isolate.Isolate) error {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 128 << 20
	}
	return func(i *isolate.Isolate) error {
		r := &Realm{isolate: i, rt: i.Runtime(), options: o, brand: goja.NewSymbol("tandem"), handlers: map[string]*handler{}}
		i.SetValue(realmKey{}, r)
		for _, install := range []func() error{
			r.takeIntrinsics, r.installHeaders, r.installURL, r.installBodies, r.installEncoding, r.installCrypto,
			r.installTimers, r.installConsole, r.installPrelude, r.installMisc, r.installFetch, r.installExecution,
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
	arrayValues   goja.Callable
	jsonStringify goja.Callable
	uint8Array    *goja.Object
	arrayBuffer   *goja.Object
	isView        goja.Callable
	getNames      goja.Callable
}

func (r *Realm) takeIntrinsics() error {
	lookup := func(names ...string) *goja.Object {
		o := r.rt.GlobalObject()
		for _, name := range names {
			o = o.Get(name).(*goja.Object)
		}
		return o
	}
	in := &r.intrinsic
	in.arrayValues, _ = goja.AssertFunction(lookup("Array", "prototype", "values"))
	in.jsonStringify, _ = goja.AssertFunction(lookup("JSON", "stringify"))
	in.uint8Array = lookup("Uint8Array")
	in.arrayBuffer = lookup("ArrayBuffer")
	in.isView, _ = goja.AssertFunction(lookup("ArrayBuffer", "isView"))
	return nil
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

// bytesOf returns the bytes of an ArrayBuffer or a view of one, which are the script's own: whoever keeps them copies.
func (r *Realm) bytesOf(v goja.Value) ([]byte, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	switch o.ClassName() {
	case "ArrayBuffer":
		b, ok := o.Export().(goja.ArrayBuffer)
		return b.Bytes(), ok
	case "Object", "DataView":
	default:
		return nil, false
	}
	if !r.call(r.intrinsic.isView, goja.Undefined(), o).ToBoolean() {
		return nil, false
	}
	buffer, ok := o.Get("buffer").Export().(goja.ArrayBuffer)
	if !ok {
		return nil, false
	}
	offset, length := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
	b := buffer.Bytes()
	if offset < 0 || length < 0 || offset+length > int64(len(b)) {
		return nil, false
	}
	return b[offset : offset+length], true
}

// newBytes returns a Uint8Array over b, which it keeps.
func (r *Realm) newBytes(b []byte) *goja.Object {
	o, err := r.rt.New(r.intrinsic.uint8Array, r.rt.ToValue(r.rt.NewArrayBuffer(b)))
	if err != nil {
		panic(err)
	}
	return o
}

func isMissing(v goja.Value) bool { return v == nil || goja.IsUndefined(v) }

func isNullish(v goja.Value) bool { return v == nil || goja.IsUndefined(v) || goja.IsNull(v) }
