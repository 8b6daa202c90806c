package gate

import (
	"context"
	"sync"
)

// DefaultMaxWaiting is how many callers of Enter may wait at one gate unless its owner says otherwise. Their number
// is what memory a slow object can take, and how stale the last one's request will be.
const DefaultMaxWaiting = 10_000

// Hooks are how a gate tells its owner what happens. A nil func does nothing.
type Hooks struct {
	// Wait is called when a caller begins to wait, with its context, and the func that it returns when the
	// waiting is over, with the error that ended it, if any. Neither is called for callers that need not wait.
	Wait func(ctx context.Context) (done func(err error))
	// Broken is called once, when the gate breaks, with the reason.
	Broken func(err error)
}

// wait calls the hook.
func (h *Hooks) wait(ctx context.Context) func(error) {
	if h.Wait != nil {
		if done := h.Wait(ctx); done != nil {
			return done
		}
	}
	return func(error) {}
}

// InputGate hands out the turns of one object. Its zero value is open and ready for use; it must not be copied.
type InputGate struct {
	// Hooks are set before first use.
	Hooks Hooks
	// MaxWaiting is how many callers of Enter may wait; zero means DefaultMaxWaiting. Set before first use.
	MaxWaiting int

	// mu guards all that follows. It is held for a few instructions at a time, never while anybody waits.
	mu sync.Mutex
	// held is true while somebody has the turn.
	held bool
	// waiting counts the callers of Enter in all queues. Reenter is not counted: who has begun must finish.
	waiting int
	// root holds who waits for a turn outside every section.
	root queue
	// section is the innermost open section, whose queue is the only one that gets turns; nil means root's is.
	section *CriticalSection
	// broken is why the gate is broken, or nil.
	broken error
}

// waiter is one caller that waits for a turn. It is in exactly one queue until it is granted its turn or fails.
type waiter struct {
	// prev and next link the queue.
	prev, next *waiter
	// in is the queue it waits in, or nil once that is over.
	in *queue
	// begun is true for Reenter: the waiter survives the breaking of the gate.
	begun bool
	// settled gets one value: nil with the turn, or the error without it. It has room for it, so that
	// nobody who settles a waiter has to wait in turn.
	settled chan error
}

// Enter waits for a turn for code that has not begun yet, within section s, or outside all sections if s is nil. If
// s has ended, the section around it takes its place. The caller then holds the turn and must Leave.
//
// It fails when ctx ends first, with the context's cause; when the gate is or gets broken, with the reason; and when
// too many wait already, with an error that says overloaded. The caller then does not hold the turn.
func (g *InputGate) Enter(ctx context.Context, s *CriticalSection) error {
	g.mu.Lock()
	if g.broken != nil {
		defer g.mu.Unlock()
		return g.broken
	}
	if ctx.Err() != nil {
		defer g.mu.Unlock()
		return context.Cause(ctx)
	}
	q := g.queueOf(s)
	if g.takeLocked(q) {
		g.mu.Unlock()
		return nil
	}
	if g.waiting >= g.maxWaiting() {
		g.mu.Unlock()
		return errQueueFull()
	}
	g.waiting++
	w := &waiter{settled: make(chan error, 1)}
	q.push(w)
	g.mu.Unlock()

	done := g.Hooks.wait(ctx)
	err := g.await(ctx, w)
	done(err)
	return err
}

