package sidecar

import (
	"context"
	"errors"
	"sync"
)

// Pending is the result of a call that may still be under way. Calls can be made on it before it is there: on a Link
// they follow the call in the same direction, and find its result where it arises.
type Pending struct {
	done  chan struct{}
	value Value
	err   error

	mu sync.Mutex // guards via and id
	// via is the stream that carries the call, and id the call's there; nil before it was sent, and where no wire does.
	via pipeline
	id  uint64
}

// pipeline is a stream that takes calls on the results of others.
type pipeline interface {
	// invokeAfter makes a call on the result of the call id. The error is errElsewhere when that is not there any more.
	invokeAfter(ctx context.Context, id uint64, in Invocation) (Value, error)
}

// errElsewhere is returned when the result that a call follows is no longer, or cannot be used, where it arose: the
// caller has it, or will have.
var errElsewhere = errors.New("the result is with the caller")

// NewPending returns the result of a call that is to be made.
func NewPending() *Pending { return &Pending{done: make(chan struct{})} }

// Settle gives the call's outcome. It is to be called once.
func (p *Pending) Settle(v Value, err error) {
	p.value, p.err = v, err
	close(p.done)
}

// sentBy notes which stream carries the call.
func (p *Pending) sentBy(via pipeline, id uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.via, p.id = via, id
}

// Invoke makes a call on the result, as Stub's Invoke does.
func (p *Pending) Invoke(ctx context.Context, in Invocation) (Value, error) {
	p.mu.Lock()
	via, id := p.via, p.id
	p.mu.Unlock()
	select {
	case <-p.done:
		via = nil
	default:
	}
	if via != nil {
		v, err := via.invokeAfter(ctx, id, in)
		if !errors.Is(err, errElsewhere) {
			return v, err
		}
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return Value{}, FromError(ctx.Err())
	}
	if p.err != nil {
		return Value{}, p.err
	}
	return p.value.Invoke(ctx, in)
}
