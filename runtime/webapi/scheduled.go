package webapi

import (
	"context"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// Schedule is what a scheduled handler is told.
type Schedule struct {
	// Time is when the event was due.
	Time time.Time
	Cron string
}

// Scheduled delivers a scheduled event, and returns when the handler's promise and those of ctx.waitUntil have settled. It
// reports whether the handler asked not to be tried again. Errors are those of isolate.Context.Run. It may be called from
// any goroutine but the isolate's.
func Scheduled(ctx context.Context, i *isolate.Isolate, s Schedule, to Call) (noRetry bool, err error) {
	c := to.Context
	if c == nil {
		c = i.NewContext(isolate.ContextOptions{})
	}
	err = c.Run(ctx, func(e *isolate.Event) (goja.Value, error) {
		r := Of(i)
		controller := r.rt.NewObject()
		r.tag(controller, "ScheduledController")
		_ = controller.Set("scheduledTime", s.Time.UnixMilli())
		_ = controller.Set("cron", s.Cron)
		_ = controller.Set("noRetry", r.isolate.Function("noRetry", 0, func(goja.FunctionCall) goja.Value {
			noRetry = true
			return goja.Undefined()
		}))
		var props goja.Value
		if to.Props != nil {
			props = to.Props(r)
		}
		return r.Call(e, to.Entrypoint, "scheduled", controller, props)
	}, nil)
	if err != nil {
		return noRetry, err
	}
	if to.Context != nil {
		return noRetry, nil
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		return noRetry, context.Cause(ctx)
	case <-i.Condemned():
		return noRetry, isolate.ErrClosed
	}
	return noRetry, nil
}
