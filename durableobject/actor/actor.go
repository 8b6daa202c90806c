package actor

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/durableobject/gate"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// Shared is what the actors of one host have in common. It must not change once actors use it.
type Shared struct {
	// Store holds the objects.
	Store *storage.Store
	// Caller takes the calls that objects make to others.
	Caller sidecar.Caller
	// Lifetime is the context of what WaitUntil runs: it ends when the host has drained.
	Lifetime context.Context
	// MaxWaiting is how many events may wait for one object; zero means gate.DefaultMaxWaiting.
	MaxWaiting int
	// Log takes what actors have to say; never nil.
	Log *slog.Logger
	// Hooks observe.
	Hooks Hooks
}

// Hooks are how actors tell their host what happens. A nil func does nothing.
type Hooks struct {
	// Queued is called when an event has its place in the object's queue: those that come later get their turns later.
	// It may be called more than once for an event.
	Queued func(ctx context.Context)
	// InputWait and OutputWait are called when an event begins to wait at a gate, and what they return when the
	// waiting is over.
	InputWait, OutputWait func(ctx context.Context) (done func(err error))
	// Storage is called when an object uses its storage, with the operation's name in Cloudflare's API, and what it
	// returns, unless nil, when that is over.
	Storage func(ctx context.Context, operation string) (done func(err error))
	// Background is called when WaitUntil was given work, and what it returns when that is done. It must not block. It
	// is not called any more once the actor is broken.
	Background func() (done func())
	// Broken is called once for each actor that breaks, but not for evictions.
	Broken func(a *Actor, reason BrokenReason, err error)
}

// Options say which object an actor is for.
type Options struct {
	// Shared is the host's.
	Shared *Shared
	// Class makes its instance.
	Class Class
	// Namespace is the unique key of the class, ID the object within it.
	Namespace string
	ID        objectid.ID
	// Name is the name the ID was derived from; HasName tells "" from none.
	Name    string
	HasName bool
	// Previous is the last commit of the actor before this one, if it may still be under way: what this one has
	// read rests on it.
	Previous *storage.Commit
	// Before is the actor that ran the object's earlier code and retires, or nil. Events wait for its end.
	Before *Actor
}

// Actor is one live object. Make it with New; it runs no event after it broke or was evicted.
type Actor struct {
	shared    *Shared
	class     Class
	namespace string
	id        objectid.ID
	storage   *storage.Object
	state     State
	in        gate.InputGate
	out       gate.OutputGate
	// previous is Options.Previous, or the last commit of before: whoever comes after this one rests on it too.
	previous atomic.Pointer[storage.Commit]

	// instance is nil until the first event. Whoever holds the turn may use it.
	instance Instance

	// mu guards all that follows. It is not held while anything waits or user code runs.
	mu sync.Mutex
	// name is the object's name, once an event has brought it or an alarm restored it.
	name    string
	hasName bool
	// reason and err say why the actor is broken.
	reason BrokenReason
	err    error
	// noRetry says that the alarm whose handler runs must not be run again, though the actor breaks.
	noRetry bool
	// inTurns is true while somebody has the turn; starting are what WaitUntil was given meanwhile.
	inTurns  bool
	starting []func()
	// running links the events and background work under way; active counts them.
	running *turn
	active  int
	// held counts those of active that are no turns: see State.Hold.
	held int
	// before is Options.Before until that has ended. retired is not nil once this actor retires, and closed when it ended.
	before  *Actor
	retired chan struct{}
	// onEnd is State.OnEnd's; nil once it was called.
	onEnd func()
	// lastActive is when active last became zero.
	lastActive time.Time
}

// New makes an actor. It is cheap and reads nothing: the instance is made before the first event. There may be one
// actor of an object at a time that is neither broken nor evicted.
func New(o Options) *Actor {
	a := &Actor{
		shared: o.Shared, class: o.Class, namespace: o.Namespace, id: o.ID, name: o.Name, hasName: o.HasName,
		lastActive: o.Shared.Store.Clock().Now(), before: o.Before,
	}
	a.state.actor = a
	a.in.MaxWaiting, a.in.Clock = o.Shared.MaxWaiting, o.Shared.Store.Clock()
	a.in.Hooks = gate.Hooks{Wait: a.queued, Broken: a.inputBroken}
	a.out.Hooks = gate.Hooks{Wait: o.Shared.Hooks.OutputWait, Broken: a.outputBroken}
	a.storage = o.Shared.Store.Object(o.Namespace, o.ID, storage.Hooks{
		InTurn: a.inTurn, CriticalSection: a.section, Await: a.leave, SetAlarm: a.handlesAlarms,
		Observe: o.Shared.Hooks.Storage,
	})
	if o.HasName {
		a.storage.SetName(o.Name)
	}
	if o.Previous != nil {
		a.rest(o.Previous)
	}
	return a
}

// ID returns the object's ID.
func (a *Actor) ID() objectid.ID { return a.id }

// Namespace returns the unique key of the object's class.
func (a *Actor) Namespace() string { return a.namespace }

// Last returns the newest commit that the object's state rests on: the actor's last one or, if it made none, that of
// the actor before it. It is nil if there is none.
func (a *Actor) Last() *storage.Commit {
	if c := a.storage.Last(); c != nil {
		return c
	}
	if c := a.previous.Load(); c != nil {
		return c
	}
	a.mu.Lock()
	before := a.before
	a.mu.Unlock()
	if before != nil {
		return before.Last()
	}
	return nil
}

// rest has what leaves the actor wait for a commit of the one before it.
func (a *Actor) rest(c *storage.Commit) {
	a.previous.Store(c)
	a.out.Lock(c)
}

