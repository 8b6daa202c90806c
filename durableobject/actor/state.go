package actor

import (
	"context"
	"net/http"
	"time"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
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
type State struct{}

// ID returns the object's ID.
func (s *State) ID() objectid.ID { panic("not built yet") }

// Name returns the name that the object is addressed by, and whether it has one.
func (s *State) Name() (string, bool) { panic("not built yet") }

// Storage returns the object's storage.
func (s *State) Storage() *storage.Object { panic("not built yet") }

// Namespace returns the binding of another class by its unique key. Its stubs' calls must be made in a turn or
// in Await; they wait on the output gate first and give the turn away until the reply is there.
func (s *State) Namespace(uniqueKey string) *binding.Namespace { panic("not built yet") }

// Props returns what the event's caller handed over, or nil.
func (s *State) Props(ctx context.Context) []byte { panic("not built yet") }

// Await gives the turn away while fn runs, so that other events are delivered, and takes a new one before it
// returns fn's error. fn must not touch the instance's fields or storage, except within Enter.
func (s *State) Await(ctx context.Context, fn func(context.Context) error) error {
	panic("not built yet")
}

// Enter runs fn in a turn of its own. It is for code that runs outside one: within Await, WaitUntil, or on a
// library's goroutine. It fails when the object is broken or ctx ends before the turn comes.
func (s *State) Enter(ctx context.Context, fn func(context.Context) error) error {
	panic("not built yet")
}

// WaitUntil runs fn on a goroutine of its own, outside any turn, and keeps the object from eviction until it
// returns. Its context ends when the object breaks or the host has drained. An error is logged.
func (s *State) WaitUntil(fn func(context.Context) error) { panic("not built yet") }

// BlockConcurrencyWhile runs fn while no other event is delivered, even where fn waits, for at most 30 s. An
// error of fn breaks the object.
func (s *State) BlockConcurrencyWhile(ctx context.Context, fn func(context.Context) error) error {
	panic("not built yet")
}

// Abort breaks the object: what runs and waits fails with reason, writes not yet committed are lost, and the
// next event gets a new instance.
func (s *State) Abort(reason error) { panic("not built yet") }
