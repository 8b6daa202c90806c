package isolate

import (
	"context"

	"github.com/dop251/goja"
)

// work is what a promise of the host's waits for.
type work struct {
	deferred *Deferred
	ctx      context.Context
	f        func(ctx context.Context) func() (goja.Value, error)
}

// do does the work and settles the promise.
func (w *work) do() { w.deferred.settleFrom(w.f(w.ctx)) }

// begin has work done outside the isolate: where the event may have nothing else to wait for, by the goroutine that waits
// for it.
func (i *Isolate) begin(d *Deferred, f func(ctx context.Context) func() (goja.Value, error)) {
	e := d.in.event
	w := &work{deferred: d, ctx: e.GoContext(), f: f}
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
	e.holding, e.alone = c.options.Deliver == nil && !c.options.Object, false
	turn()
	e.holding = false
	e.alone = e.held.Load() != nil && !e.finished && !c.ended && c.pending == 1 && c.timers == 0 && c.tasks == 0 &&
		c.waiters.first == &e.waiter && e.waiter.next == nil && !c.attached.used()
	if !e.alone {
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
	stop := context.AfterFunc(ctx, func() { i.loop.post(e.cancel) })
	settle := w.f(w.ctx)
	stop()
	if !i.loop.try() {
		w.deferred.Settle(settle)
		return true
	}
	defer i.loop.end()
	e.hold(func() { w.deferred.settleHere(settle) })
	return true
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
