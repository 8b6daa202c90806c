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
	c := newClass[*executionContext](r, "ExecutionContext", 0, nil)
	r.execution = c
	c.method("waitUntil", 1, func(x *executionContext, call goja.FunctionCall) goja.Value {
		if len(call.Arguments) == 0 {
			r.throwType("Failed to execute 'waitUntil' on 'ExecutionContext': parameter 1 is not of type 'Promise'.")
		}
		x.context.WaitUntil(call.Argument(0))
		return goja.Undefined()
	})
	c.method("passThroughOnException", 0, func(*executionContext, goja.FunctionCall) goja.Value {
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
	return o
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

// handler is an entrypoint of the script's: an object with handlers, or a class that is made for each event.
type handler struct {
	name    string
	object  *goja.Object
	class   goja.Constructor
	methods map[string]goja.Callable
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
		if name == "default" {
			return nil, r.thrown("Error", "No event handlers were registered. This script does nothing.")
		}
		return nil, r.thrown("TypeError", fmt.Sprintf("The entrypoint name %s was not found.", name))
	}
	h := &handler{name: name, object: o, methods: map[string]goja.Callable{}}
	if c, ok := goja.AssertConstructor(o); ok {
		h.class = c
	}
	r.handlers[name] = h
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
	ctx := r.NewExecutionContext(e.Context(), props)
	if h.class != nil {
		instance, err := h.class(nil, ctx, env)
		if err != nil {
			return nil, err
		}
		f, ok := goja.AssertFunction(instance.Get(method))
		if !ok {
			return nil, r.missingHandler(method)
		}
		return f(instance, argument)
	}
	f, ok := h.methods[method]
	if !ok {
		if f, ok = goja.AssertFunction(h.object.Get(method)); !ok {
			return nil, r.missingHandler(method)
		}
		h.methods[method] = f
	}
	return f(h.object, argument, env, ctx)
}

func (r *Realm) missingHandler(method string) error {
	return r.thrown("Error", fmt.Sprintf("Handler does not export a %s() function.", method))
}
