package gate

import (
	"context"
	"sync"

	"github.com/tandem-do/tandem/durableobject/clock"
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
//
// What holds whenever mu is free:
//
//   - at most one caller holds the turn, and held says whether one does;
//   - a waiter is in the queue of the innermost section, outwards from its own, that was open when it came;
//   - if the turn is free, the queue that may have it is empty: somebody who could run never waits;
//   - the open sections form one chain, from section outwards by parent, since only the holder of a turn within the
//     innermost one can open another or close it;
//   - a broken gate has no open section, and nobody waits at it who has not begun.
//
// The last two do not hold for the moment in which breakUnless tells the owner.
type InputGate struct {
	// Hooks are set before first use.
	Hooks Hooks
	// MaxWaiting is how many callers of Enter may wait; zero means DefaultMaxWaiting. Set before first use.
	MaxWaiting int
	// Clock is what critical sections are timed by; its zero value is real time. Set before first use.
	Clock clock.Clock

	// mu guards all that follows. It is held for a few instructions at a time, never while anybody waits.
	mu sync.Mutex
	// held is true while somebody has the turn.
	held bool
	// waiting counts the callers of Enter in all queues. Continue and Reenter are not counted: what has begun must finish.
	waiting int
	// root holds who waits for a turn outside every section.
	root queue
	// section is the innermost open section, whose queue is the only one that gets turns; nil means root's is.
	section *CriticalSection
	// broken is why the gate is broken, or nil.
	broken error
}

// waiter is one caller that waits for a turn. Whoever takes it out of its queue, under mu, decides how its wait ends:
//
//	            grantLocked ──► the turn is its own
//	queued ──── releaseLocked ► it fails: the gate is broken (if it has not begun)
//	            await ────────► it gives up: its context has ended (likewise)
//
// Only the first two settle it. So a waiter that finds itself out of the queue when its context ends has been settled,
// and must see to what it was given.
type waiter struct {
	// prev and next link the queue.
	prev, next *waiter
	// in is the queue it waits in, or nil once that is over.
	in *queue
	// begun is true for Reenter: the waiter survives the breaking of the gate.
	begun bool
	// counted is true for Enter: the waiter is one of waiting.
	counted bool
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
	return g.enter(ctx, s, true)
}

// Continue is Enter for code that continues what has begun, such as an answer that an event waits for. It may wait however
// many do: the event that it belongs to was let in. Like workerd, which refuses new requests only.
func (g *InputGate) Continue(ctx context.Context, s *CriticalSection) error {
	return g.enter(ctx, s, false)
}

func (g *InputGate) enter(ctx context.Context, s *CriticalSection, counted bool) error {
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
	if counted && g.waiting >= g.maxWaiting() {
		g.mu.Unlock()
		return errQueueFull()
	}
	w := &waiter{counted: counted, settled: make(chan error, 1)}
	g.pushLocked(q, w)
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
		g.removeLocked(w)
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
	<-w.settled //nolint:errcheck // whether the gate is broken is asked anew
	err := g.Broken()
	done(err)
	return err
}

// Leave ends the caller's turn, whether to wait or for good.
func (g *InputGate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passLocked()
}

// Break breaks the gate for ever. The first reason stays.
func (g *InputGate) Break(err error) { g.breakUnless(nil, err) }

// breakUnless breaks the gate, unless it is broken already or s is a section that is over. The order matters:
//
//  1. from here on nobody new gets in;
//  2. the owner is told, who makes a new object for the events that come from here on;
//  3. the waiters are told. Whoever tries again now finds the owner's new object, and not this one's error once more.
//
// A section may be open for exactly its time: it is over or it breaks the gate, under one mutex, never both.
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
// their last turns, those of inner sections first. These may wait for nothing but each other now: whoever is within a
// section that was closed counts as outside it, so that no code hangs on a section whose end never comes.
func (g *InputGate) releaseLocked(err error) {
	var all queue
	for s := g.section; s != nil; s = s.parent {
		s.closeLocked()
		all.append(&s.queue)
	}
	all.append(&g.root)
	g.section = nil
	for w := all.first; w != nil; w = all.first {
		g.removeLocked(w)
		if w.begun {
			g.root.push(w)
		} else {
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

// maxWaiting returns the limit in force.
func (g *InputGate) maxWaiting() int {
	if g.MaxWaiting > 0 {
		return g.MaxWaiting
	}
	return DefaultMaxWaiting
}

// queueOf returns the queue for code within s: that of the nearest section, outwards from s, that is still open. Code
// outlives its section where it was started within and not waited for; it is then no more special than the code around
// the section.
func (g *InputGate) queueOf(s *CriticalSection) *queue {
	for s != nil && s.closed {
		s = s.parent
	}
	if s == nil {
		return &g.root
	}
	return &s.queue
}

// turnQueue returns the only queue that gets turns at present. All that a critical section does to others is here: the
// waiters in the outer queues are not looked at.
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

// grantLocked hands the free turn to whoever is first in the queue that may have it, if anybody is. It passes the turn
// on directly, rather than leaving it free for all who wake up, so that the order of the queue is the order of the
// turns.
func (g *InputGate) grantLocked() {
	q := g.turnQueue()
	w := q.first
	for g.broken != nil && w != nil && !w.begun {
		w = w.next // about to be told that the gate is broken
	}
	if w == nil {
		return
	}
	g.removeLocked(w)
	g.held = true
	w.settled <- nil
}

// pushLocked puts w at a queue's end, and removeLocked takes it out of its queue.
func (g *InputGate) pushLocked(q *queue, w *waiter) {
	if w.counted {
		g.waiting++
	}
	q.push(w)
}

func (g *InputGate) removeLocked(w *waiter) {
	if w.counted {
		g.waiting--
	}
	w.in.remove(w)
}
