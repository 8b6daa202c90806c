package program

import (
	"errors"
	"strings"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// maxToolPathBytes bounds the path of a tool.
const maxToolPathBytes = 1024

// pendingCall is a tool call under way.
type pendingCall struct {
	resolve, reject func(any) error
}

// newTools returns the lazy proxy: any property path below it can be called. Properties with a meaning to
// the language are absent, so that a path is no thenable and no JSON value.
func (i *isolate) newTools() *goja.Object {
	return i.toolProxy("", map[string]*goja.Object{})
}

func (i *isolate) toolProxy(path string, known map[string]*goja.Object) *goja.Object {
	if o := known[path]; o != nil {
		return o
	}
	call := func(c goja.FunctionCall) goja.Value { return i.callTool(path, c.Argument(0)) }
	get := func(_ *goja.Object, property string, _ goja.Value) goja.Value {
		switch property {
		case "then", "toJSON", "constructor", "prototype", "__proto__":
			return goja.Undefined()
		case "toString", "valueOf":
			return i.function(property, func(goja.FunctionCall) goja.Value { return i.rt.ToValue("[tool " + path + "]") })
		}
		below := property
		if path != "" {
			below = path + "." + property
		}
		if len(below) > maxToolPathBytes {
			i.throw("RangeError", "path of a tool is longer than %d bytes", maxToolPathBytes)
		}
		return i.toolProxy(below, known)
	}
	target := i.rt.ToValue(call).(*goja.Object)
	p := i.rt.NewProxy(target, &goja.ProxyTrapConfig{
		Get:            get,
		GetSym:         func(*goja.Object, *goja.Symbol, goja.Value) goja.Value { return goja.Undefined() },
		Set:            func(*goja.Object, string, goja.Value, goja.Value) bool { return false },
		DefineProperty: func(*goja.Object, string, goja.PropertyDescriptor) bool { return false },
		DeleteProperty: func(*goja.Object, string) bool { return false },
		SetPrototypeOf: func(*goja.Object, *goja.Object) bool { return false },
	})
	o := i.rt.ToValue(p).(*goja.Object)
	if len(known) < 1000 {
		known[path] = o
	}
	return o
}

// callTool sends a call to the host and returns a promise of its value. What is wrong with the call itself
// throws at once.
func (i *isolate) callTool(path string, argument goja.Value) goja.Value {
	if path == "" {
		i.throw("TypeError", "tools is not a function: call one below it, such as tools.search({query: \"…\"})")
	}
	e := i.run
	if uint64(len(e.calls)) >= e.limits.PendingToolCalls {
		i.throw("RangeError", "too many tool calls at once: at most %d, await some before making more",
			e.limits.PendingToolCalls)
	}
	json, err := i.stringify(argument, e.limits.ResultBytes)
	if err != nil {
		i.throw("TypeError", "arguments of tools.%s are not serializable: %s", path,
			strings.TrimPrefix(err.Error(), "TypeError: "))
	}
	promise, resolve, reject := i.rt.NewPromise()
	e.lastCall++
	e.calls[e.lastCall] = pendingCall{resolve, reject}
	e.out.send(&frame.Call{
		CallID: e.lastCall, Path: path, Arguments: json, Taken: e.taken, Timers: e.timers.fired,
	})
	e.taken = e.taken[:0]
	return i.rt.ToValue(promise)
}

// settle gives a call its result.
func (e *execution) settle(c pendingCall, r *frame.Result) error {
	rt := e.isolate.rt
	if r.Thrown {
		err, _ := rt.New(e.isolate.errorClass, rt.ToValue(string(r.Value)))
		return c.reject(err)
	}
	if len(r.Value) == 0 {
		return c.resolve(goja.Undefined())
	}
	v, err := e.isolate.jsonParse(goja.Undefined(), rt.ToValue(string(r.Value)))
	if err != nil {
		if thrown := (*goja.Exception)(nil); !errors.As(err, &thrown) {
			return err
		}
		err, _ := rt.New(e.isolate.errorClass, rt.ToValue("the tool's result is no valid JSON"))
		return c.reject(err)
	}
	return c.resolve(v)
}
