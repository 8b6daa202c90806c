package sidecar

import "context"

// newLifetime returns the root of a Link's lifetime, which no caller's context may end, or of that of the calls of one
// stream, whose end is passed on to it.
func newLifetime() (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(context.Background())
}
