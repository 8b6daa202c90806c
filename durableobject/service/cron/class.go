package cron

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/cron"
)

const (
	// grace is how late an event may be delivered.
	grace = time.Minute
	// maxRun is how long an event may run. Like Cloudflare's limit for Cron Triggers.
	maxRun = 15 * time.Minute
	// maxRunning is how many events of one Worker may run at once.
	maxRunning = 64
	// maxErrorBytes bounds the text of an error that is kept.
	maxErrorBytes = 1 << 10
	// maxAddressBytes bounds where events are delivered to.
	maxAddressBytes = 2 << 10
)

// Options say how events leave.
type Options struct {
	// Deliver delivers an event. Required.
	Deliver cron.Deliver
}

// Class returns the class, for a host.
func Class(o Options) durableobject.Class {
	return durableobject.Class{
		Name: cron.Class,
		New: func(ctx context.Context, s *durableobject.State) (any, error) {
			if o.Deliver == nil {
				return nil, errors.New("cron: Deliver is missing")
			}
			c := &object{state: s, deliver: o.Deliver}
			return c, c.load(ctx)
		},
		Methods: map[string]durableobject.Method{
			cron.MethodSet:  durableobject.Func((*object).set),
			cron.MethodList: durableobject.Func((*object).list),
		},
	}
}

// object has the schedules of one Worker.
type object struct {
	state   *durableobject.State
	deliver cron.Deliver
	// stored is what is on disk; Last of its entries is kept apart.
	stored cron.Schedules
	// parsed has the schedules by their text.
	parsed map[string]cron.Schedule
	// running is how many events run.
	running int
}

const schedulesKey = "schedules"

func lastKey(expression string) string { return "last/" + expression }

// load reads what is stored. Events that ran when the object last ended are never heard of again.
func (c *object) load(ctx context.Context) error {
	stored, _, err := durableobject.Get[cron.Schedules](ctx, c.state.Storage(), schedulesKey)
	if err != nil {
		return err
	}
	c.stored, c.parsed = stored, map[string]cron.Schedule{}
	for _, e := range stored.List {
		if c.parsed[e.Cron], err = cron.Parse(e.Cron); err != nil {
			return fmt.Errorf("stored schedule %q: %w", e.Cron, err)
		}
		last, err := c.last(ctx, e.Cron)
		if err != nil {
			return err
		}
		if last != nil && last.Outcome == "" {
			last.Outcome, last.Ended = cron.OutcomeUnknown, c.state.Clock().Now()
			if err := durableobject.Put(ctx, c.state.Storage(), lastKey(e.Cron), *last); err != nil {
				return err
			}
		}
	}
	return nil
}

// last returns the last event of a schedule, or nil.
func (c *object) last(ctx context.Context, expression string) (*cron.Run, error) {
	r, ok, err := durableobject.Get[cron.Run](ctx, c.state.Storage(), lastKey(expression))
	if err != nil || !ok {
		return nil, err
	}
	return &r, nil
}

func refuse(format string, args ...any) error {
	return durableobject.Exception(cron.ErrorName, fmt.Sprintf(format, args...))
}

func (c *object) set(ctx context.Context, q cron.Set) (cron.Schedules, error) {
	parsed := map[string]cron.Schedule{}
	next := cron.Schedules{Worker: q.Worker, Address: q.Address, List: []cron.Entry{}}
	switch {
	case len(q.Crons) > cron.MaxSchedules:
		return next, refuse("a Worker may have at most %d schedules, not %d", cron.MaxSchedules, len(q.Crons))
	case len(q.Address) > maxAddressBytes:
		return next, refuse("address has %d bytes, at most %d", len(q.Address), maxAddressBytes)
	}
	if err := checkAddress(q.Address); err != nil {
		return next, err
	}
	now := c.state.Clock().Now()
	for _, text := range q.Crons {
		if _, seen := parsed[text]; seen {
			continue
		}
		schedule, err := cron.Parse(text)
		if err != nil {
			return next, refuse("schedule %q: %s", text, err)
		}
		parsed[text] = schedule
		e := cron.Entry{Cron: text, Next: schedule.Next(now)}
		if old := slices.IndexFunc(c.stored.List, func(o cron.Entry) bool { return o.Cron == text }); old >= 0 {
			e = c.stored.List[old]
		}
		next.List = append(next.List, e)
	}
	if err := c.forget(ctx, parsed); err != nil {
		return next, err
	}
	c.parsed = parsed
	if err := c.store(ctx, next); err != nil {
		return next, err
	}
	return c.list(ctx, nil)
}

// forget deletes what is known of the events of schedules that are gone.
func (c *object) forget(ctx context.Context, stay map[string]cron.Schedule) error {
	for _, e := range c.stored.List {
		if _, ok := stay[e.Cron]; ok {
			continue
		}
		if _, err := durableobject.Delete(ctx, c.state.Storage(), lastKey(e.Cron)); err != nil {
			return err
		}
	}
	return nil
}

// store writes the schedules if they are others, and sets the alarm to when the first is due.
func (c *object) store(ctx context.Context, next cron.Schedules) error {
	same := next.Worker == c.stored.Worker && next.Address == c.stored.Address &&
		slices.EqualFunc(next.List, c.stored.List, func(a, b cron.Entry) bool {
			return a.Cron == b.Cron && a.Next.Equal(b.Next) && a.Missed.Equal(b.Missed)
		})
	c.stored = next
	var err error
	switch {
	case same:
	case len(next.List) == 0:
		_, err = durableobject.Delete(ctx, c.state.Storage(), schedulesKey)
	default:
		err = durableobject.Put(ctx, c.state.Storage(), schedulesKey, next)
	}
	if err != nil {
		return err
	}
	return c.arm(ctx)
}

// arm sets the alarm unless it is right.
func (c *object) arm(ctx context.Context) error {
	var first time.Time
	for _, e := range c.stored.List {
		if !e.Next.IsZero() && (first.IsZero() || e.Next.Before(first)) {
			first = e.Next
		}
	}
	at, ok, err := c.state.Storage().Alarm(ctx)
	switch {
	case err != nil || ok && at.Equal(first) || !ok && first.IsZero():
		return err
	case first.IsZero():
		return c.state.Storage().DeleteAlarm(ctx, storage.PutOptions{})
	}
	return c.state.Storage().SetAlarm(ctx, first, storage.PutOptions{})
}

func (c *object) list(ctx context.Context, _ any) (cron.Schedules, error) {
	s := c.stored
	s.List = make([]cron.Entry, len(c.stored.List))
	for i, e := range c.stored.List {
		last, err := c.last(ctx, e.Cron)
		if err != nil {
			return s, err
		}
		e.Last = last
		s.List[i] = e
	}
	return s, nil
}
