package jsclass

import (
	"context"
	"errors"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
)

var (
	_ actor.Invoker   = (*object)(nil)
	_ env.Owner       = (*object)(nil)
	_ sidecar.Invoker = outgoing{}
)

// Invoke implements actor.Invoker.
func (o *object) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	switch {
	case len(in.Path) > 0 && env.IsReserved(in.Path[0]):
		return sidecar.Value{}, refused(reservedText, in.Path[0])
	case !o.supportsRPC:
		return sidecar.Value{}, refused(legacyText)
	}
	r := o.engine.classes.Receive(in)
	err := o.run(ctx, &o.root, func(e *isolate.Event) (goja.Value, error) { return r.Start(e, o.instance) }, r.Finish)
	return r.End(o.uncaught(ctx, err, !in.Read))
}

// Deliver implements env.Owner: a call of what the object has exported is an event of its own. Like workerd: its errors
// name the object, also those for which there was nothing to call.
func (o *object) Deliver(
	ctx context.Context, read bool,
	start func(*isolate.Event) (goja.Value, error), finish func(*isolate.Event, goja.Value) error,
) error {
	if o.state.Broken() != nil {
		return env.EndedError()
	}
	err := o.state.Deliver(ctx, func(ctx context.Context) error {
		return o.uncaught(ctx, o.run(ctx, &o.root, start, finish), !read)
	})
	e, ok := errors.AsType[*sidecar.Error](err)
	if !ok || e.Properties != "" {
		return err
	}
	named := *e
	named.Remote, named.Properties = true, env.ObjectProperties(o.state.ID())
	return &named
}

// Send implements env.Owner: a call of a stub leaves as all calls do.
func (o *object) Send(ctx context.Context, send func(context.Context) (sidecar.Value, error)) (sidecar.Value, error) {
	return sendOut(ctx, func(ctx context.Context, _ *object) (sidecar.Value, error) { return send(ctx) })
}

// Settle implements env.Owner.
func (o *object) Settle(ctx context.Context) error {
	return o.state.Await(ctx, func(context.Context) error { return nil })
}

// sendOut sends a call out of the object that ctx belongs to. What arrives when nobody waits any more is dropped.
func sendOut(
	ctx context.Context, send func(context.Context, *object) (sidecar.Value, error),
) (sidecar.Value, error) {
	type answer struct {
		value sidecar.Value
		err   error
	}
	out, gone := make(chan answer), make(chan struct{})
	defer close(gone)
	err := leave(ctx, func(ctx context.Context, o *object) {
		value, err := send(ctx, o)
		select {
		case out <- answer{value, err}:
		case <-gone:
			value.Drop()
		}
	})
	if err != nil {
		return sidecar.Value{}, sidecar.FromError(err)
	}
	select {
	case a := <-out:
		return a.value, a.err
	case <-ctx.Done():
		return sidecar.Value{}, sidecar.FromError(ctx.Err())
	}
}

// Invoke implements sidecar.Invoker.
func (g outgoing) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	return sendOut(ctx, func(ctx context.Context, o *object) (sidecar.Value, error) {
		if t.Worker != "" {
			return sidecar.Invoke(ctx, g.services, t, in)
		}
		return stubOf(o, t).Invoke(ctx, in)
	})
}
