package script

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/tandem-do/tandem/proto/lifetime"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// pool shares events among the isolates of a script. It makes one more, up to its size, when all that there are have
// events.
type pool struct {
	program *isolate.Program
	options isolate.Options
	// closing are the isolates that are being closed after a fault. It is closed when the pool is.
	closing lifetime.Group

	mu    sync.Mutex // guards what follows; it is not held while an isolate starts
	seats []*seat
}

// seat is the place of one isolate.
type seat struct {
	// made is held while the isolate is made, guards isolate.
	made    sync.Mutex
	isolate *isolate.Isolate
	// running is isolate for those who do not wait until it is made.
	running atomic.Pointer[isolate.Isolate]
	// events counts those on it. The pool's mu guards it.
	events int
}

func newPool(p *isolate.Program, size int, o isolate.Options) *pool {
	out := &pool{program: p, options: o}
	for range size {
		out.seats = append(out.seats, &seat{})
	}
	return out
}

// take returns an isolate that computes nothing now, if there is one, and of several the one with the fewest events; and
// what to call when the event is over.
func (p *pool) take(ctx context.Context) (release func(), i *isolate.Isolate, err error) {
	if p.closing.Closed() {
		return nil, nil, isolate.ErrClosed
	}
	p.mu.Lock()
	s := p.choose()
	s.events++
	p.mu.Unlock()
	release = func() {
		p.mu.Lock()
		s.events--
		p.mu.Unlock()
	}
	if i, err = p.live(ctx, s); err != nil {
		release()
		return nil, nil, err
	}
	return release, i, nil
}

// choose returns the seat for an event. p.mu is held.
func (p *pool) choose() *seat {
	s := p.seats[0]
	if s.events == 0 {
		return s
	}
	idle := s.idle()
	for _, other := range p.seats[1:] {
		if other.events == 0 {
			return other
		}
		otherIdle := other.idle()
		if otherIdle && !idle || otherIdle == idle && other.events < s.events {
			s, idle = other, otherIdle
		}
	}
	return s
}

// idle reports whether the seat's isolate computes nothing now.
func (s *seat) idle() bool {
	i := s.running.Load()
	return i != nil && i.Idle()
}

// live returns the isolate of a seat, which it makes at first need and again after a fault.
func (p *pool) live(ctx context.Context, s *seat) (*isolate.Isolate, error) {
	s.made.Lock()
	defer s.made.Unlock()
	if s.isolate != nil {
		select {
		case <-s.isolate.Condemned():
		default:
			return s.isolate, nil
		}
		p.closing.Go(s.isolate.Close) // it waits for what the isolate's events read, from slow clients too
	}
	if p.closing.Closed() {
		return nil, isolate.ErrClosed
	}
	s.isolate = nil
	s.running.Store(nil)
	i, err := isolate.New(context.WithoutCancel(ctx), p.program, p.options)
	if err != nil {
		return nil, err
	}
	s.isolate = i
	s.running.Store(i)
	return i, nil
}

// open returns how many contexts of events have not ended: those that run, and those with tasks of ctx.waitUntil.
func (p *pool) open() (n int64) {
	for _, s := range p.seats {
		s.made.Lock()
		if s.isolate != nil {
			n += s.isolate.Open()
		}
		s.made.Unlock()
	}
	return n
}

func (p *pool) close() {
	p.closing.Close()
	for _, s := range p.seats {
		s.made.Lock()
		if s.isolate != nil {
			s.isolate.Close()
		}
		s.made.Unlock()
	}
	p.closing.Wait()
}
