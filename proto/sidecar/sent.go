package sidecar

import (
	"context"

	"github.com/tandem-do/tandem/proto/lifetime"
)

type sentKey struct{}

// WithSent returns a context whose calls tell f when they have their place on the way to their object: calls to the same
// object that begin later enter it later. f may be called more than once, also for calls that its object makes in turn
// within this process, and from any goroutine; it must not block. A call that fails before may never tell.
func WithSent(ctx context.Context, f func()) context.Context {
	return &sentContext{ctx, f}
}

// sentContext is a context with the function of WithSent.
type sentContext struct {
	context.Context
	sent func()
}

var _ lifetime.Ender = (*sentContext)(nil)

// Ends implements lifetime.Ender.
func (c *sentContext) Ends() [3]<-chan struct{} { return lifetime.EndsOf(c.Context) }

// Value implements context.Context.
func (c *sentContext) Value(key any) any {
	if key == (sentKey{}) {
		return c.sent
	}
	return c.Context.Value(key)
}

// sent tells the function of WithSent, if there is one.
func sent(ctx context.Context) {
	if f, ok := ctx.Value(sentKey{}).(func()); ok {
		f()
	}
}
