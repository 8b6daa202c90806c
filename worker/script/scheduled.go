package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
	"github.com/tandem-do/tandem/worker/scheduled"
)

// Scheduled runs the script's scheduled handler and says how it ended. What the handler throws is logged, and no error
// here.
func (s *Script) Scheduled(ctx context.Context, e cron.Event) (r cron.Result, err error) {
	start := time.Now()
	defer func() {
		if s.o.Development {
			text := fmt.Sprintf("scheduled %q %s (%dms)", e.Cron, cmp.Or(r.Outcome, "failed"), time.Since(start).Milliseconds())
			s.o.OnLog(isolate.Entry{Level: isolate.LevelInfo, Text: text})
		}
		s.log.Info("scheduled event ended", "worker", s.o.Bundle.Manifest().Name, "cron", e.Cron,
			"time", e.ScheduledTime.UTC().Format(time.RFC3339), "outcome", r.Outcome, "no_retry", r.NoRetry,
			"took", time.Since(start).Round(time.Millisecond))
	}()
	release, i, err := s.pool.take(ctx)
	if err != nil {
		return cron.Result{}, err
	}
	defer release()
	noRetry, err := webapi.Schedule{Time: e.ScheduledTime, Cron: e.Cron}.Deliver(ctx, i, webapi.Call{})
	outcome := isolate.OutcomeOK
	if err != nil {
		x, ok := errors.AsType[*isolate.Exception](err)
		if !ok {
			return cron.Result{}, err
		}
		outcome = x.Outcome
		s.o.OnLog(isolate.Entry{Level: isolate.LevelError, Text: "Uncaught " + x.Stack, Uncaught: x})
	}
	return cron.Result{Outcome: outcome.String(), NoRetry: noRetry}, nil
}

// scheduled runs the handler on demand: see package scheduled.
func (v *versions) scheduled() http.Handler {
	return scheduled.Handler(scheduled.Options{
		Worker: v.options.Bundle.Manifest().Name, Deliver: v.Scheduled, Log: v.options.Log,
	})
}
