package sidecar

import "context"

// MaxDepth is how many calls may lead to a call. Like Cloudflare: at most 32 Workers take part in one request.
const MaxDepth = 32

// messageDepth is Cloudflare's.
const messageDepth = "Subrequest depth limit exceeded. This request recursed through Workers too many times. This can " +
	"happen e.g. if you have a Worker or Durable Object that calls other Workers or objects recursively."

type depthKey struct{}

// depthOf returns how many calls led to one that is made in ctx.
func depthOf(ctx context.Context) uint32 {
	depth, _ := ctx.Value(depthKey{}).(uint32)
	return depth
}

// Deeper returns the context of a call that is delivered within this process, so that what its target calls counts as
// one deeper. The error is an *Error: MaxDepth is reached.
func Deeper(ctx context.Context) (context.Context, error) {
	depth := depthOf(ctx)
	if depth > MaxDepth {
		return nil, tooDeep()
	}
	return context.WithValue(ctx, depthKey{}, depth+1), nil
}

func tooDeep() *Error { return &Error{Reason: ReasonInvalid, Name: "Error", Message: messageDepth} }
