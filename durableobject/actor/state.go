package actor

import (
	"context"
	"net/http"
	"time"

	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// Class makes the instances of one Durable Object class, written in Go or JavaScript.
type Class interface {
	// New makes an instance, within the input gate, before the first event.
	New(ctx context.Context, s *State) (Instance, error)
}

// Instance is the user's half of a live object. Its methods are called within a turn.
type Instance interface {
	// Fetch handles an HTTP request.
	Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error
	// Call runs a method.
	Call(ctx context.Context, method string, args []byte) ([]byte, error)
	// Alarm handles the alarm.
	Alarm(ctx context.Context, a AlarmInfo) error
}

// AlarmHandler is what an Instance may be to say whether its class handles alarms. Without it, it does.
type AlarmHandler interface {
	// HandlesAlarms reports whether Alarm does more than return ErrNoAlarmHandler.
	HandlesAlarms() bool
}

// AlarmInfo says which run of an alarm this is.
type AlarmInfo struct {
	// ScheduledTime is the time that was set.
	ScheduledTime time.Time
	// RetryCount is how many runs of it have failed before; IsRetry is RetryCount > 0.
	RetryCount int
	IsRetry    bool
}

// State is what an instance has of its actor: Cloudflare's `ctx`.
//
// An event's code runs in a turn: no other event of the object runs meanwhile. It keeps its turn during
// storage operations and gives it away while it waits in Await, in a stub's call, or in a response's
// Flush. What leaves the object (replies, errors, calls, flushed bytes) waits until the writes made before
// it are on disk.
//
// Its methods may be called from any goroutine. Those that take a context want one that was handed to the
// instance, or one derived from it: that is how they know which turn they are in.
type State struct {
	actor *Actor
}

// ID returns the object's ID.
func (s *State) ID() objectid.ID { return s.actor.id }

// Name returns the name that the object is addressed by, and whether it has one.
func (s *State) Name() (string, bool) {
	a := s.actor
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.name, a.hasName
}

// Clock returns the time by which the object lives: that of its alarms. In a test it can be ahead of real time, so what
// an object promises to do at a time, or notes of one, goes by it.
func (s *State) Clock() clock.Clock { return s.actor.shared.Store.Clock() }

// Storage returns the object's storage.
func (s *State) Storage() *storage.Object { return s.actor.storage }

// Namespace returns the binding of another class by its unique key. Its stubs' calls wait on the output gate
// first; in a turn, they give it away until the reply is there. They are for code of this object only.
func (s *State) Namespace(uniqueKey string) *binding.Namespace {
	return binding.NewNamespace(uniqueKey, outgoing{s.actor})
}

// Stub returns a stub of another object, with the target's name and props, as Namespace's are.
func (s *State) Stub(t sidecar.Target) *binding.Stub { return binding.NewStub(outgoing{s.actor}, t) }

// Props returns what the event's caller handed over, or nil.
func (s *State) Props(ctx context.Context) []byte {
	if t := s.actor.turnOf(ctx); t != nil {
		return t.props
	}
	return nil
}

// Await gives the turn away while fn runs, so that other events are delivered, and takes a new one before it
// returns fn's error. fn runs once what was written before is on disk; it must not touch the instance's fields or
// storage, except within Enter. Outside a turn, Await only runs fn. When the object broke meanwhile, the error says
// why, and storage is no longer accessible: return.
func (s *State) Await(ctx context.Context, fn func(context.Context) error) error {
	return s.actor.leave(ctx, fn)
}

// Enter runs fn in a turn of its own and returns its error. It is for code that runs outside one: within Await,
// WaitUntil, or on a library's goroutine. It fails, without running fn, when the object is broken or evicted, when ctx
// ends before the turn comes, and with ErrInTurn within a turn; it is never refused because too many events wait. A
// critical section that ctx was handed to counts: its own code may enter, all other must wait until it is over.
func (s *State) Enter(ctx context.Context, fn func(context.Context) error) error {
	return s.actor.enter(ctx, fn)
}

// EnterBeside is Enter for a goroutine beside the code that ctx belongs to: where that code holds its turn at present,
// fn waits for the next one. It is how an engine that runs code of its own accord comes back.
func (s *State) EnterBeside(ctx context.Context, fn func(context.Context) error) error {
	return s.actor.enterBeside(ctx, fn)
}

// Broken returns why the object runs no more events, or nil.
func (s *State) Broken() error { return s.actor.failure() }

// OnEnd has f called once the object is broken or evicted, at once if it is. It is called once at most, by the class's New.
// f is called on any goroutine, also on one that has the turn, and must not wait.
func (s *State) OnEnd(f func()) {
	a := s.actor
	a.mu.Lock()
	ended := a.reason != NotBroken
	if !ended {
		a.onEnd = f
	}
	a.mu.Unlock()
	if ended {
		f()
	}
}

// WaitUntil runs fn on a goroutine of its own, outside any turn, and keeps the object from eviction until it
// returns. It starts at the end of the present turn, once what was written before is on disk. Its context ends when
// the object breaks or the host has drained. An error is logged. On an object that is broken it does nothing.
func (s *State) WaitUntil(fn func(context.Context) error) { s.actor.background(fn) }

// Hold keeps the object from eviction until release is called, which has to be done once. Unlike WaitUntil it is nothing
// that a host waits for when it drains: for a timer that may never come.
func (s *State) Hold() (release func()) { return s.actor.hold() }

// BlockConcurrencyWhile runs fn while no other event is delivered, even where fn waits, for at most 30 s. An
// error of fn breaks the object, as does a longer time. Within fn use the context that it is handed. Call it in a turn;
// it may be nested.
func (s *State) BlockConcurrencyWhile(ctx context.Context, fn func(context.Context) error) error {
	return s.actor.block(ctx, fn)
}

// Abort breaks the object: what runs and waits fails with reason, writes not yet committed are lost, and the
// next event gets a new instance.
//
// Nil stands for workerd's text. Go code is not stopped by it: return. An alarm whose handler aborts is run again, as
// after any failure; see AbortWith.
func (s *State) Abort(reason error) { s.AbortWith(reason, AbortOptions{}) }

// AbortOptions change what Abort does.
type AbortOptions struct {
	// NoAlarmRetry has the alarm whose handler runs at present not be run again: it is deleted, unless a new one was
	// set and committed. Cloudflare's `retryAlarm: false`.
	NoAlarmRetry bool
	// Reason is why the actor breaks; NotBroken means ReasonAborted.
	Reason BrokenReason
}

// AbortWith is Abort with options.
func (s *State) AbortWith(reason error, o AbortOptions) {
	a := s.actor
	if o.NoAlarmRetry {
		a.mu.Lock()
		if a.reason == NotBroken {
			a.noRetry = true
		}
		a.mu.Unlock()
	}
	if o.Reason == NotBroken {
		o.Reason = ReasonAborted
	}
	a.Break(o.Reason, abortError(reason))
}
