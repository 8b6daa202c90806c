package lifetime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context is a context.Context. Its zero value must not be used before Begin; it must not be copied.
//
//	begun ──Done, or a context made from it──► awaited: a context of the standard library does the rest
//	  └──────────────End───────────────► ended
type Context struct {
	parent context.Context
	// deadline is its own, zero without one: at the parent's it ends because the parent does, with that cause.
	deadline time.Time
	// awaited is there once somebody waits for the end.
	awaited atomic.Pointer[awaited]
	// over is true once cause is set.
	over atomic.Bool

	mu sync.Mutex // guards cause, and that awaited is set once
	// cause is why End ended it before anybody waited.
	cause error
}

// awaited is the context that stands in.
type awaited struct {
	context.Context
	end  context.CancelCauseFunc
	stop context.CancelFunc // frees the deadline's timer; nil without one
}

var _ context.Context = (*Context)(nil)

// Begin makes c a child of parent that ends at the deadline at the latest; zero means at no time of its own.
func (c *Context) Begin(parent context.Context, deadline time.Time) {
	c.parent, c.deadline = parent, deadline
}

// End ends c with a cause, which context.Cause returns; nil stands for context.Canceled. Only the first end counts.
func (c *Context) End(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.awaited.Load(); a != nil {
		a.end(cause)
		if a.stop != nil {
			a.stop()
		}
		return
	}
	if cause == nil {
		cause = context.Canceled
	}
	if c.cause == nil {
		c.cause = cause
		c.over.Store(true)
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	d, ok := c.parent.Deadline()
	if !c.deadline.IsZero() && (!ok || c.deadline.Before(d)) {
		return c.deadline, true
	}
	return d, ok
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.await().Done() }

// Err implements context.Context.
func (c *Context) Err() error {
	if a := c.awaited.Load(); a != nil {
		return a.Err()
	}
	if c.ended() {
		return c.await().Err() // which of the ends counts is decided there, once
	}
	return nil
}

// Value implements context.Context. It is also how the standard library finds the cause of an end.
func (c *Context) Value(key any) any {
	if a := c.awaited.Load(); a != nil {
		return a.Value(key)
	}
	if c.over.Load() {
		return c.await().Value(key)
	}
	return c.parent.Value(key) // the parent knows the cause of its own end, and a deadline has none
}

// ended reports whether c is over though nobody waited for it.
func (c *Context) ended() bool {
	return c.over.Load() || c.parent.Err() != nil || !c.deadline.IsZero() && !time.Now().Before(c.deadline)
}

// await returns the context that stands in, and makes it if nobody has yet.
func (c *Context) await() *awaited {
	if a := c.awaited.Load(); a != nil {
		return a
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.awaited.Load(); a != nil {
		return a
	}
	a := &awaited{}
	a.Context, a.end = context.WithCancelCause(c.parent)
	if c.cause != nil {
		a.end(c.cause)
	} else if !c.deadline.IsZero() {
		a.Context, a.stop = context.WithDeadline(a.Context, c.deadline)
	}
	c.awaited.Store(a)
	return a
}
