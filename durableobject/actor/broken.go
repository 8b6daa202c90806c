package actor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/tandem-do/tandem/durableobject/gate"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// BrokenReason says why an actor runs no more events. Whatever the reason, the object itself is intact: the next
// event for it gets a new actor.
type BrokenReason int

// The reasons.
const (
	// NotBroken is a live actor.
	NotBroken BrokenReason = iota
	// ReasonIdle: it had nothing to do for a while and was evicted.
	ReasonIdle
	// ReasonConstructor: its instance could not be made.
	ReasonConstructor
	// ReasonInputGate: a critical section failed or took too long.
	ReasonInputGate
	// ReasonOutputGate: a commit failed or took too long.
	ReasonOutputGate
	// ReasonAborted: its code called Abort.
	ReasonAborted
	// ReasonPanic: its code panicked.
	ReasonPanic
	// ReasonShutdown: its host stops.
	ReasonShutdown
	// ReasonOperator: an operator ended it.
	ReasonOperator
	// ReasonUpdated: its class has other code, and it did not come to rest in time.
	ReasonUpdated
	// ReasonExceededCPU: its code computed for longer than it may.
	ReasonExceededCPU
	// ReasonExceededMemory: its code filled the memory of its host.
	ReasonExceededMemory
	// ReasonQuarantined is no actor's: the object takes no events for a while, since its actors crashed again and again.
	ReasonQuarantined
)

// IsCrash reports whether the reason is one that costs the host a lot each time, so that an object to which it happens
// again and again is quarantined.
func (r BrokenReason) IsCrash() bool {
	return r == ReasonPanic || r == ReasonExceededCPU || r == ReasonExceededMemory
}

// Crash is the error of a class that could not make an instance for a reason of its own: the actor breaks with it
// instead of ReasonConstructor.
type Crash struct {
	Reason BrokenReason
	Err    error
}

// Error returns the text of Err.
func (c *Crash) Error() string { return c.Err.Error() }

// Unwrap returns Err.
func (c *Crash) Unwrap() error { return c.Err }

// String returns the reason in one word, for logs and spans.
func (r BrokenReason) String() string {
	switch r {
	case NotBroken:
		return "none"
	case ReasonIdle:
		return "idle"
	case ReasonConstructor:
		return "constructor"
	case ReasonInputGate:
		return "inputGate"
	case ReasonOutputGate:
		return "outputGate"
	case ReasonAborted:
		return "aborted"
	case ReasonPanic:
		return "panic"
	case ReasonShutdown:
		return "shutdown"
	case ReasonOperator:
		return "operator"
	case ReasonExceededCPU:
		return "exceededCpu"
	case ReasonExceededMemory:
		return "exceededMemory"
	case ReasonQuarantined:
		return "quarantined"
	case ReasonUpdated:
		return "updated"
	}
	return fmt.Sprintf("BrokenReason(%d)", int(r))
}

var (
	// ErrNotLive is returned, as it is, by Actor's Fetch, Call and Alarm when the actor was broken or evicted before
	// the event arrived: the event did not run, and belongs to a new actor. Compare it with ==: a class's error may
	// wrap it. Code that uses the State of an evicted object gets it too.
	ErrNotLive = errors.New("the Durable Object's instance was evicted")
	// ErrNoTurn is returned by what needs a turn when ctx does not belong to one that is held: code in Await or
	// WaitUntil, on a goroutine of its own, or with a context from outside a critical section.
	ErrNoTurn = errors.New("object used outside its turn: use State.Enter, and the context that it hands over")
	// ErrInTurn is returned by Enter when ctx belongs to a turn that is held: waiting for another one would never end.
	ErrInTurn = errors.New("object entered from within its own turn")
	// ErrNoAlarmHandler is returned by Instance.Alarm when the class handles no alarms. The alarm is dropped. Like
	// workerd: outcome scriptNotFound.
	ErrNoAlarmHandler = errors.New("class has no alarm handler")
	// ErrNoFetchHandler is returned, as it is, by Instance.Fetch when the class handles no requests. The host warns of it.
	// The text is workerd's.
	ErrNoFetchHandler = errors.New("Handler does not export a fetch() function.")
)

// textAbort is what callers get of Abort without a reason. Like workerd.
const textAbort = "Application called abort() to reset Durable Object."

// textShutdown is what callers get of an event that a stopping host did not let finish.
const textShutdown = "The Durable Object's host is shutting down."

// textUpdated is what callers get of an event that new code did not wait for. Like Cloudflare's.
const textUpdated = "Durable Object reset because its code was updated."

// abortError returns what callers get of Abort.
func abortError(reason error) *sidecar.Error {
	if reason == nil {
		reason = errors.New(textAbort)
	}
	return gate.Reset(reason)
}

// ShutdownError returns how actors break when their host stops before they are done.
func ShutdownError() *sidecar.Error {
	return &sidecar.Error{Reason: sidecar.ReasonBroken, Message: textShutdown, Retryable: true, Reset: true}
}

// UpdatedError returns how actors break when their class gets other code before they are done.
func UpdatedError() *sidecar.Error {
	return &sidecar.Error{
		Reason: sidecar.ReasonBroken, Name: "Error", Message: textUpdated, Retryable: true, Reset: true,
	}
}

// panicError returns what callers get of a panic. The reference is in the log, with the panic's text and stack.
func panicError() *sidecar.Error {
	return &sidecar.Error{
		Reason: sidecar.ReasonBroken, Name: "Error", Message: "internal error; reference = " + rand.Text(), Reset: true,
	}
}

// outward returns an error of a class's code as the object's caller sees it. Whatever its reason was, it is an
// exception of this object: a stale epoch or a lost connection of a call further down must not be taken for one of
// this call. Like workerd: an error keeps its name, text and properties, and is marked as remote.
func outward(ctx context.Context, err error) *sidecar.Error {
	e := &sidecar.Error{
		Reason: sidecar.ReasonException, Name: "Error", Message: err.Error(), Remote: true, Cause: err,
	}
	var known *sidecar.Error
	var fault *storage.Error
	switch {
	case errors.As(err, &known):
		if known.Name != "" {
			e.Name = known.Name
		}
		if known.Reason == sidecar.ReasonNoSuchMethod {
			e.Reason = known.Reason
		}
		e.Retryable, e.Overloaded, e.Reset = known.Retryable, known.Overloaded, known.Reset
		e.Properties = known.Properties
	case errors.As(err, &fault):
		e.Name = fault.Class
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return sidecar.FromError(ctx.Err())
	}
	return e
}

// refused returns an error that is not the class's as the object's caller sees it: gates have made theirs for
// callers, and else it is the end of the event's context.
func refused(ctx context.Context, err error) *sidecar.Error {
	var known *sidecar.Error
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil:
		err = ctx.Err() // and not its cause, which may be anything
	case errors.Is(err, ErrNotLive):
		return &sidecar.Error{Reason: sidecar.ReasonBroken, Message: err.Error(), Reset: true, Cause: err}
	}
	return sidecar.FromError(err)
}
