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

	mu sync.Mutex // guards all below
	// via is the stream that carries the call, and id the call's there; nil before it was sent, and where no wire does.
	via pipeline
	id  uint64
	// here is true once the reply has arrived: what follows goes to what is in it.
	here bool
}

// pipeline is a stream that takes calls on the results of others.
type pipeline interface {
	// startAfter sends a call on the result of the call id, and returns what waits for its outcome. That is errElsewhere when
	// the result is not there any more.
	startAfter(ctx context.Context, id uint64, in Invocation) (wait func() (Value, error), err error)
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
	if !p.here {
		p.via, p.id = via, id
	}
}

// arrived notes that the reply is here: no call follows it to where it arose from now on.
func (p *Pending) arrived() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here, p.via = true, nil
}

// follow sends a call to where the result arises, if it is under way there. It is done under the lock, so that what is sent
// to the result's own stubs leaves later.
func (p *Pending) follow(ctx context.Context, in Invocation) (wait func() (Value, error), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.via == nil {
		return nil, nil
	}
	return p.via.startAfter(ctx, p.id, in)
}

// Invoke makes a call on the result, as Stub's Invoke does. A *ServiceError says that the path leads to a binding.
func (p *Pending) Invoke(ctx context.Context, in Invocation) (Value, error) {
	wait, err := p.follow(ctx, in)
	if err != nil {
		return Value{}, err
	}
	if wait != nil {
		v, err := wait()
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
