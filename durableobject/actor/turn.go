package actor

import (
	"context"
	"sync/atomic"

	"github.com/tandem-do/tandem/durableobject/gate"
	"github.com/tandem-do/tandem/proto/lifetime"
)

// turn is the context of code of the object: of an event, of what runs in a critical section, in Enter or in
// WaitUntil. It says whether that code holds the turn at present. Contexts derived from it lead back to it.
type turn struct {
	// Context is the event's lifetime: its caller's, ended early when the actor breaks.
	context.Context
	// actor is whose turn it is.
	actor *Actor
	// section is the critical section that the code runs within, or nil.
	section *gate.CriticalSection
	// props came with the event.
	props []byte
	// state is one of the turn states. It is atomic because goroutines that the code starts may wait too; only one
	// of them gives the turn away, and code that goes on after its event does no harm to another's turn.
	state atomic.Int32

	// event is true for an event from outside, which an actor that retires does not take.
	event bool
	// background is true for what WaitUntil runs, and finished tells the host that it is done.
	background bool
	finished   func()
	// life is Context, except for code within an event, which shares the event's.
	life lifetime.Context
	// prev and next link the actor's running list. The actor's mu guards them.
	prev, next *turn
}

// The turn states.
const (
	turnAway int32 = iota // not taken yet, or given away to wait
	turnHeld              // this code runs, nobody else does
	turnOver              // ended for good
)

// turnKey finds the innermost turn of a context.
type turnKey struct{}

// Value implements context.Context.
func (t *turn) Value(key any) any {
	if key == (turnKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// turnOf returns the turn of a that ctx belongs to, or nil. A context that went through another object's event, as
// one of a call between two objects of a host does, belongs to that one.
func (a *Actor) turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	if t == nil || t.actor != a {
		return nil
	}
	return t
}

// heldTurn returns the turn that ctx belongs to, if it is held.
func (a *Actor) heldTurn(ctx context.Context) (*turn, error) {
	if t := a.turnOf(ctx); t != nil && t.state.Load() == turnHeld {
		return t, nil
	}
	if err := a.failure(); err != nil {
		return nil, err // of a broken actor, that is the better explanation
	}
	return nil, ErrNoTurn
}

// inTurn is the storage's question whether ctx may use it.
func (a *Actor) inTurn(ctx context.Context) error {
	_, err := a.heldTurn(ctx)
	return err
}

// take takes the first turn of t, by one of the input gate's ways in.
func (a *Actor) take(t *turn, enter func(context.Context, *gate.CriticalSection) error) error {
	if err := enter(t, t.section); err != nil {
		return err
	}
	a.beginTurn()
	t.state.Store(turnHeld)
	return nil
}

// giveAway ends the turn that t holds, in order to wait, and reports whether it held one.
func (a *Actor) giveAway(t *turn) bool {
	if !t.state.CompareAndSwap(turnHeld, turnAway) {
		return false
	}
	a.pass()
	return true
}

// retake takes a new turn for t, which gave its own away. The error is why the actor is broken; t holds a turn
// nevertheless.
func (a *Actor) retake(t *turn) error {
	err := a.in.Reenter(t, t.section)
	a.beginTurn()
	if !t.state.CompareAndSwap(turnAway, turnHeld) {
		a.pass() // a goroutine that the code left behind when it returned
		return ErrNoTurn
	}
	return err
}

// end ends t for good, and its turn if it holds one.
func (a *Actor) end(t *turn) {
	if t.state.Swap(turnOver) == turnHeld {
		a.pass()
	}
}

// pass ends the turn that is held: what was written in it is on its way to disk, and locks the output gate, before
// anybody else runs. The gate is told of an unconfirmed commit too: if it fails, the object breaks.
func (a *Actor) pass() {
	if c := a.storage.Flush(); c != nil {
		if c.Confirmed() {
			a.out.Lock(c)
		} else {
			a.out.Note(c)
		}
	}
	a.endTurn()
	a.in.Leave()
}

// handOver lets inner hold the turn that t holds.
func (t *turn) handOver(inner *turn) {
	t.state.Store(turnAway)
	inner.state.Store(turnHeld)
}

// takeBack ends what handOver began: t holds the turn again.
func (t *turn) takeBack(inner *turn) {
	if inner.state.Swap(turnOver) != turnHeld {
		// A goroutine that the code left behind has given the turn away.
		t.actor.in.Reenter(t, inner.section) //nolint:errcheck // the error is met again by whatever comes next
		t.actor.beginTurn()
	}
	t.state.Store(turnHeld)
}
