package env

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// held is one reference to something that a script elsewhere has exported, from the time that it arrives here until it is
// dropped: by the script, at the end of what it belongs to, or when the engine forgets it. Its methods may be called from
// any goroutine.
type held struct {
	// borrowed is true for a stub among arguments: it ends with the call, and the reference is the caller's.
	borrowed bool

	mu   sync.Mutex // guards all below
	stub sidecar.Stub
	// set is that of the context that the reference belongs to.
	set *heldSet
	// orphaned is true when the end of the context has dropped it.
	orphaned bool
}

var _ sidecar.Stub = (*held)(nil)

func errDisposed() *sidecar.Error {
	return &sidecar.Error{Reason: sidecar.ReasonException, Name: "Error", Message: disposedStubText}
}

// hold makes references of stubs that have arrived for a context, whose end drops them.
func hold(c *isolate.Context, stubs []sidecar.Stub, borrowed bool) []sidecar.Stub {
	if len(stubs) == 0 {
		return nil
	}
	set := setOf(c)
	out := make([]sidecar.Stub, len(stubs))
	for n, s := range stubs {
		h := &held{stub: s, borrowed: borrowed}
		set.add(h)
		out[n] = h
	}
	return out
}

// watch drops the reference when the engine has forgotten the stub.
func (h *held) watch(s *stub) { watch(s, h) }

// watch drops a reference a little after the collector has found nothing else that leads to s.
func watch[T any](s *T, h *held) {
	h.mu.Lock()
	set := h.set
	h.mu.Unlock()
	if set != nil {
		set.sweepLater()
		runtime.AddCleanup(s, (*held).forget, h)
	}
}

// forget notes that the engine has forgotten the stub. The collector's goroutine, on which it runs, begins nothing else.
func (h *held) forget() {
	h.mu.Lock()
	set := h.set
	h.mu.Unlock()
	if set != nil {
		set.mu.Lock()
		set.forgotten = append(set.forgotten, h)
		set.mu.Unlock()
	}
}

// current returns what the reference is to, or nil once it was dropped.
func (h *held) current() sidecar.Stub {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stub
}

// isDisposed reports whether the script has disposed of the stub, or the call has that it was an argument of.
func (h *held) isDisposed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stub == nil && !h.orphaned
}

// Invoke implements sidecar.Stub.
func (h *held) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	s := h.current()
	if s == nil {
		return sidecar.Value{}, errDisposed()
	}
	if _, here := s.(*export); here { // a link counts for itself
		var err error
		if ctx, err = sidecar.Deeper(ctx); err != nil {
			return sidecar.Value{}, err
		}
	}
	return s.Invoke(ctx, in)
}

// dup returns another reference to what this one is to.
func (h *held) dup() (sidecar.Stub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stub == nil {
		return nil, errDisposed()
	}
	return h.stub.Dup(), nil
}

// Dup implements sidecar.Stub. What was dropped has nothing left to refer to: calls of the other one say so.
func (h *held) Dup() sidecar.Stub {
	if s, err := h.dup(); err == nil {
		return s
	}
	return &held{}
}

// take ends the reference and returns it to whoever it is passed on to; nil when it was dropped before.
func (h *held) take() sidecar.Stub {
	s := h.end()
	if s != nil && h.borrowed {
		return s.Dup()
	}
	return s
}

// drop ends the reference. It may be called more than once.
func (h *held) drop() {
	if s := h.end(); s != nil && !h.borrowed {
		s.Drop()
	}
}

// Drop implements sidecar.Stub.
func (h *held) Drop() { h.drop() }

func (h *held) end() sidecar.Stub {
	h.mu.Lock()
	s, set := h.stub, h.set
	h.stub, h.set = nil, nil
	h.mu.Unlock()
	if set != nil {
		set.remove(h)
	}
	return s
}

// heldSet are the references that belong to a context, which ends them.
type heldSet struct {
	mu sync.Mutex // guards all below
	// all is nil once the context has ended.
	all map[*held]struct{}
	// forgotten are those whose stubs the engine has forgotten; timer drops them, and is nil where none is watched.
	forgotten []*held
	timer     *time.Timer
}

// sweepInterval is how often what the engine has forgotten is dropped.
const sweepInterval = time.Second

// sweepLater has what is forgotten from now on be dropped.
func (s *heldSet) sweepLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && s.all != nil {
		s.timer = time.AfterFunc(sweepInterval, s.sweep)
	}
}

// sweep drops what the engine has forgotten, and goes on while there is more that it may forget.
func (s *heldSet) sweep() {
	s.mu.Lock()
	gone := s.forgotten
	s.forgotten = nil
	s.mu.Unlock()
	for _, h := range gone {
		h.drop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.timer == nil: // the context has ended
	case len(s.all) > 0:
		s.timer.Reset(sweepInterval)
	default:
		s.timer = nil
	}
}

type heldKey struct{}

// setOf returns the references of a context.
func setOf(c *isolate.Context) *heldSet {
	fresh := false
	s := c.Attach(heldKey{}, func() any {
		fresh = true
		return &heldSet{all: map[*held]struct{}{}}
	}).(*heldSet)
	if fresh {
		c.AtEnd(s.end)
	}
	return s
}

func (s *heldSet) add(h *held) {
	h.mu.Lock()
	h.set = s
	h.mu.Unlock()
	s.mu.Lock()
	ended := s.all == nil
	if !ended {
		s.all[h] = struct{}{}
	}
	s.mu.Unlock()
	if ended {
		h.drop()
	}
}

func (s *heldSet) remove(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

func (s *heldSet) end() {
	s.mu.Lock()
	all := s.all
	s.all, s.forgotten = nil, nil
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.mu.Unlock()
	for h := range all {
		if !h.borrowed {
			h.mu.Lock()
			h.orphaned = h.stub != nil
			h.mu.Unlock()
		}
		h.drop()
	}
}
