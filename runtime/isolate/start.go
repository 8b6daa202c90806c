package isolate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/tandem-do/tandem/runtime/repair"
)

//go:embed shim.js
var shimSource string

// shim compiles what repairs the engine from within, once a process.
var shim = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile(internalPrefix+"shim", shimSource, true)
})

// engineFunctions are the runtime's own, taken before the script could replace them.
type engineFunctions struct {
	then goja.Callable
	// nothing is a function that does nothing.
	nothing goja.Value
	// asyncPrototype is the prototype of async functions, methods apart.
	asyncPrototype *goja.Object
	// text gives a function's.
	text goja.Callable
	// fulfilled and rejected tell the event that runs of its handler's outcome.
	fulfilled, rejected goja.Value
	errors              map[string]*goja.Object
}

// start makes the heap and runs the script's top level, on the isolate's goroutine.
func (i *Isolate) start(ctx context.Context, p *Program) error {
	result := make(chan error, 1)
	i.loop.post(func() {
		i.rt = goja.New()
		var err error
		if i.rest, err = newRest(i.rt); err != nil {
			result <- err
			return
		}
		i.watch.begin(i.options.Limits.Startup, nil)
		err = i.conclude(i.guarded(func() error { return i.runTopLevel(p) }), nil)
		_, fired := i.watch.end()
		if fired != nil && err == nil {
			err = fired
		}
		i.started = true
		result <- i.exceptionOf(err)
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (i *Isolate) runTopLevel(p *Program) error {
	rt := i.rt
	rt.SetMaxCallStackSize(i.options.Limits.CallDepth)
	rt.SetParserOptions(parser.WithDisableSourceMaps)
	rt.SetPromiseRejectionTracker(i.trackRejection)
	rt.SetAsyncContextTracker(tracker{i})
	rt.SetTimeSource(i.Now)
	if err := i.takeFunctions(); err != nil {
		return err
	}
	if err := i.installBounds(); err != nil {
		return fmt.Errorf("bound the engine: %w", err)
	}
	if err := i.runShim(); err != nil {
		return fmt.Errorf("run the shim: %w", err)
	}
	if err := repair.Install(rt, i.awaitedFor); err != nil {
		return err
	}
	if err := i.installWording(); err != nil {
		return fmt.Errorf("install the wording of errors: %w", err)
	}
	if err := i.DefineGlobal(bigFunction, i.Function(bigFunction, 1, i.big)); err != nil {
		return fmt.Errorf("install the bounds of BigInts: %w", err)
	}
	if err := i.installJSON(); err != nil {
		return fmt.Errorf("install JSON: %w", err)
	}
	for _, install := range i.options.Install {
		if err := install(i); err != nil {
			return fmt.Errorf("install globals: %w", err)
		}
	}
	v, err := rt.RunProgram(p.program)
	if err != nil {
		return err
	}
	main, ok := goja.AssertFunction(v)
	if !ok {
		return errors.New("the script is no module: its value is no function")
	}
	host := rt.NewObject()
	if err := host.Set("require", i.Function("require", 1, i.require)); err != nil {
		return err
	}
	v, err = main(goja.Undefined(), host)
	if err != nil {
		return err
	}
	return i.takeExports(v)
}

// takeExports keeps what the top level gave. A promise has to have settled: nothing outside can settle it.
func (i *Isolate) takeExports(v goja.Value) error {
	err := errors.New("Top-level await in module is unsettled.")
	i.Await(v, func(v goja.Value) {
		exports, ok := v.(*goja.Object)
		if !ok {
			err = errors.New("the script is no module: it returned no exports")
			return
		}
		i.exports, err = exports, i.checkExports(exports)
	}, func(reason goja.Value) {
		err = i.NewException(reason)
	})
	return err
}

// checkExports refuses exports that can be no entrypoint. Like workerd.
func (i *Isolate) checkExports(exports *goja.Object) error {
	if !i.options.Entrypoints {
		return nil
	}
	for _, name := range exports.Keys() {
		if _, ok := exports.Get(name).(*goja.Object); !ok {
			return i.NewException(i.NewError("TypeError", fmt.Sprintf("Incorrect type for map entry '%s': the provided value "+
				"is not of type 'function or ExportedHandler'.", name)))
		}
	}
	return nil
}

func (i *Isolate) takeFunctions() error {
	promise, ok := i.rt.Get("Promise").(*goja.Object)
	if !ok {
		return errors.New("the engine has no promises")
	}
	i.functions.then, _ = goja.AssertFunction(promise.Get("prototype").(*goja.Object).Get("then"))
	var err error
	if i.functions.nothing, err = i.rt.RunString("(function () {})"); err != nil {
		return err
	}
	async, err := i.rt.RunString("(async function () {})")
	if err != nil {
		return err
	}
	i.functions.asyncPrototype = async.(*goja.Object).Prototype()
	i.functions.text, _ = goja.AssertFunction(async.(*goja.Object).Get("toString"))
	i.functions.fulfilled = i.eventFunction((*Event).fulfilled)
	i.functions.rejected = i.eventFunction((*Event).rejected)
	i.functions.errors = map[string]*goja.Object{}
	for _, name := range []string{"Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError"} {
		i.functions.errors[name] = i.rt.Get(name).(*goja.Object)
	}
	return nil
}

func (i *Isolate) runShim() error {
	p, err := shim()
	if err != nil {
		return err
	}
	v, err := i.rt.RunProgram(p)
	if err != nil {
		return err
	}
	run, _ := goja.AssertFunction(v)
	host := i.rt.NewObject()
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		"evaluationAllowed": func(goja.FunctionCall) goja.Value {
			return i.rt.ToValue(!i.started && i.options.Compatibility.Since("2025-06-01", "allow_eval_during_startup", ""))
		},
		"stack":    func(c goja.FunctionCall) goja.Value { return i.rt.ToValue(V8Stack(c.Argument(0).String())) },
		"transfer": i.transfer, "expandPattern": i.expandPattern,
		"checkProxy": i.checkProxy, "checkSource": i.checkSource, "checkDigits": i.checkDigits,
		"boundConstructor": i.boundConstructor,
		"checkPattern": func(c goja.FunctionCall) goja.Value {
			i.pattern(c.Argument(0))
			return goja.Undefined()
		},
		"detached": func(c goja.FunctionCall) goja.Value { return i.rt.ToValue(i.buffer(c.Argument(0)).Detached()) },
	} {
		if err := host.Set(name, f); err != nil {
			return err
		}
	}
	for name, limit := range map[string]int64{"maxBufferBytes": maxBufferBytes, "maxList": maxList} {
		if err := host.Set(name, limit); err != nil {
			return err
		}
	}
	weakRefs := i.options.Compatibility.Since("2025-05-05", "enable_weak_ref", "disable_weak_ref")
	if err := host.Set("weakRefs", weakRefs); err != nil {
		return err
	}
	_, err = run(goja.Undefined(), host)
	return err
}

// buffer is what is behind an ArrayBuffer. It throws at anything else.
func (i *Isolate) buffer(v goja.Value) goja.ArrayBuffer {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != reflect.TypeFor[goja.ArrayBuffer]() {
		i.Throw("TypeError", "this is no ArrayBuffer")
	}
	return o.Export().(goja.ArrayBuffer)
}

// maxBufferBytes bounds an ArrayBuffer.
const maxBufferBytes = 1 << 29

// transfer(buffer, length) moves the bytes of a buffer to a new one.
func (i *Isolate) transfer(c goja.FunctionCall) goja.Value {
	b, length := i.buffer(c.Argument(0)), c.Argument(1).ToInteger()
	if b.Detached() {
		i.Throw("TypeError", "Cannot perform ArrayBuffer.prototype.transfer on a detached ArrayBuffer")
	}
	if length < 0 || length > maxBufferBytes {
		i.Throw("RangeError", "Invalid array buffer length")
	}
	data := b.Bytes()
	if int64(len(data)) != length {
		data = append(make([]byte, 0, length), data[:min(int64(len(data)), length)]...)[:length]
	}
	b.Detach()
	return i.rt.ToValue(i.rt.NewArrayBuffer(data))
}

// Function makes a function of the language from one in Go. f runs on the isolate's goroutine and throws by panicking
// with a value of the engine's, as Throw does. It must not keep its arguments' slice.
func (i *Isolate) Function(name string, length int, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := i.rt.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", i.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = o.DefineDataProperty("length", i.rt.ToValue(length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// DefineGlobal defines a global as the language's own are: not enumerable, replaceable.
func (i *Isolate) DefineGlobal(name string, v goja.Value) error {
	return i.rt.GlobalObject().DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