// await waits until w is settled or ctx ends.
func (g *InputGate) await(ctx context.Context, w *waiter) error {
	select {
	case err := <-w.settled:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.in != nil {
		w.in.remove(w)
		g.waiting--
		return context.Cause(ctx)
	}
	// The turn and the end of the context crossed. A turn that nobody uses goes to the next one.
	if err := <-w.settled; err != nil {
		return err
	}
	g.passLocked()
	return context.Cause(ctx)
}

// Reenter waits for a turn for code that has begun and gave its turn away. It always gets one, even after its
// event was cancelled and even from a broken gate, because that code runs on in any case and must not run beside
// another. The error, if any, is why the gate is broken; the caller holds the turn nevertheless and must Leave.
func (g *InputGate) Reenter(ctx context.Context, s *CriticalSection) error {
	g.mu.Lock()
	q := g.queueOf(s)
	if g.takeLocked(q) {
		defer g.mu.Unlock()
		return g.broken
	}
	w := &waiter{begun: true, settled: make(chan error, 1)}
	q.push(w)
	g.mu.Unlock()

	done := g.Hooks.wait(ctx)
	<-w.settled
	g.mu.Lock()
	defer g.mu.Unlock()
	done(g.broken)
	return g.broken
}

// Leave ends the caller's turn, whether to wait or for good.
func (g *InputGate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passLocked()
}

// Break breaks the gate for ever. The first reason stays.
func (g *InputGate) Break(err error) { g.breakUnless(nil, err) }

// breakUnless breaks the gate, unless it is broken already or s is a section that is over. From the first step on nobody
// new gets in; the owner is told next, and the waiters last, so that whoever learns of the error finds an owner who
// knows.
func (g *InputGate) breakUnless(s *CriticalSection, err error) {
	g.mu.Lock()
	if g.broken != nil || (s != nil && s.closed) {
		g.mu.Unlock()
		return
	}
	g.broken = err
	g.mu.Unlock()
	if g.Hooks.Broken != nil {
		g.Hooks.Broken(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.releaseLocked(err)
}

// releaseLocked closes all sections, fails all waiters that have not begun with err, and lines the others up for
// their last turns, those of inner sections first.
func (g *InputGate) releaseLocked(err error) {
	var all queue
	for s := g.section; s != nil; s = s.parent {
		s.closeLocked()
		all.append(&s.queue)
	}
	all.append(&g.root)
	g.section = nil
	for w := all.first; w != nil; w = all.first {
		all.remove(w)
		if w.begun {
			g.root.push(w)
		} else {
			g.waiting--
			w.settled <- err
		}
	}
	if !g.held {
		g.grantLocked()
	}
}

// Broken returns why the gate is broken, or nil.
func (g *InputGate) Broken() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

// Waiting returns how many callers of Enter wait.
func (g *InputGate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// maxWaiting returns the limit in force.
func (g *InputGate) maxWaiting() int {
	if g.MaxWaiting > 0 {
		return g.MaxWaiting
	}
	return DefaultMaxWaiting
}

// queueOf returns the queue for code within s: that of the nearest section, outwards from s, that is still open.
func (g *InputGate) queueOf(s *CriticalSection) *queue {
	for s != nil && s.closed {
		s = s.parent
	}
	if s == nil {
		return &g.root
	}
	return &s.queue
}

// turnQueue returns the only queue that gets turns at present.
func (g *InputGate) turnQueue() *queue {
	if g.section != nil {
		return &g.section.queue
	}
	return &g.root
}

// takeLocked takes the turn at once if it is free and q may have it. Nobody can be overtaken by that: a free turn
// means that the queue which may have it is empty.
func (g *InputGate) takeLocked(q *queue) bool {
	if g.held || q != g.turnQueue() {
		return false
	}
	g.held = true
	return true
}

// passLocked ends the turn that is held and hands the next one out.
func (g *InputGate) passLocked() {
	if !g.held {
		panic("gate: turn ended that nobody held") // a broken invariant of the caller: two could run at once
	}
	g.held = false
	g.grantLocked()
}

// grantLocked hands the free turn to whoever is first in the queue that may have it, if anybody is.
func (g *InputGate) grantLocked() {
	q := g.turnQueue()
	w := q.first
	for g.broken != nil && w != nil && !w.begun {
		w = w.next // about to be told that the gate is broken
	}
	if w == nil {
		return
	}
	q.remove(w)
	if !w.begun {
		g.waiting--
	}
	g.held = true
	w.settled <- nil
}
