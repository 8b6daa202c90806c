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

// Scheduled delivers a scheduled event to the default export; see Schedule.Deliver.
func Scheduled(ctx context.Context, i *isolate.Isolate, at time.Time, cron string) error {
	_, err := Schedule{Time: at, Cron: cron}.Deliver(ctx, i, Call{})
	return err
}

// Deliver delivers a scheduled event, and returns when the handler's promise and those of ctx.waitUntil have settled.
// It reports whether the handler asked not to be tried again. Errors are those of isolate.Context.Run. It may be
// called from any goroutine but the isolate's.
func (s Schedule) Deliver(ctx context.Context, i *isolate.Isolate, to Call) (noRetry bool, err error) {
	c := to.Context
	if c == nil {
		c = i.NewContext(isolate.ContextOptions{})
	}
	err = c.Run(ctx, func(e *isolate.Event) (goja.Value, error) {
		r := Of(i)
		controller := r.newController(s, func() { noRetry = true })
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

func (r *Realm) newController(s Schedule, noRetry func()) *goja.Object {
	o := r.rt.NewObject()
	read := func(name string, v any) {
		_ = o.DefineDataProperty(name, r.rt.ToValue(v), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
	}
	read("scheduledTime", s.Time.UnixMilli())
	read("cron", s.Cron)
	_ = o.DefineDataProperty("noRetry", r.isolate.Function("noRetry", 0, func(goja.FunctionCall) goja.Value {
		noRetry()
		return goja.Undefined()
	}), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	r.tag(o, "ScheduledController")
	return o
}
