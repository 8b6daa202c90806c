package cron

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/cron"
)

// due returns the time for which a schedule is to be delivered now, and whether times since next, when it was last
// expected, were missed. The time is zero when there is none.
func due(s cron.Schedule, next, now time.Time) (at time.Time, missed bool) {
	at = s.Next(now.Add(-grace))
	if at.IsZero() || at.After(now) {
		return time.Time{}, true
	}
	return at, at.After(next)
}

// Alarm delivers what is due. That it does is on disk before an event leaves, so that none leaves twice.
func (c *object) Alarm(ctx context.Context, _ durableobject.AlarmInfo) error {
	now := c.state.Clock().Now()
	next := c.stored
	next.List = slices.Clone(c.stored.List)
	var starting []cron.Event
	for i, e := range next.List {
		if e.Next.IsZero() || e.Next.After(now) {
			continue
		}
		s := c.parsed[e.Cron]
		at, missed := due(s, e.Next, now)
		if missed {
			next.List[i].Missed = e.Next
		}
		if !at.IsZero() {
			starting = append(starting, cron.Event{
				Worker: next.Worker, Address: next.Address, Cron: e.Cron, ScheduledTime: at,
			})
		}
		next.List[i].Next = s.Next(now)
	}
	if err := c.store(ctx, next); err != nil {
		return err
	}
	for _, e := range starting {
		if err := c.start(ctx, e, now); err != nil {
			return err
		}
	}
	return nil
}

// start has an event delivered after this turn.
func (c *object) start(ctx context.Context, e cron.Event, now time.Time) error {
	run := cron.Run{ScheduledTime: e.ScheduledTime, Started: now}
	if c.running >= maxRunning {
		run.Ended, run.Outcome = now, cron.OutcomeLoadShed
		return durableobject.Put(ctx, c.state.Storage(), lastKey(e.Cron), run)
	}
	if err := durableobject.Put(ctx, c.state.Storage(), lastKey(e.Cron), run); err != nil {
		return err
	}
	c.running++
	hold := c.state.Clock().Hold(delivery(e))
	c.state.WaitUntil(func(ctx context.Context) error {
		defer hold.Release()
		run.Outcome, run.Error = c.outcome(ctx, e)
		return c.state.Enter(ctx, func(ctx context.Context) error { return c.end(ctx, e.Cron, run) })
	})
	return nil
}

// delivery words an event for people.
type delivery cron.Event

// String says what is delivered to whom.
func (d delivery) String() string { return "cron " + d.Cron + " of " + d.Worker }

var errTooLong = errors.New("the event took longer than 15 minutes")

// outcome delivers an event and says how it ended.
func (c *object) outcome(ctx context.Context, e cron.Event) (outcome, text string) {
	ctx, cancel := c.state.Clock().WithTimeout(ctx, maxRun, errTooLong)
	defer cancel()
	r, err := c.deliver(ctx, e)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTooLong):
		return cron.OutcomeExceededWallTime, errTooLong.Error()
	case err != nil:
		return cron.OutcomeInternalError, shorten(err.Error())
	case r.Outcome == "":
		return cron.OutcomeUnknown, ""
	}
	return shorten(r.Outcome), ""
}

func shorten(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxErrorBytes)], "\uFFFD")
}

// end records how an event ended, unless the schedule is gone or has had a later event.
func (c *object) end(ctx context.Context, expression string, run cron.Run) error {
	c.running--
	last, err := c.last(ctx, expression)
	if err != nil || last == nil || last.ScheduledTime.After(run.ScheduledTime) {
		return err
	}
	run.Ended = c.state.Clock().Now()
	return durableobject.Put(ctx, c.state.Storage(), lastKey(expression), run)
}
