package cron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// absentRetry is how long to wait before a Worker that nobody knows is looked for again.
const absentRetry = time.Second

// ByRouter delivers events to one of the processes of their Worker, through a caller that knows those. A Worker of which
// no process is known is waited for as long as an event may be late. An event is never sent twice.
func ByRouter(caller sidecar.Caller) cron.Deliver {
	return func(ctx context.Context, e cron.Event) (r cron.Result, err error) {
		args, err := v8value.MarshalArguments(e)
		if err != nil {
			return r, fmt.Errorf("encode a scheduled event: %w", err)
		}
		target := sidecar.Target{Worker: e.Worker, Entrypoint: cron.Entrypoint}
		for began := time.Now(); ; {
			value, err := caller.Call(ctx, target, cron.MethodScheduled, args)
			switch {
			case err == nil:
				if err := v8value.Unmarshal(value, &r); err != nil {
					return r, fmt.Errorf("read how a scheduled event ended: %w", err)
				}
				return r, nil
			case !absent(err) || time.Since(began) >= grace:
				return r, fmt.Errorf("deliver a scheduled event: %w", err)
			}
			timer := time.NewTimer(absentRetry)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return r, context.Cause(ctx)
			}
		}
	}
}

// absent says whether an error means that nobody got the event.
func absent(err error) bool {
	e, ok := errors.AsType[*sidecar.Error](err)
	return ok && (e.Reason == sidecar.ReasonNoSuchWorker || e.Reason == sidecar.ReasonUnplaced)
}

// Delivery delivers an event to the address that its Worker told, or else by the router.
func Delivery(byHTTP, byRouter cron.Deliver) cron.Deliver {
	return func(ctx context.Context, e cron.Event) (cron.Result, error) {
		if e.Address != "" {
			return byHTTP(ctx, e)
		}
		return byRouter(ctx, e)
	}
}
