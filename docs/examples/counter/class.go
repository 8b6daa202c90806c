package main

import (
	"context"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
)

// Counter is a Durable Object: there is one for each name. Its methods run one at a time, so they need no locks, and what
// they store is on disk before their callers hear of it.
type Counter struct {
	state *durableobject.State
	pings int // a field lasts until the object is evicted, 10 s after its last call
}

// Status is what the method "status" returns.
type Status struct {
	Value  int     `json:"value"`
	Resets int     `json:"resets"`
	LateMS float64 `json:"lateMs"` // how long after its time the last reset came
}

func counterClass() durableobject.Class {
	return durableobject.Class{
		Name: "Counter",
		New: func(_ context.Context, s *durableobject.State) (any, error) {
			return &Counter{state: s}, nil
		},
		Methods: map[string]durableobject.Method{
			"increment": durableobject.Func((*Counter).Increment),
			"status":    durableobject.Func((*Counter).Status),
			"resetIn":   durableobject.Func((*Counter).ResetIn),
			"ping":      durableobject.Func((*Counter).Ping),
		},
	}
}

// Increment adds to the value and returns it.
func (c *Counter) Increment(ctx context.Context, by int) (int, error) {
	if by < 1 || by > 1000 {
		return 0, durableobject.Exception("RangeError", "a counter rises by 1 to 1000 at a time")
	}
	n, _, err := durableobject.Get[int](ctx, c.state.Storage(), "value")
	if err != nil {
		return 0, err
	}
	n += by
	return n, durableobject.Put(ctx, c.state.Storage(), "value", n)
}

// Status returns the value and what the alarm did. It takes no argument.
func (c *Counter) Status(ctx context.Context, _ any) (Status, error) {
	s, _, err := durableobject.Get[Status](ctx, c.state.Storage(), "resets")
	if err == nil {
		s.Value, _, err = durableobject.Get[int](ctx, c.state.Storage(), "value")
	}
	return s, err
}

// ResetIn sets the counter's alarm. It replaces one that is set.
func (c *Counter) ResetIn(ctx context.Context, seconds float64) (time.Time, error) {
	at := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	return at, c.state.Storage().SetAlarm(ctx, at, storage.PutOptions{})
}

// Alarm resets the counter. It runs once it is due, also after a crash, until it succeeds. Both writes are one commit.
func (c *Counter) Alarm(ctx context.Context, a durableobject.AlarmInfo) error {
	s, err := c.Status(ctx, nil)
	if err != nil {
		return err
	}
	s.Resets, s.LateMS = s.Resets+1, float64(time.Since(a.ScheduledTime).Microseconds())/1000
	if _, err := durableobject.Delete(ctx, c.state.Storage(), "value"); err != nil {
		return err
	}
	return durableobject.Put(ctx, c.state.Storage(), "resets", s)
}

// Ping counts in memory only.
func (c *Counter) Ping(context.Context, any) (int, error) {
	c.pings++
	return c.pings, nil
}
