package clock

import (
	"context"
	"fmt"
	"time"
)

// Clock tells the time and runs timers. The zero Clock is real time.
type Clock struct {
	test *Test
}

// Now returns the time.
func (c Clock) Now() time.Time {
	if c.test == nil {
		return time.Now()
	}
	return c.test.now()
}

// Since returns the time elapsed since t.
func (c Clock) Since(t time.Time) time.Duration {
	if c.test == nil {
		return time.Since(t)
	}
	return c.test.now().Sub(t)
}

// Until returns the time that is left until t.
func (c Clock) Until(t time.Time) time.Duration {
	if c.test == nil {
		return time.Until(t)
	}
	return t.Sub(c.test.now())
}

// AfterFunc runs f, on a goroutine of its own, once d has passed, unless the timer is stopped before.
func (c Clock) AfterFunc(d time.Duration, f func()) Timer {
	if c.test == nil {
		return Timer{real: time.AfterFunc(d, f)}
	}
	return Timer{test: c.test.afterFunc(d, f)}
}

// WithTimeout returns a context that ends, with the cause (context.DeadlineExceeded if that is nil), once d has passed.
// Call the func when what it bounds is over. By a test clock the context names no Deadline: others, who live by real
// time, would take it for one of theirs.
func (c Clock) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	if c.test == nil {
		return context.WithTimeoutCause(ctx, d, cause)
	}
	return withTimeout(c, ctx, d, cause)
}

// Hold keeps an advance from going on until it is released: whoever carries out what became due takes it before what
// told it so has returned. what says, for people, what is being done. By real time it does nothing.
func (c Clock) Hold(what fmt.Stringer) Hold {
	if c.test == nil {
		return Hold{}
	}
	return c.test.hold(what)
}

// Timer is a timer of AfterFunc. Its zero value never ran and can't be reset.
type Timer struct {
	real *time.Timer
	test *event
}

// Made reports whether the timer is one of AfterFunc's.
func (t Timer) Made() bool { return t.real != nil || t.test != nil }

// Stop keeps the func from running, and reports whether it would have run.
func (t Timer) Stop() bool {
	switch {
	case t.real != nil:
		return t.real.Stop()
	case t.test != nil:
		return t.test.clock.stop(t.test)
	}
	return false
}

// Reset has the func run once d has passed, instead of when it would have, and reports whether it would have.
func (t Timer) Reset(d time.Duration) bool {
	if t.test != nil {
		return t.test.clock.reset(t.test, d)
	}
	return t.real.Reset(d)
}

// Hold is what Clock.Hold gives. The zero Hold holds nothing.
type Hold struct {
	test *Test
	id   uint64
}

// Release lets an advance go on. Releasing twice is harmless.
func (h Hold) Release() {
	if h.test != nil {
		h.test.release(h.id)
	}
}
