package program

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/tandem-do/tandem/runtime/repair"
)

// maxCallDepth bounds calls within calls. The engine's default is no bound at all, and each level of a
// recursion through a built-in function takes kilobytes of the goroutine's stack.
const maxCallDepth = 3000

//go:embed prelude.js
var preludeSource string

// prelude compiles the part of the globals that is written in JavaScript, once a process.
var prelude = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("prelude", preludeSource, true)
})

// isolate is one JavaScript heap with the globals of a program. It runs one program and is dropped.
type isolate struct {
	rt *goja.Runtime
	// run is the program that it runs; nil before start. The globals work only while it is set.
	run *execution
	// jsonParse is the runtime's own JSON.parse, taken before the program could replace it.
	jsonParse goja.Callable
	// errorClass is the runtime's own Error.
	errorClass goja.Value
}

// newIsolate makes a heap and its globals. The child does this while it waits for a program.
func newIsolate() (*isolate, error) {
	p, err := prelude()
	if err != nil {
		return nil, fmt.Errorf("compile the prelude: %w", err)
	}
	i := &isolate{rt: goja.New()}
	i.rt.SetMaxCallStackSize(maxCallDepth)
	i.rt.SetParserOptions(parser.WithDisableSourceMaps)
	i.rt.SetPromiseRejectionTracker(i.trackRejection)
	if err := repair.Install(i.rt, nil); err != nil {
		return nil, err
	}
	json := i.rt.GlobalObject().Get("JSON").(*goja.Object)
	i.errorClass = i.rt.GlobalObject().Get("Error")
	i.jsonParse, _ = goja.AssertFunction(json.Get("parse"))

	v, err := i.rt.RunProgram(p)
	if err != nil {
		return nil, fmt.Errorf("run the prelude: %w", err)
	}
	install, ok := goja.AssertFunction(v)
	if !ok {
		return nil, fmt.Errorf("run the prelude: it is no function")
	}
	host := i.rt.NewObject()
	for name, f := range i.hostFunctions() {
		if err := host.Set(name, i.function(name, f)); err != nil {
			return nil, fmt.Errorf("install %s: %w", name, err)
		}
	}
	if _, err := install(goja.Undefined(), host); err != nil {
		return nil, fmt.Errorf("run the prelude: %w", err)
	}
	if err := i.installGlobals(); err != nil {
		return nil, fmt.Errorf("install globals: %w", err)
	}
	return i, nil
}

// begin has the isolate run a program: its clock and its randomness are the program's.
func (i *isolate) begin(e *execution) {
	i.run = e
	i.rt.SetTimeSource(e.clock.read)
	i.rt.SetRandSource(func() float64 { return float(e.random) })
}

// nativeFunction is a function in Go. It runs on the isolate's goroutine and throws by panicking with a value
// of the runtime.
type nativeFunction = func(goja.FunctionCall) goja.Value

// installGlobals defines the globals that are Go.
func (i *isolate) installGlobals() error {
	g := i.rt.GlobalObject()
	// In a fixed order, since a program can list them, and must see the same when it is run again.
	for _, f := range []struct {
		name string
		f    nativeFunction
	}{
		{"emit", i.emit},
		{"setTimeout", i.setTimeout},
		{"setInterval", i.setInterval},
		{"clearTimeout", i.clearTimer},
		{"clearInterval", i.clearTimer},
		{"fetch", i.fetch},
		{"atob", i.atob},
		{"btoa", i.btoa},
	} {
		if err := define(g, f.name, i.function(f.name, f.f)); err != nil {
			return err
		}
	}
	if err := define(g, "console", i.newConsole()); err != nil {
		return err
	}
	return define(g, "tools", i.newTools())
}

// function makes a value of a native function. The engine would name it after its Go symbol.
func (i *isolate) function(name string, f nativeFunction) *goja.Object {
	o := i.rt.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", i.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// define sets a property as the language's own globals have it: not enumerable, replaceable.
func define(o *goja.Object, name string, v goja.Value) error {
	return o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// throw throws an error of the named class, such as TypeError.
func (i *isolate) throw(class, format string, args ...any) {
	message := i.rt.ToValue(fmt.Sprintf(format, args...))
	if class != "TypeError" {
		if c := i.rt.GlobalObject().Get(class); c != nil {
			if e, err := i.rt.New(c, message); err == nil {
				panic(e)
			}
		}
	}
	panic(i.rt.NewTypeError(message.String()))
}

// fetch rejects: a program has no network.
func (i *isolate) fetch(goja.FunctionCall) goja.Value {
	promise, _, reject := i.rt.NewPromise()
	_ = reject(i.rt.NewTypeError("fetch is not available: a program has no network, use tools instead"))
	return i.rt.ToValue(promise)
}

func (i *isolate) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if i.run != nil {
		i.run.trackRejection(p, op)
	}
}
