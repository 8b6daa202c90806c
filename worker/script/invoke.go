package script

import (
	"context"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/runtime/env"
)

var (
	_ env.Invoker           = (*own)(nil)
	_ sidecar.InvokeHandler = entrypoints{}
)

// Invoke implements env.Invoker.
func (o *own) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	ctx, err := sidecar.Deeper(ctx)
	if err != nil {
		return sidecar.Value{}, err
	}
	release, i, err := o.script.pool.take(ctx)
	if err != nil {
		return sidecar.Value{}, err
	}
	defer release()
	return env.InvokeEntrypoint(ctx, i, o.to, in)
}

// Target says what the binding is, to scripts that it is passed to.
func (o *own) Target() sidecar.Target {
	return sidecar.Target{Worker: o.to.Worker, Entrypoint: o.to.Entrypoint, Props: o.to.Props}
}

// Invoke implements sidecar.InvokeHandler.
func (e entrypoints) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (v sidecar.Value, err error) {
	to, err := e.admit(t)
	if err != nil {
		return v, err
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanServiceCall)
	if span.Sampled() {
		span.SetString(telemetry.AttrServiceMethod, in.Method())
		describe(span, t)
	}
	defer func() { span.End(err) }()
	release, i, err := e.script.pool.take(ctx)
	if err != nil {
		return v, outward(err)
	}
	defer release()
	v, err = env.InvokeEntrypoint(ctx, i, to, in)
	return v, e.uncaught(err)
}
