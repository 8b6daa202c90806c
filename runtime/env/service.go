package env

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
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
			reasons[s.Binding] = fmt.Sprintf("the Worker %q cannot be reached from here", s.Worker)
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
	return c.stubs.new(&stub{callee: to, invoker: invokerOf(to)}, goja.Undefined(), goja.Undefined())
}

// serialized begins a value in V8's format, and no JSON.
const serialized = 0xff

// Texts of calls of entrypoints. Like workerd.
const (
	noEntrypointText = "The entrypoint name %s was not found."
	reservedText     = "'%s' is a reserved method and cannot be called over RPC."
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

// InvokeEntrypoint delivers a call of a method, or the reading of a property, to a new instance of the exported class that
// a binding names, which has to extend WorkerEntrypoint. Its event lasts as long as the stubs in its result. Errors are as
// another script sees them. It may be called from any goroutine but the isolate's.
func InvokeEntrypoint(
	ctx context.Context, i *isolate.Isolate, to bundle.Service, in sidecar.Invocation,
) (sidecar.Value, error) {
	if len(in.Path) > 0 && IsReserved(in.Path[0]) {
		return sidecar.Value{}, noSuch(reservedText, in.Path[0])
	}
	r := &Received{in: in}
	e := i.NewContext(isolate.ContextOptions{Owner: session{}}).Start(ctx, func(e *isolate.Event) (goja.Value, error) {
		return callEntrypoint(e, to, r)
	}, r.Finish)
	sidecar.Entered(ctx)
	return r.End(outward(ctx, i, e.Wait(ctx)))
}

// CallEntrypoint is InvokeEntrypoint of a method that takes no stubs, or of a property when args is nil; those in the
// result are dropped.
func CallEntrypoint(
	ctx context.Context, i *isolate.Isolate, to bundle.Service, method string, args []byte,
) (out []byte, err error) {
	v, err := InvokeEntrypoint(ctx, i, to, sidecar.Invocation{
		Path: []string{method}, Read: args == nil, Args: sidecar.Value{Bytes: args},
	})
	v.Drop()
	return v.Bytes, err
}

// callEntrypoint runs in the event's first turn.
func callEntrypoint(e *isolate.Event, to bundle.Service, in *Received) (goja.Value, error) {
	r := webapi.Of(e.Context().Isolate())
	c, err := ClassesOf(r)
	if err != nil {
		return nil, err
	}
	name := to.Entrypoint
	if name == "" {
		name = "default"
	}
	in.classes = c
	export := r.Isolate().Exports().Get(name)
	if export == nil {
		return nil, noSuch(noEntrypointText, name)
	}
	env, err := r.Env()
	if err != nil {
		return nil, err
	}
	ctx := r.NewExecutionContext(e.Context(), propsOf(r, to.Props))
	class, ok := goja.AssertConstructor(export)
	if !ok {
		args, err := in.arguments(e)
		if err != nil {
			return nil, err
		}
		return c.found(c.handle(goja.Undefined(), export, c.pathValue(in.in.Path), args, env, ctx))
	}
	instance, err := class(nil, ctx, env)
	if err != nil {
		return nil, err
	}
	return in.Start(e, instance)
}

// IsReserved reports whether a name cannot be called over RPC.
func IsReserved(method string) bool {
	switch method {
	case "fetch", "connect", "alarm", "webSocketMessage", "webSocketClose", "webSocketError", "dup", "constructor":
		return true
	}
	return false
}

// described is a binding that can be passed to other scripts.
type described interface {
	// Target is what the binding's calls are for.
	Target() sidecar.Target
}

// describe is how the stub of a binding crosses to another script; it reports false when it cannot.
func describe(s Service) (v8value.Value, bool) {
	d, ok := s.(described)
	if !ok {
		return nil, false
	}
	t := d.Target()
	o := &v8value.Object{}
	set := func(name, value string) {
		o.Properties = append(o.Properties, v8value.Property{Key: name, Value: value})
	}
	if t.Worker != "" {
		set("worker", t.Worker)
		set("entrypoint", t.Entrypoint)
		if len(t.Props) > 0 { // they may be a serialized value, which is no text
			o.Properties = append(o.Properties, v8value.Property{Key: "props", Value: &v8value.ArrayBuffer{Bytes: t.Props}})
		}
	} else {
		set("namespace", t.Namespace)
		set("id", t.ID.String())
		if t.HasName {
			set("name", t.Name)
		}
	}
	return &v8value.Host{Kind: sidecar.HostService, Value: o}, true
}

// serviceOf returns the binding that describe took apart, or nil. It may be called from any goroutine.
func (c *Classes) serviceOf(v v8value.Value) Service {
	o, ok := v.(*v8value.Object)
	if !ok {
		return nil
	}
	text := func(name string) string {
		s, _ := o.Get(name).(string)
		return s
	}
	if worker := text("worker"); worker != "" {
		to := bundle.Service{Worker: worker, Entrypoint: text("entrypoint")}
		if p, ok := o.Get("props").(*v8value.ArrayBuffer); ok && len(p.Bytes) > 0 {
			to.Props = json.RawMessage(p.Bytes)
		}
		if c.options.Service == nil {
			return nil
		}
		return c.options.Service(to)
	}
	var id objectid.ID
	b, err := hex.DecodeString(text("id"))
	if c.options.Namespace == nil || err != nil || copy(id[:], b) != len(id) {
		return nil
	}
	n := c.options.Namespace(text("namespace"))
	if o.Has("name") {
		return n.GetNamed(id, text("name"))
	}
	return n.Get(id)
}

func noSuch(format string, args ...any) error {
	return &sidecar.Error{
		Reason: sidecar.ReasonNoSuchMethod, Name: "TypeError", Message: fmt.Sprintf(format, args...), Remote: true,
	}
}

// propsOf makes ctx.props of what a binding says, JSON or a serialized value, or returns nil.
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
