package webapi

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// executionContext is what is behind the ctx of a handler.
type executionContext struct {
	internal
	context *isolate.Context
}

func (r *Realm) installExecution() error {
	c := newClass[*executionContext](r, "ExecutionContext", nil)
	r.execution = c
	c.method("waitUntil", func(x *executionContext, call goja.FunctionCall) goja.Value {
		if len(call.Arguments) == 0 {
			r.throwType("Failed to execute 'waitUntil' on 'ExecutionContext': parameter 1 is not of type 'Promise'.")
		}
		x.context.WaitUntil(call.Argument(0))
		return goja.Undefined()
	})
	c.method("passThroughOnException", func(*executionContext, goja.FunctionCall) goja.Value {
		return goja.Undefined()
	})
	c.complete()
	return nil
}

// NewExecutionContext makes the ctx that a handler gets. props may be nil.
func (r *Realm) NewExecutionContext(c *isolate.Context, props goja.Value) *goja.Object {
	o := r.execution.wrap(&executionContext{context: c})
	if props == nil {
		props = r.rt.NewObject()
	}
	_ = o.Set("props", props)
	if exports := r.Exports(); exports != nil {
		_ = o.Set("exports", exports)
	}
	return o
}

// Exports returns what is ctx.exports, or nil if there is none. It throws at global scope.
func (r *Realm) Exports() *goja.Object {
	if r.exports == nil && r.options.Exports != nil {
		r.requireEvent()
		o, err := r.options.Exports(r)
		if err != nil {
			panic(r.isolate.NewError("Error", err.Error()))
		}
		r.exports = o
	}
	return r.exports
}

// Env returns the script's env.
func (r *Realm) Env() (*goja.Object, error) {
	if r.env != nil {
		return r.env, nil
	}
	env := r.rt.NewObject()
	if r.options.Env != nil {
		var err error
		if env, err = r.options.Env(r); err != nil {
			return nil, fmt.Errorf("make env: %w", err)
		}
	}
	r.env = env
	return env, nil
}

// handler is an entrypoint of the script's: an object with handlers, a class that is made for each event, or the
// listeners of the global object.
type handler struct {
	name    string
	object  *goja.Object
	class   goja.Constructor
	methods map[string]handlerMethod
	// method is the one of a class that was called last, and async isolate.IsAsync of it.
	method *goja.Object
	async  bool
}

// isAsync is isolate.IsAsync, which it remembers for one method.
func (h *handler) isAsync(i *isolate.Isolate, method *goja.Object) bool {
	if h.method != method {
		h.method, h.async = method, i.IsAsync(method)
	}
	return h.async
}

// handlerMethod is a method of an object with handlers.
type handlerMethod struct {
	call goja.Callable
	// takesContext is false when it can't see that it gets no ctx, which costs as much as a request.
	takesContext bool
	// async is isolate.IsAsync of it.
	async bool
}

// entrypoint finds an export; an empty name means the default one.
func (r *Realm) entrypoint(name string) (*handler, error) {
	if name == "" {
		name = "default"
	}
	if h := r.handlers[name]; h != nil {
		return h, nil
	}
	o, ok := r.isolate.Exports().Get(name).(*goja.Object)
	if !ok {
		if name == "default" && r.target != nil {
			return r.listeners()
		}
		if name == "default" {
			return nil, r.thrown("Error", "No event handlers were registered. This script does nothing.")
		}
		return nil, r.thrown("TypeError", fmt.Sprintf("The entrypoint name %s was not found.", name))
	}
	h := &handler{name: name, object: o, methods: map[string]handlerMethod{}}
	if c, ok := goja.AssertConstructor(o); ok {
		h.class = c
	}
	r.handlers[name] = h
	return h, nil
}

// listeners is the entrypoint of a script that exports no handlers. Its bindings are global variables.
func (r *Realm) listeners() (*handler, error) {
	env, err := r.Env()
	if err != nil {
		return nil, err
	}
	for _, name := range env.Keys() {
		if err := r.isolate.DefineGlobal(name, env.Get(name)); err != nil {
			return nil, err
		}
	}
	h := &handler{name: "default"}
	r.handlers["default"] = h
	return h, nil
}

// Call delivers an event to a method of an entrypoint: to one of an object with (argument, env, ctx), to one of a class
// with the argument alone, on an instance made of (ctx, env).
func (r *Realm) Call(e *isolate.Event, entrypoint, method string, argument, props goja.Value) (goja.Value, error) {
	h, err := r.entrypoint(entrypoint)
	if err != nil {
		return nil, err
	}
	env, err := r.Env()
	if err != nil {
		return nil, err
	}
	if h.object == nil {
		return r.deliver(method, argument, r.NewExecutionContext(e.Context(), props))
	}
	if h.class != nil {
		instance, err := h.class(nil, r.NewExecutionContext(e.Context(), props), env)
		if err != nil {
			return nil, err
		}
		o := instance.Get(method)
		f, ok := goja.AssertFunction(o)
		if !ok {
			return nil, r.missingHandler(method)
		}
		if h.isAsync(r.isolate, o.(*goja.Object)) {
			e.Async()
		}
		return f(instance, argument)
	}
	m, ok := h.methods[method]
	if !ok {
		o := h.object.Get(method)
		if m.call, ok = goja.AssertFunction(o); !ok {
			return nil, r.missingHandler(method)
		}
		m.takesContext, m.async = r.seesThird(o.(*goja.Object)), r.isolate.IsAsync(o.(*goja.Object))
		h.methods[method] = m
	}
	if m.async {
		e.Async()
	}
	if !m.takesContext {
		return m.call(h.object, argument, env)
	}
	return m.call(h.object, argument, env, r.NewExecutionContext(e.Context(), props))
}

// deliver dispatches an event to the global object's listeners.
func (r *Realm) deliver(method string, argument, ctx goja.Value) (v goja.Value, err error) {
	if method != "fetch" && method != "scheduled" {
		return nil, r.missingHandler(method)
	}
	if thrown := r.rt.Try(func() {
		v = r.operation("events", "deliver", r.target, r.rt.ToValue(method), argument, ctx)
	}); thrown != nil {
		return nil, thrown
	}
	if method == "fetch" && goja.IsUndefined(v) {
		return nil, r.missingHandler(method)
	}
	return v, nil
}

func (r *Realm) missingHandler(method string) error {
	return r.thrown("Error", fmt.Sprintf("Handler does not export a %s() function.", method))
}
