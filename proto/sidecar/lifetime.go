package sidecar

import "context"

// newLifetime returns the root of a Link's lifetime, which no caller's context may end.
func newLifetime() (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(context.Background())
}
