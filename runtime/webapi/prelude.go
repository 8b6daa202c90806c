package webapi

import (
	"embed"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

//go:embed prelude/*.js
var preludeFiles embed.FS

// preludeGroups are the scripts of the prelude with the globals that each defines. A script runs when one of its
// globals is first used, or when Go needs what it gives beside them. Its value is a function of the host's functions
// and of use, which runs another group; it returns an object with everything.
func preludeGroups() map[string][]string {
	return map[string][]string{
		"dom":  {"DOMException"},
		"intl": {"Intl"}, "urlpattern": {"URLPattern"}, "sockets": {"WebSocket", "WebSocketPair"},
		"events": {
			"Event", "EventTarget", "CustomEvent", "ErrorEvent", "MessageEvent", "CloseEvent", "PromiseRejectionEvent",
			"AbortController", "AbortSignal", "MessageChannel", "MessagePort", "ExtendableEvent", "FetchEvent", "ScheduledEvent",
		},
		"performance": {
			"performance", "Performance", "PerformanceEntry", "PerformanceMark", "PerformanceMeasure", "PerformanceObserver",
			"PerformanceObserverEntryList", "PerformanceResourceTiming",
		},
		"streams": {
			"ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamBYOBReader", "ReadableStreamBYOBRequest",
			"ReadableStreamDefaultController", "ReadableByteStreamController", "WritableStream",
			"WritableStreamDefaultWriter", "WritableStreamDefaultController", "TransformStream",
			"TransformStreamDefaultController", "ByteLengthQueuingStrategy", "CountQueuingStrategy",
			"IdentityTransformStream", "FixedLengthStream", "TextEncoderStream", "TextDecoderStream",
			"CompressionStream", "DecompressionStream",
		},
	}
}

// preludePrograms has each group's script.
var preludePrograms = sync.OnceValue(func() map[string]func() (*goja.Program, error) {
	return isolate.Scripts(preludeFiles, "")
})

// prelude is what an isolate has run of it.
type prelude struct {
	host   *goja.Object
	use    *goja.Object
	loaded map[string]*goja.Object
	// prototypes are those of the classes that were made.
	prototypes map[*goja.Object]bool
	// operations are functions of groups that Go calls.
	operations map[string]goja.Callable
}

func (r *Realm) installPrelude() error {
	p := &r.prelude
	p.loaded, p.operations = map[string]*goja.Object{}, map[string]goja.Callable{}
	p.prototypes = map[*goja.Object]bool{}
	p.host = r.rt.NewObject()
	p.use = r.isolate.Function("use", 1, func(call goja.FunctionCall) goja.Value {
		return r.group(call.Argument(0).String())
	})
	for name, f := range r.hostFunctions() {
		if err := p.host.Set(name, r.isolate.Function(name, 0, f)); err != nil {
			return err
		}
	}
	if err := p.host.Set("illegalInvocation", illegalInvocation); err != nil {
		return err
	}
	if err := p.host.Set("dated", map[string]any{
		"tags": r.dated.tags, "structs": r.dated.structs, "byobView": r.dated.byobView, "writer": r.dated.writer,
	}); err != nil {
		return err
	}
	messages := r.isolate.Compatibility().Since(
		"2025-08-15", "expose_global_message_channel", "no_expose_global_message_channel")
	for group, names := range preludeGroups() {
		if group == "performance" && !r.on["enable_global_performance_classes"] {
			continue
		}
		for _, name := range names {
			if !messages && (name == "MessageChannel" || name == "MessagePort") {
				continue
			}
			if err := r.defineLazily(group, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostFunctions are what the prelude is built on. It alone sees them.
func (r *Realm) hostFunctions() map[string]func(goja.FunctionCall) goja.Value {
	return map[string]func(goja.FunctionCall) goja.Value{
		"now":            r.now,
		"readSource":     r.readSource,
		"cancelSource":   r.cancelSource,
		"timeZone":       r.timeZone,
		"newCompression": r.newCompression,
		"runCompression": r.runCompression,
		"transferBuffer": r.transferBuffer,
		"newDigest":      r.newDigest,
		"updateDigest":   r.updateDigest,
		"finishDigest":   r.finishDigest,
		"setTimer": func(call goja.FunctionCall) goja.Value {
			return r.setTimer("setTimeout", call)
		},
		"reportError": func(call goja.FunctionCall) goja.Value {
			r.isolate.ReportUncaught(call.Argument(0))
			return goja.Undefined()
		},
		"newDecoder": func(call goja.FunctionCall) goja.Value {
			return r.decoder.wrap(r.newDecoder(call.Argument(0), call.Argument(1)))
		},
		"clone": func(call goja.FunctionCall) goja.Value { return r.clone(call.Argument(0), goja.Undefined()) },
	}
}

// defineLazily defines a global that a group makes when it is first used.
func (r *Realm) defineLazily(group, name string) error {
	global := r.rt.GlobalObject()
	become := func(v goja.Value) {
		_ = global.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	getter := r.isolate.Function("get "+name, 0, func(goja.FunctionCall) goja.Value {
		v := r.group(group).Get(name)
		become(v)
		return v
	})
	setter := r.isolate.Function("set "+name, 1, func(call goja.FunctionCall) goja.Value {
		become(call.Argument(0))
		return goja.Undefined()
	})
	return global.DefineAccessorProperty(name, getter, setter, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// group runs a group at its first use and returns what it gives.
func (r *Realm) group(name string) *goja.Object {
	p := &r.prelude
	if o := p.loaded[name]; o != nil {
		return o
	}
	program, err := preludePrograms()[name]()
	if err != nil {
		panic(err)
	}
	v, err := r.rt.RunProgram(program)
	if err != nil {
		panic(err)
	}
	make, ok := goja.AssertFunction(v)
	if !ok {
		panic(r.isolate.NewError("Error", "the prelude has no "+name))
	}
	o := r.call(make, goja.Undefined(), p.host, p.use).(*goja.Object)
	p.loaded[name] = o
	for _, class := range preludeGroups()[name] {
		if c, ok := o.Get(class).(*goja.Object); ok {
			if proto, ok := c.Get("prototype").(*goja.Object); ok {
				p.prototypes[proto] = true
				if !r.dated.tags {
					_ = proto.DeleteSymbol(goja.SymToStringTag)
				}
			}
		}
	}
	return o
}

// operation calls a function of a group's.
func (r *Realm) operation(group, name string, args ...goja.Value) goja.Value {
	key := group + "." + name
	f, ok := r.prelude.operations[key]
	if !ok {
		f, _ = goja.AssertFunction(r.group(group).Get(name))
		r.prelude.operations[key] = f
	}
	return r.call(f, goja.Undefined(), args...)
}

// newDOMException makes a DOMException.
func (r *Realm) newDOMException(name, message string) *goja.Object {
	o, err := r.rt.New(r.group("dom").Get("DOMException"), r.rt.ToValue(message), r.rt.ToValue(name))
	if err != nil {
		panic(err)
	}
	return o
}

func (r *Realm) throwDOM(name, message string) { panic(r.newDOMException(name, message)) }

// newSignal makes an AbortSignal that is never aborted by the host.
func (r *Realm) newSignal() goja.Value { return r.operation("events", "newSignal") }

func (r *Realm) isSignal(v goja.Value) bool { return r.operation("events", "isSignal", v).ToBoolean() }
