package sidecar

import "context"

type sentKey struct{}

// WithSent returns a context whose calls tell f when they have their place on the way to their object: calls to the same
// object that begin later enter it later. f may be called more than once, also for calls that its object makes in turn
// within this process, and from any goroutine; it must not block. A call that fails before may never tell.
func WithSent(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, sentKey{}, f)
}

// sent tells the function of WithSent, if there is one.
func sent(ctx context.Context) {
	if f, ok := ctx.Value(sentKey{}).(func()); ok {
		f()
	}
}
