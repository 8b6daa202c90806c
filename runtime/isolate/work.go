package isolate

import (
	"cmp"
	"context"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/lifetime"
)

// work is what a promise of the host's waits for.
type work struct {
	deferred *Deferred
	f        func(ctx context.Context) func() (goja.Value, error)
}

// do does the work and settles the promise.
func (w *work) do() { w.deferred.settleFrom(w.f(w.deferred.in.event.GoContext())) }

// begin has work done outside the isolate: where the event may have nothing else to wait for, by the goroutine that waits
// for it.
func (i *Isolate) begin(d *Deferred, f func(ctx context.Context) func() (goja.Value, error)) {
	e := d.in.event
	w := &work{deferred: d, f: f}
	if e.holding && e.held.CompareAndSwap(nil, w) {
		return
	}
	e.letGo() // first, in the order in which it was begun
	i.workers.Run(w.do)
}

// hold runs a turn of an event's on the goroutine that waits for the event, which then does what the turn has begun if that
// is the only thing that can go on with it: no timer, no task, no other event and nobody who could begin one. The event's
// context ends when the event does, which ends the work too.
func (e *Event) hold(turn func()) {
	c := e.context
	e.holding = c.options.Deliver == nil && !c.options.Object
	turn()
	e.holding = false
	alone := e.held.Load() != nil && !e.finished && !c.ended && c.pending == 1 && c.timers == 0 && c.tasks == 0 &&
		c.waiters.first == &e.waiter && e.waiter.next == nil && !c.attached.used()
	if !alone {
		e.letGo()
	}
}

// letGo gives work that was held to a goroutine of its own.
func (e *Event) letGo() {
	if w := e.held.Swap(nil); w != nil {
		e.context.isolate.workers.Run(w.do)
	}
}

// doHeld does work for Wait, and reports whether there was any. The end of ctx cancels the event, and with it the work.
func (e *Event) doHeld(ctx context.Context) bool {
	w, i := e.held.Swap(nil), e.context.isolate
	if w == nil {
		return false
	}
	held := &heldContext{eventContext: eventContext{Context: i.ctx, values: e.values}, event: e, caller: ctx}
	settle := w.f(held)
	held.release()
	if ctx.Err() != nil {
		i.loop.post(e.cancel)
	}
	if !i.loop.try() {
		w.deferred.Settle(settle)
		return true
	}
	defer i.loop.end()
	e.hold(func() { w.deferred.settleHere(settle) })
	return true
}

// heldContext is the event's GoContext for held work, without the cost of one. As long as the work is under way it ends with
// the caller that waits for the event too, whose end cancels the event.
type heldContext struct {
	eventContext // of the isolate's context
	event        *Event
	caller       context.Context

	mu sync.Mutex // guards all below
	// full is the event's own: once somebody waits for one channel, or uses this context after the work.
	full context.Context
	// stop ends what cancels the event when the caller goes, and over is true once the work is.
	stop func() bool
	over bool
}

var _ lifetime.Ender = (*heldContext)(nil)

// Ends implements lifetime.Ender.
func (c *heldContext) Ends() [3]<-chan struct{} {
	if full := c.own(false); full != nil {
		return [3]<-chan struct{}{full.Done()}
	}
	return [3]<-chan struct{}{c.event.context.Done(), c.caller.Done(), c.eventContext.Done()}
}

// Done implements context.Context.
func (c *heldContext) Done() <-chan struct{} { return c.own(true).Done() }

// own returns the event's own context. While the work is under way, and nobody has needed it yet, it is made only if it is
// needed, and else nil.
func (c *heldContext) own(needed bool) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil && (needed || c.over) {
		c.full = c.event.GoContext()
		if !c.over {
			c.stop = context.AfterFunc(c.caller, func() { c.event.context.isolate.loop.post(c.event.cancel) })
		}
	}
	return c.full
}

// Err implements context.Context.
func (c *heldContext) Err() error {
	if full := c.own(false); full != nil {
		return full.Err()
	}
	select {
	case <-c.event.context.Done():
		return context.Canceled
	default:
	}
	return cmp.Or(c.caller.Err(), c.eventContext.Err())
}

// release says that the work is over.
func (c *heldContext) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.stop != nil {
		c.stop()
	}
}

// settleFrom is Settle for a goroutine that may run the turn itself, where nothing else is to run before.
func (d *Deferred) settleFrom(f func() (goja.Value, error)) {
	c := d.in.event.context
	l := &c.isolate.loop
	if c.options.Deliver != nil || !l.try() {
		d.Settle(f)
		return
	}
	defer l.end()
	d.settleHere(f)
}

func (d *Deferred) settleHere(f func() (goja.Value, error)) {
	d.in.event.context.runTurn(d.in.event, func() error { return d.settleNow(f) })
}