// SetName tells the name by which an event addressed the object, if the actor did not know it yet.
func (a *Actor) SetName(name string) {
	a.mu.Lock()
	known := a.hasName
	if !known && len(name) <= objectid.MaxNameBytes {
		a.name, a.hasName = name, true
	}
	a.mu.Unlock()
	if !known {
		a.storage.SetName(name)
	}
}

// Reason returns why the actor is broken, or NotBroken.
func (a *Actor) Reason() BrokenReason {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reason
}

// Evict ends the actor if it has had nothing to do for at least idle. Otherwise it says after what time to ask again.
func (a *Actor) Evict(idle time.Duration) (evicted bool, again time.Duration) {
	settled := true // an unconfirmed write may be under way still
	if c := a.Last(); c != nil {
		select {
		case <-c.Done():
		default:
			settled = false
		}
	}
	a.mu.Lock()
	rest := idle - a.shared.Store.Clock().Since(a.lastActive)
	switch {
	case a.reason != NotBroken:
		a.mu.Unlock()
		return true, 0
	case a.active > 0 || !settled || a.before != nil && a.before.Reason() == NotBroken:
		a.mu.Unlock()
		return false, idle
	case rest > 0:
		a.mu.Unlock()
		return false, rest
	}
	onEnd := a.breakLocked(ReasonIdle, ErrNotLive)
	a.mu.Unlock()
	onEnd()
	a.in.Break(ErrNotLive)
	a.out.Break(ErrNotLive) //nolint:errcheck // it returns what it was given
	return true, 0
}

// Break breaks the actor: what runs and waits fails with err.
func (a *Actor) Break(reason BrokenReason, err error) {
	a.mu.Lock()
	if a.reason != NotBroken {
		a.mu.Unlock()
		return
	}
	onEnd := a.breakLocked(reason, err)
	for t := a.running; t != nil; t = t.next {
		t.life.End(err)
	}
	starting, before := a.starting, a.before
	a.starting = nil
	a.mu.Unlock()
	onEnd()
	if before != nil {
		before.Break(reason, err) // what comes after this one does not know of it
	}
	a.in.Break(err)
	a.out.Break(err) //nolint:errcheck // it returns what it was given
	for _, start := range starting {
		start() // it finds its context ended
	}
	if a.shared.Hooks.Broken != nil {
		a.shared.Hooks.Broken(a, reason, err)
	}
}

// breakLocked notes why the actor takes no more events. Its storage is closed in the same step: whoever sees the reason
// may open it anew. onEnd is to be called without mu.
func (a *Actor) breakLocked(reason BrokenReason, err error) (onEnd func()) {
	a.storage.Close()
	a.reason, a.err = reason, err
	if a.retired != nil {
		close(a.retired)
	}
	onEnd, a.onEnd = a.onEnd, nil
	if onEnd == nil {
		return func() {}
	}
	return onEnd
}

// queued is called when code waits for a turn.
func (a *Actor) queued(ctx context.Context) func(error) {
	if a.shared.Hooks.Queued != nil {
		a.shared.Hooks.Queued(ctx)
	}
	if a.shared.Hooks.InputWait == nil {
		return nil
	}
	return a.shared.Hooks.InputWait(ctx)
}

func (a *Actor) inputBroken(err error)  { a.Break(ReasonInputGate, err) }
func (a *Actor) outputBroken(err error) { a.Break(ReasonOutputGate, err) }

// failure returns why the actor is broken, or nil.
func (a *Actor) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// enlist makes t, whose lifetime is ctx, part of what is under way, and has it end when the actor breaks.
func (a *Actor) enlist(ctx context.Context, t *turn) error {
	t.life.Begin(ctx, time.Time{})
	t.Context = &t.life
	a.mu.Lock()
	err := a.err
	if err == nil && t.event && a.retired != nil {
		err = ErrNotLive
	}
	if err != nil {
		a.mu.Unlock()
		t.life.End(err)
		return err
	}
	a.active++
	if t.background && a.shared.Hooks.Background != nil {
		t.finished = a.shared.Hooks.Background() // under mu, so that none begins once the host has broken its actors
	}
	if t.next = a.running; t.next != nil {
		t.next.prev = t
	}
	a.running = t
	a.mu.Unlock()
	return nil
}

// delist ends what enlist began.
func (a *Actor) delist(t *turn) {
	a.mu.Lock()
	if t.prev == nil {
		a.running = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	if a.active--; a.active == 0 {
		a.lastActive = a.shared.Store.Clock().Now()
	}
	retired := a.retired != nil
	a.mu.Unlock()
	if retired {
		a.restIfRetired()
	}
	t.life.End(nil)
	if t.finished != nil {
		t.finished()
	}
}

// hold counts something as active that is no turn, until release is called.
func (a *Actor) hold() (release func()) {
	a.mu.Lock()
	a.active++
	a.held++
	a.mu.Unlock()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held--
		if a.active--; a.active == 0 {
			a.lastActive = a.shared.Store.Clock().Now()
		}
	}
}

// beginTurn notes that somebody has the turn.
func (a *Actor) beginTurn() {
	a.mu.Lock()
	a.inTurns = true
	a.mu.Unlock()
}

// endTurn starts what was left to WaitUntil in the turn that ends, now that its writes are on their way.
func (a *Actor) endTurn() {
	a.mu.Lock()
	a.inTurns = false
	starting := a.starting
	a.starting = nil
	a.mu.Unlock()
	for _, start := range starting {
		start()
	}
}
