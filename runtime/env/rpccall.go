package env

import (
	"context"
	"errors"
	"reflect"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
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

// call is a call that was made: what is behind its promise. But for pending, it is the isolate's goroutine's.
type call struct {
	classes *Classes
	pending *sidecar.Pending
	// through is the binding that the call has gone through; nil for one of a stub of the script's own.
	through Service
	// state and value are the outcome.
	state goja.PromiseState
	value goja.Value
	// waiting are told of the outcome: what awaits the call, which needs no promise of the engine's.
	waiting []waiting
	// promise is the engine's, with what settles it. It is made at first need.
	promise         goja.Value
	resolve, reject func(any) error
	// parts are the references in the value, and stubs what the script has of them.
	parts    []*held
	stubs    []*stub
	disposed bool
}

// waiting is a pair of functions that take the outcome of a call.
type waiting struct{ resolve, reject goja.Value }

// settle gives the outcome. A rejection that nobody has asked for yet is one of the engine's, which reports it.
func (p *call) settle(v goja.Value, state goja.PromiseState) {
	p.state, p.value = state, v
	if len(p.waiting) > 0 {
		p.tell()
	} else if state == goja.PromiseStateRejected {
		p.outcome()
	}
	switch {
	case p.resolve == nil:
	case state == goja.PromiseStateRejected:
		p.classes.mustNot(p.reject(v))
	default:
		p.classes.mustNot(p.resolve(v))
	}
	p.resolve, p.reject = nil, nil
}

// settling is settle as isolate.GoInto calls it.
func (p *call) settling(state goja.PromiseState) func(any) error {
	return func(v any) error {
		p.settle(p.classes.realm.Isolate().Runtime().ToValue(v), state)
		return nil
	}
}

// tell tells those that wait, all before any of them goes on.
func (p *call) tell() {
	functions := make([]goja.Value, len(p.waiting))
	for n, w := range p.waiting {
		functions[n] = w.resolve
		if p.state == goja.PromiseStateRejected {
			functions[n] = w.reject
		}
	}
	p.waiting = nil
	if len(functions) == 1 {
		f, _ := goja.AssertFunction(functions[0])
		_, err := f(goja.Undefined(), p.value)
		p.classes.mustNot(err)
		return
	}
	list := p.classes.realm.Isolate().Runtime().NewArray(anys(functions)...)
	p.classes.must(p.classes.tell(goja.Undefined(), list, p.value))
}

func anys(values []goja.Value) []any {
	out := make([]any, len(values))
	for n, v := range values {
		out[n] = v
	}
	return out
}

// outcome returns the engine's promise of the call.
func (p *call) outcome() goja.Value {
	if p.promise != nil {
		return p.promise
	}
	i := p.classes.realm.Isolate()
	switch p.state {
	case goja.PromiseStateFulfilled:
		p.promise = i.Resolved(p.value)
	case goja.PromiseStateRejected:
		p.promise = i.Rejected(p.value)
	default:
		promise, resolve, reject := i.Runtime().NewPromise()
		p.promise, p.resolve, p.reject = i.Runtime().ToValue(promise), resolve, reject
	}
	return p.promise
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
	v, err := p.pending.Invoke(ctx, in)
	to, ok := errors.AsType[*sidecar.ServiceError](err)
	if !ok {
		return v, p.named(err)
	}
	s := p.classes.serviceOf(to.Service.Value)
	if s == nil {
		return v, sidecar.NoSuchMethod(to.Path)
	}
	in.Path = to.Path
	return invokerOf(s).Invoke(ctx, in)
}

// named gives an error for which the result had nothing to call the name of the object that it came from. Like workerd.
func (p *call) named(err error) error {
	e, ok := errors.AsType[*sidecar.Error](err)
	from, object := p.through.(interface{ ID() objectid.ID })
	if !ok || !object || e.Reason != sidecar.ReasonNoSuchMethod || e.Properties != "" {
		return err
	}
	named := *e
	named.Properties = ObjectProperties(from.ID())
	return &named
}

// begin makes a call, or reads a property, and returns its promise.
func (c *Classes) begin(n *node, args []goja.Value, read bool) *node {
	i := c.realm.Isolate()
	p := &call{classes: c, pending: sidecar.NewPending()}
	out := &node{classes: c, call: p, stub: &stub{invoker: p, source: n.stub.through()}}
	p.through = out.stub.source
	out.make(c.stubs.promises)
	thrown := i.Runtime().Try(func() {
		out.stub.context = i.RequireEvent().Context()
		c.usable(n)
		in := sidecar.Invocation{Path: n.path, Read: read, Pending: p.pending}
		if !read {
			in.Args = c.encode(func(o webapi.SerializeOptions) v8value.Value { return c.realm.SerializeList(args, o) }, sending)
		}
		c.send(n.stub, in, out)
	})
	if thrown != nil {
		p.fail(thrown.Value())
	}
	return out
}

// fail ends a call that was not sent, and with it those on its result.
func (p *call) fail(thrown goja.Value) {
	i := p.classes.realm.Isolate()
	e := *sidecar.FromError(Outward(i.Compatibility(), i.NewException(thrown)))
	e.Remote = false
	p.pending.Settle(sidecar.Value{}, &e)
	p.settle(thrown, goja.PromiseStateRejected)
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
func (c *Classes) send(s *stub, in sidecar.Invocation, out *node) {
	place, p := s.take(), out.call
	// What follows on the result lines up behind the call itself, and so do the stubs of the result.
	out.stub.after = place
	resolve, reject := p.settling(goja.PromiseStateFulfilled), p.settling(goja.PromiseStateRejected)
	c.realm.Isolate().GoInto(resolve, reject, func(ctx context.Context) func() (goja.Value, error) {
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
