package gate

import (
	"time"

	"github.com/tandem-do/tandem/durableobject/clock"
)

const (
	// MaxDepth is how deep critical sections nest. Like workerd: 64.
	MaxDepth = 64
	// SectionTimeout is how long a critical section may be open. Like workerd: 30 s.
	SectionTimeout = 30 * time.Second
)

// CriticalSection is a time during which an input gate admits only code that runs within it. It is made by Begin and
// over after End, Fail, or the breaking of its gate, whichever is first.
//
// Sections form a stack, each with a queue of its own; only the top one's is served:
//
//	gate.section ──► s2  queue: x, y    gets turns
//	                 │ parent
//	                 s1  queue: a       waits for the end of s2
//	                 │ parent
//	                 root queue: b, c   wait for the end of s1
//
// Within a section there may be several pieces of code, as when its function has started goroutines that come back with
// Enter: they take turns like events do outside. One of them may open the next section, which holds up the others.
type CriticalSection struct {
	// gate is what it closes.
	gate *InputGate
	// parent is the section around it, or nil.
	parent *CriticalSection
	// depth is how many sections there are from the outermost one to this, inclusive.
	depth int
	// timer breaks the gate when the section stays open for too long.
	timer clock.Timer
	// queue holds who waits for a turn within this section. The gate's mu guards it.
	queue queue
	// closed is true once the section is over. The gate's mu guards it.
	closed bool
}

// Begin opens a critical section within the innermost open one. The caller holds the turn, and keeps it: from here on
// it is a turn within the new section. An error means that the gate is broken, possibly by this very call, which
// nested too deeply; the caller still holds its turn.
func (g *InputGate) Begin() (*CriticalSection, error) {
	g.mu.Lock()
	if g.broken != nil {
		defer g.mu.Unlock()
		return nil, g.broken
	}
	s := &CriticalSection{gate: g, parent: g.section, depth: 1}
	if s.parent != nil {
		s.depth = s.parent.depth + 1
	}
	if s.depth > MaxDepth {
		g.mu.Unlock()
		err := errTooDeep()
		g.Break(err)
		return nil, err
	}
	s.timer = g.Clock.AfterFunc(SectionTimeout, s.expire)
	g.section = s
	g.mu.Unlock()
	return s, nil
}

// End closes the section. The caller holds the turn within it, and keeps it: from here on it is a turn of the
// section around it, whose waiters come after those that still wait within this one: they were begun earlier, by code
// that the others had to wait for anyway. After the gate broke, End does nothing.
func (s *CriticalSection) End() {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.closed {
		return
	}
	if s != g.section || !g.held {
		panic("gate: critical section ended out of turn") // the caller's turn can't be one within s
	}
	s.closeLocked()
	g.section = s.parent
	outer := g.turnQueue()
	s.queue.append(outer)
	outer.append(&s.queue)
}

// Fail closes the section because its code failed, which breaks the gate: what the section was meant to set up is
// not there, so nothing may run that relies on it. It returns the error that callers get. The caller keeps its turn.
func (s *CriticalSection) Fail(err error) error {
	reset := Reset(err)
	s.gate.Break(reset)
	return reset
}

// expire breaks the gate, on the timer's goroutine, unless the section was closed in time. The section's code may hold
// the turn at that moment, or wait outside it; either way it runs on, and finds the gate broken at its next step.
func (s *CriticalSection) expire() { s.gate.breakUnless(s, errSectionTimeout()) }

// closeLocked marks the section as over. Its waiters are the caller's to move.
func (s *CriticalSection) closeLocked() {
	s.closed = true
	s.timer.Stop()
}
