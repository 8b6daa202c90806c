package jsclass

import (
	"context"
	"errors"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// actorTurn is a turn of the actor's in which the isolate runs the object's code.
type actorTurn struct {
	// ctx is the turn's context: what storage wants.
	ctx context.Context
	// requests are the critical sections that the code asks for, to be run at the turn's end.
	requests []func(ctx context.Context)
}

// scope is what an event's context leads to: the object, and where what continues the event lines up.
type scope struct {
	object *object
	queue  *turnQueue
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// turn has the isolate run code in the turn that ctx belongs to, and then the critical sections that it asked for. run
// returns when the isolate has run it.
func (o *object) turn(ctx context.Context, run func()) {
	t := &actorTurn{ctx: ctx}
	o.current.Store(t)
	run()
	o.current.Store(nil)
	select {
	case <-o.isolate.Condemned():
		o.look()
	default:
	}
	for _, section := range t.requests {
		section(ctx)
	}
}

// run delivers an event within a turn that is held, and returns when it has been answered. It gives the turn away where
// the event is not done at its first turn's end.
func (o *object) run(
	ctx context.Context, q *turnQueue,
	start func(*isolate.Event) (goja.Value, error), finish func(*isolate.Event, goja.Value) error,
) error {
	values := context.WithValue(ctx, scopeKey{}, &scope{object: o, queue: q})
	var e *isolate.Event
	o.turn(ctx, func() {
		e = o.context.Start(values, start, finish)
		select {
		case <-e.Begun():
		case <-o.isolate.Condemned():
		}
	})
	err, done := e.Poll()
	if !done {
		err = o.state.Await(ctx, e.Wait)
	}
	if err != nil {
		o.look()
	}
	return err
}

// look sees after a turn whether the object can go on. Where the whole isolate ended, the object that was the reason has
// crashed; the others are reset with it.
func (o *object) look() {
	select {
	case <-o.isolate.Condemned():
		reason, err := actor.ReasonPanic, errEngine
		if x, ok := errors.AsType[*isolate.Exception](o.isolate.Cause()); ok {
			reason, err = crashOf(x)
		}
		if o.isolate.Culprit() != o.context {
			reason = actor.ReasonAborted
		}
		o.state.AbortWith(err, actor.AbortOptions{Reason: reason})
	default:
	}
	if o.state.Broken() != nil {
		o.context.Close()
	}
}

// isolateEnded resets the object with its isolate, also one that has nothing to do: its next event gets a new one. It is
// what the end of its own context calls too, when there is nothing to do.
func (o *object) isolateEnded() {
	if o.state.Broken() == nil {
		o.look()
	}
}

// stopped resets the object after a turn that was stopped: what it holds may be half done. It is
// isolate.ContextOptions.Stopped.
func (o *object) stopped(x *isolate.Exception) {
	if log := o.class.script.o.OnLog; log != nil {
		log(isolate.Entry{Level: isolate.LevelError, Text: "Uncaught " + x.Stack, Uncaught: x})
	}
	reason, err := crashOf(x)
	o.state.AbortWith(err, actor.AbortOptions{Reason: reason})
	o.context.Close()
}

// What callers get of an object that went over a limit. Like Cloudflare's.
var (
	errExceededCPU    = errors.New("Durable Object exceeded its CPU time limit and was reset.")
	errExceededMemory = errors.New("Durable Object's isolate exceeded its memory limit and was reset.")
)

// crashOf is why an object breaks for how an event ended, and what its callers get.
func crashOf(x *isolate.Exception) (actor.BrokenReason, error) {
	switch x.Outcome {
	case isolate.OutcomeExceededCPU:
		return actor.ReasonExceededCPU, errExceededCPU
	case isolate.OutcomeExceededMemory:
		return actor.ReasonExceededMemory, errExceededMemory
	case isolate.OutcomeException:
		return actor.ReasonPanic, &sidecar.Error{Name: x.Name, Message: x.Message}
	}
	return actor.ReasonPanic, errEngine
}

// deliver lets what continues an event run in a turn of the actor's; it is isolate.ContextOptions.Deliver.
func (o *object) deliver(e *isolate.Event, turn func()) {
	s := scopeOf(e.Values())
	s.queue.add(o, delivery{ctx: context.WithoutCancel(e.Values()), turn: turn})
}

type delivery struct {
	ctx  context.Context
	turn func()
}

// turnQueue takes what continues events in its order, for all code outside critical sections or within one of them.
type turnQueue struct {
	mu      sync.Mutex
	waiting []delivery
	running bool
}

func (q *turnQueue) add(o *object, d delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, d)
	if !q.running {
		q.running = true
		o.isolate.Background(func() { q.run(o) })
	}
}

func (q *turnQueue) next() (delivery, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.running, q.waiting = false, nil
		return delivery{}, false
	}
	d := q.waiting[0]
	q.waiting = q.waiting[1:]
	return d, true
}

func (q *turnQueue) run(o *object) {
	for d, ok := q.next(); ok; d, ok = q.next() {
		err := o.state.EnterBeside(d.ctx, func(ctx context.Context) error {
			o.turn(ctx, d.turn)
			return nil
		})
		if err != nil {
			if o.state.Broken() == nil {
				o.state.Abort(err) // its code would wait for ever
			}
			o.context.Close()
		}
	}
}

// section runs a function of the script's as an event within a critical section, in whose turn ctx is, and keeps what it
// returns.
func (o *object) section(ctx context.Context, call func() (goja.Value, error), value *goja.Value) error {
	return o.run(ctx, &turnQueue{}, func(*isolate.Event) (goja.Value, error) { return call() },
		func(_ *isolate.Event, v goja.Value) error {
			*value = v
			return nil
		})
}

// settled keeps the object from eviction while something may continue its code, and its host from the end of a drain while
// there are tasks of ctx.waitUntil; it is isolate.ContextOptions.Settled.
func (o *object) settled(pending, tasks bool) {
	switch {
	case pending && o.release == nil:
		o.release = o.state.Hold()
	case !pending && o.release != nil:
		o.release()
		o.release = nil
	}
	switch {
	case tasks && o.idle == nil:
		idle := make(chan struct{})
		o.idle = idle
		o.state.WaitUntil(func(ctx context.Context) error {
			select {
			case <-idle:
			case <-ctx.Done():
			}
			return nil
		})
	case !tasks && o.idle != nil:
		close(o.idle)
		o.idle = nil
	}
}

// here returns the turn that the object's code runs in, and throws when it runs in another object's.
func (o *object) here() *actorTurn {
	t := o.current.Load()
	if t == nil {
		o.isolate.Throw("Error", "Cannot perform I/O on behalf of a different Durable Object. I/O objects (such as "+
			"streams, request/response bodies, and others) created in the context of one Durable Object cannot be accessed "+
			"from a different Durable Object in the same isolate.")
	}
	return t
}

var _ actor.Instance = (*object)(nil)
