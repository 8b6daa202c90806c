package host

import (
	"context"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
)

var (
	_ sidecar.InvokeHandler = (*Host)(nil)
	_ sidecar.Invoker       = local{}
)

// Invoke implements sidecar.InvokeHandler.
func (h *Host) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	h.running.enter()
	defer h.running.leave()
	c, err := h.admit(t)
	if err != nil {
		return sidecar.Value{}, err
	}
	return h.invoke(ctx, c, t, in)
}

// invoke delivers a method call, or the reading of a property, to an object of this host.
func (h *Host) invoke(ctx context.Context, c *class, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanObjectCall)
	var value sidecar.Value
	err := h.deliver(c, targetOf(c, t), func(a *actor.Actor) (err error) {
		value, err = a.Invoke(ctx, t.Props, in)
		return err
	})
	if span.Sampled() {
		span.SetString(telemetry.AttrRPCMethodName, in.Method())
		h.describe(span, c, t, err)
	}
	span.End(err)
	return value, err
}

// Invoke implements sidecar.Invoker.
func (l local) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	l.host.running.enter()
	defer l.host.running.leave()
	c, err := l.host.class(t.Namespace)
	if err != nil {
		return sidecar.Value{}, err
	}
	if ctx, err = sidecar.Deeper(ctx); err != nil {
		return sidecar.Value{}, err
	}
	value, err := l.host.invoke(ctx, c, t, in)
	if err != nil {
		return sidecar.Value{}, l.host.outward(ctx, err)
	}
	return value, nil
}
