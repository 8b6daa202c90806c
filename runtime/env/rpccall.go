package env

import (
	"context"
	"reflect"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

var proxyType = reflect.TypeFor[goja.Proxy]()

// Texts of stubs. Like workerd.
const (
	disposedStubText    = "RPC stub used after being disposed."
	disposedPromiseText = "RPC promise used after being disposed."
	foreignStubText     = "Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response " +
		"bodies, and others) created in the context of one request handler cannot be accessed from a different request's " +
		"handler. This is a limitation of Cloudflare Workers which allows us to improve overall performance. (I/O type: Client)"
)

// call is a call that was made: what is behind its promise.
type call struct {
	// promise is the engine's.
	promise goja.Value
	pending *sidecar.Pending
	// value is what it resolved to, and parts the stubs in it. They are the isolate's goroutine's.
	parts    []*held
	stubs    []*stub
	disposed bool
}

// dispose ends the promise and the stubs that it has resolved to.
func (p *call) dispose() {
	p.disposed = true
	for _, h := range p.parts {
		h.drop()
	}
}

// Invoke implements Invoker: it makes a call on the result.
func (p *call) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	return p.pending.Invoke(ctx, in)
}

// begin makes a call, or reads a property, and returns its promise.
func (c *Classes) begin(n *node, args []goja.Value, read bool) *node {
	i := c.realm.Isolate()
	p := &call{pending: sidecar.NewPending()}
	out := &node{classes: c, call: p, stub: &stub{invoker: p}}
	out.make(c.stubs.promises)
	p.promise = i.Async(func() goja.Value {
		out.stub.context = i.RequireEvent().Context()
		c.usable(n)
		in := sidecar.Invocation{Path: n.path, Read: read, Pending: p.pending}
		if !read {
			in.Args = c.encode(func(o webapi.SerializeOptions) v8value.Value { return c.realm.SerializeList(args, o) }, sending)
		}
		return c.send(n.stub, in, out)
	})
	return out
}

// usable throws when a stub cannot be used by the code that runs.
func (c *Classes) usable(n *node) {
	i, s := c.realm.Isolate(), n.stub
	switch {
	case s.held != nil && s.held.isDisposed():
		i.Throw("Error", disposedStubText)
	case s.context != nil && s.context != c.contextOf():
		i.Throw("Error", foreignStubText)
	}
	if p, ok := s.invoker.(*call); ok && p.disposed {
		i.Throw("Error", disposedPromiseText)
	}
}

// send sends an invocation, whose stubs it drops in the end.
func (c *Classes) send(s *stub, in sidecar.Invocation, out *node) goja.Value {
	place, p := s.take(), out.call
	// What follows on the result lines up behind the call itself, and so do the stubs of the result.
	out.stub.after = place
	return c.realm.Isolate().Go(func(ctx context.Context) func() (goja.Value, error) {
		defer place.End()
		value, err := s.invoke(place.Begin(ctx), out.stub.context, in)
		in.Args.Drop()
		value.Stubs = hold(out.stub.context, value.Stubs, false)
		p.pending.Settle(value, err)
		return func() (goja.Value, error) {
			if err != nil {
				return nil, Thrown(c.realm, err)
			}
			return c.result(value, out)
		}
	})
}

// invoke sends an invocation: that of a binding has its own way through the gates of what sends it.
func (s *stub) invoke(ctx context.Context, from *isolate.Context, in sidecar.Invocation) (sidecar.Value, error) {
	o, gated := from.Owner().(Owner)
	if !gated || s.callee != nil {
		return s.invoker.Invoke(ctx, in)
	}
	return o.Send(ctx, func(ctx context.Context) (sidecar.Value, error) { return s.invoker.Invoke(ctx, in) })
}

// result makes the value that a call resolves to.
func (c *Classes) result(value sidecar.Value, out *node) (goja.Value, error) {
	d := &decoding{classes: c, value: value, source: out.stub}
	v, err := d.decode()
	if err != nil {
		return nil, err
	}
	p := out.call
	p.parts, p.stubs = d.parts, d.stubs
	if n := c.nodeOf(v); n != nil && n.stub.held != nil {
		return v, nil // it disposes of itself
	}
	return c.disposable(v, p), nil
}

// disposable gives the result of a call what `using` calls at the end of its block.
func (c *Classes) disposable(v goja.Value, p *call) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	dispose := c.stubs.nothing
	if len(p.parts) > 0 {
		dispose = c.realm.Isolate().Function("", 0, func(goja.FunctionCall) goja.Value {
			p.dispose()
			return goja.Undefined()
		})
	}
	_ = o.DefineDataPropertySymbol(c.stubs.dispose, dispose, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return v
}
