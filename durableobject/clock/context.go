package clock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// timeoutContext is a context whose end a test clock brings.
type timeoutContext struct {
	context.Context // the parent
	done            chan struct{}

	mu  sync.Mutex // guards err
	err error
}

// expired is the error of a context that a test clock has ended: a deadline's, and its cause.
type expired struct{ cause error }

func (e expired) Error() string   { return e.cause.Error() }
func (e expired) Unwrap() []error { return []error{e.cause, context.DeadlineExceeded} }
func (e expired) Timeout() bool   { return true }

func withTimeout(c Clock, parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx := &timeoutContext{Context: parent, done: make(chan struct{})}
	err := context.DeadlineExceeded
	if cause != nil && !errors.Is(cause, err) {
		err = expired{cause}
	}
	timer := c.AfterFunc(d, func() { ctx.end(err) })
	stop := context.AfterFunc(parent, func() { ctx.end(parent.Err()) })
	return ctx, func() {
		timer.Stop()
		stop()
		ctx.end(context.Canceled)
	}
}

// end ends the context, unless it has ended.
func (c *timeoutContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// Deadline implements context.Context.
func (c *timeoutContext) Deadline() (time.Time, bool) { return c.Context.Deadline() }

// Done implements context.Context.
func (c *timeoutContext) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *timeoutContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
