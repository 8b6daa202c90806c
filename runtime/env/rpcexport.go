package env

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// hostsText is what callers get of a stub whose script's event is over. Like workerd.
const hostsText = "The execution context which hosts this callback is no longer running."

// Owner is what the owner of an isolate.Context may be, to have what crosses in and out go through its gates.
type Owner interface {
	// Deliver is isolate.Context.Run for a call of a stub, or with read for the reading of a property. Errors are as another
	// script sees them.
	Deliver(
		ctx context.Context, read bool,
		start func(*isolate.Event) (goja.Value, error), finish func(*isolate.Event, goja.Value) error,
	) error
	// Send calls send when what it sends may leave. ctx is of the event that sends.
	Send(ctx context.Context, send func(context.Context) (sidecar.Value, error)) (sidecar.Value, error)
	// Settle waits until what was written before is on disk. It is called outside the owner's turns.
	Settle(ctx context.Context) error
}

// EndedError is what callers get of a stub whose script's event is over.
func EndedError() *sidecar.Error {
	return &sidecar.Error{Reason: sidecar.ReasonException, Name: "Error", Message: hostsText}
}

// session is the owner of the context of an entrypoint's call, which lasts as long as the stubs in its result.
type session struct{}

// export is something of a script's that others can call, as one event each. It lasts until the last reference is dropped.
type export struct {
	classes *Classes
	event   *isolate.Event
	refs    atomic.Int64

	// What follows is the isolate's goroutine's.
	value  *goja.Object
	waiter *isolate.Waiter
	// lasting is true when the export is no task of its context's.
	lasting bool
}

var _ sidecar.Stub = (*export)(nil)

// isExportable reports whether calls pass an object as a stub: a function, or an instance of RpcTarget.
func (c *Classes) isExportable(o *goja.Object) bool {
	if _, ok := goja.AssertFunction(o); ok {
		return true
	}
	for p := o.Prototype(); p != nil; p = p.Prototype() {
		if p == c.stubs.target {
			return true
		}
	}
	return false
}

// export makes a reference to an object of the script's, for others, in the event that runs. The event's context lasts as
// long: without limit with inResult, for an entrypoint's call, and else as it does for ctx.waitUntil.
func (c *Classes) export(e *isolate.Event, o *goja.Object, inResult bool) *export {
	x := &export{classes: c, event: e, value: o}
	x.refs.Store(1)
	e.Context().Pend(1)
	switch e.Context().Owner().(type) {
	case session:
		if x.lasting = inResult; inResult {
			x.waiter = e.Context().Wait(func(error) {})
			return x
		}
		e.Context().BeginTask()
	case Owner: // it lasts anyway
		x.lasting = true
	default:
		e.Context().BeginTask()
	}
	return x
}

// Dup implements sidecar.Stub.
func (x *export) Dup() sidecar.Stub {
	x.refs.Add(1)
	return x
}

// Drop implements sidecar.Stub. After the last reference the target's own Symbol.dispose is called.
func (x *export) Drop() {
	if x.refs.Add(-1) != 0 {
		return
	}
	c := x.event.Context()
	c.Enter(x.event, func() error {
		if x.value == nil {
			return nil // a reference that was made too late has ended it twice
		}
		c.Pend(-1)
		switch {
		case x.waiter != nil:
			x.waiter.Done()
		case !x.lasting:
			c.EndTask()
		}
		value := x.value
		x.value = nil
		if f, ok := goja.AssertFunction(value.GetSymbol(x.classes.stubs.dispose)); ok {
			_, err := f(value)
			return err
		}
		return nil
	})
}

// Invoke implements sidecar.Stub.
func (x *export) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	c := x.event.Context()
	r := x.classes.Receive(in)
	start := func(e *isolate.Event) (goja.Value, error) {
		if x.value == nil {
			return nil, errDisposed()
		}
		return r.start(e, x.value, false)
	}
	if o, ok := c.Owner().(Owner); ok {
		return r.End(o.Deliver(ctx, in.Read, start, r.Finish))
	}
	ended := EndedError()
	select {
	case <-c.Done():
		return r.End(ended)
	default:
	}
	e := c.Start(ctx, start, r.Finish)
	sidecar.Entered(ctx)
	err := e.Wait(ctx)
	select {
	case <-c.Done():
		if known, ok := errors.AsType[*isolate.Exception](err); ok && known.Outcome == isolate.OutcomeCanceled {
			err = ended
		}
	default:
	}
	return r.End(Outward(x.classes.realm.Isolate().Compatibility(), err))
}

// Received is an invocation that a script takes in one event.
type Received struct {
	classes *Classes
	in      sidecar.Invocation

	mu     sync.Mutex // guards all below
	params []*held
	out    sidecar.Value
	// ended is true once nobody waits for the outcome, which may yet come.
	ended bool
}

// Receive begins to take an invocation. It may be called from any goroutine.
func (c *Classes) Receive(in sidecar.Invocation) *Received { return &Received{classes: c, in: in} }

// Start makes the call on an instance of a class that extends DurableObject or WorkerEntrypoint. It runs in the event's
// first turn.
func (r *Received) Start(e *isolate.Event, instance goja.Value) (goja.Value, error) {
	return r.start(e, instance, true)
}

func (r *Received) start(e *isolate.Event, on goja.Value, instance bool) (goja.Value, error) {
	args, err := r.arguments(e)
	if err != nil {
		return nil, err
	}
	return r.classes.follow(on, instance, r.in.Path, args)
}

// arguments makes the array of the arguments, whose stubs are borrowed for the call; undefined when a property is read.
func (r *Received) arguments(e *isolate.Event) (goja.Value, error) {
	if r.in.Read {
		return goja.Undefined(), nil
	}
	if len(r.in.Args.Bytes) == 0 {
		return r.classes.realm.Isolate().Runtime().NewArray(), nil
	}
	value := r.in.Args
	value.Stubs = hold(e.Context(), value.Stubs, true)
	d := &decoding{classes: r.classes, value: value, source: &stub{}}
	v, err := d.decode()
	r.mu.Lock()
	r.params = d.parts
	ended := r.ended
	r.mu.Unlock()
	if ended {
		dropAll(d.parts)
	}
	return v, err
}

// Finish takes what the script has returned, in the event's last turn.
func (r *Received) Finish(_ *isolate.Event, v goja.Value) error {
	c := r.classes
	out := c.encode(func(o webapi.SerializeOptions) v8value.Value { return c.realm.Serialize(v, o) }, returning)
	r.mu.Lock()
	ended := r.ended
	if !ended {
		r.out = out
	}
	r.mu.Unlock()
	if ended {
		out.Drop()
	}
	return nil
}

// End ends the parameters, once the event is over, and returns how the invocation ended. It may be called from any
// goroutine.
func (r *Received) End(err error) (sidecar.Value, error) {
	r.mu.Lock()
	r.ended = true
	params, out := r.params, r.out
	r.mu.Unlock()
	dropAll(params)
	if err != nil {
		out.Drop()
		return sidecar.Value{}, err
	}
	return out, nil
}

func dropAll(list []*held) {
	for _, h := range list {
		h.drop()
	}
}
