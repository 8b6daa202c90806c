package env

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// Service is what a service binding reaches: an entrypoint of a Worker. Its methods may be called from any goroutine.
type Service interface {
	// Fetch sends a request to the entrypoint's fetch handler.
	Fetch(ctx context.Context, r *http.Request) (*http.Response, error)
	// Call runs a method with serialized arguments, or reads a property when they are nil.
	Call(ctx context.Context, method string, args []byte) ([]byte, error)
}

// setServices binds the Workers that Options.Service knows; the others say why they cannot be used.
func (o Options) setServices(c *Classes, env *goja.Object, reasons map[string]string) error {
	for _, s := range o.Manifest.Services {
		var to Service
		if o.Service != nil {
			to = o.Service(s)
		}
		if to == nil {
			reasons[s.Binding] = fmt.Sprintf("the Worker %q cannot be reached: "+
				"service bindings lead to the Worker itself only, as yet", s.Worker)
			continue
		}
		if err := env.Set(s.Binding, c.service(to)); err != nil {
			return err
		}
	}
	return nil
}

// service makes the stub of a service.
func (c *Classes) service(to Service) goja.Value {
	return c.stubs.new(&stub{callee: to}, goja.Undefined(), goja.Undefined())
}

// serialized begins a value in V8's format, and no JSON.
const serialized = 0xff

// Texts of calls of entrypoints. Like workerd.
const (
	noEntrypointText = "The entrypoint name %s was not found."
	noMethodText     = "The RPC receiver does not implement the method %q."
)

// FetchEntrypoint delivers a request to the entrypoint that a binding names, as webapi.Fetch does. Errors are as another
// script sees them.
func FetchEntrypoint(ctx context.Context, i *isolate.Isolate, to bundle.Service, in *http.Request) (*http.Response, error) {
	resp, err := webapi.Fetch(ctx, i, in, webapi.Call{
		Entrypoint: to.Entrypoint,
		Props:      func(r *webapi.Realm) goja.Value { return propsOf(r, to.Props) },
	})
	return resp, outward(ctx, i, err)
}

// CallEntrypoint delivers a call of a method, or the reading of a property when args is nil, to a new instance of the
// exported class that a binding names, which has to extend WorkerEntrypoint. Errors are as another script sees them. It
// may be called from any goroutine but the isolate's.
func CallEntrypoint(
	ctx context.Context, i *isolate.Isolate, to bundle.Service, method string, args []byte,
) (out []byte, err error) {
	err = i.NewContext(isolate.ContextOptions{}).Run(ctx, func(e *isolate.Event) (goja.Value, error) {
		return callEntrypoint(e, to, method, args)
	}, func(_ *isolate.Event, v goja.Value) error {
		out = Encode(webapi.Of(i), v, ForCall)
		return nil
	})
	return out, outward(ctx, i, err)
}

// callEntrypoint runs in the event's first turn.
func callEntrypoint(e *isolate.Event, to bundle.Service, method string, args []byte) (goja.Value, error) {
	r := webapi.Of(e.Context().Isolate())
	c, err := ClassesOf(r)
	if err != nil {
		return nil, err
	}
	name := to.Entrypoint
	if name == "" {
		name = "default"
	}
	class, ok := goja.AssertConstructor(r.Isolate().Exports().Get(name))
	if !ok {
		if r.Isolate().Exports().Get(name) != nil {
			return nil, noSuch("The entrypoint %s takes no calls: its class does not extend WorkerEntrypoint.", name)
		}
		return nil, noSuch(noEntrypointText, name)
	}
	env, err := r.Env()
	if err != nil {
		return nil, err
	}
	instance, err := class(nil, r.NewExecutionContext(e.Context(), propsOf(r, to.Props)), env)
	if err != nil {
		return nil, err
	}
	list, err := Decode(r, args)
	if err != nil {
		return nil, err
	}
	v, err := c.Invoke(instance, method, list)
	if errors.Is(err, ErrNoMethod) {
		err = noSuch(noMethodText, method)
	}
	return v, err
}

func noSuch(format string, args ...any) error {
	return &sidecar.Error{
		Reason: sidecar.ReasonNoSuchMethod, Name: "TypeError", Message: fmt.Sprintf(format, args...), Remote: true,
	}
}

// propsOf makes ctx.props of what a binding says, or returns nil.
func propsOf(r *webapi.Realm, props json.RawMessage) goja.Value {
	if len(props) == 0 {
		return nil
	}
	if props[0] == serialized {
		v, err := Decode(r, props)
		if err != nil {
			panic(r.Isolate().NewError("TypeError", "ctx.props: "+err.Error()))
		}
		return v
	}
	return r.Isolate().ParseJSON(string(props))
}
