package isolate

import (
	"context"
	"reflect"

	"github.com/dop251/goja"
)

// Deferred is a promise of the host's: what is outside the isolate settles it.
type Deferred struct {
	in      *frame
	promise goja.Value
	resolve func(any) error
	reject  func(any) error
}

// NewDeferred returns a promise that keeps its event from being hung until it is settled. It throws at global scope.
func (i *Isolate) NewDeferred() *Deferred {
	i.RequireEvent()
	p, resolve, reject := i.rt.NewPromise()
	i.frame.event.context.pending++
	return &Deferred{in: i.frame, promise: i.rt.ToValue(p), resolve: resolve, reject: reject}
}

// Promise returns the promise.
func (d *Deferred) Promise() goja.Value { return d.promise }

// Settle has f run in a turn of the event's and settles the promise with what it returns: an error rejects, with what
// a script threw or else with an Error. It has to be called once, and may be called from any goroutine; it does not
// wait. When the context has ended f never runs.
func (d *Deferred) Settle(f func() (goja.Value, error)) {
	d.in.event.context.Enter(d.in.event, func() error { return d.settleNow(f) })
}

func (d *Deferred) settleNow(f func() (goja.Value, error)) error {
	i := d.in.event.context.isolate
	d.in.event.context.pending--
	i.frame = d.in
	var v goja.Value
	var err error
	thrown := i.rt.Try(func() { v, err = f() })
	if thrown != nil {
		err = thrown
	}
	switch {
	case err != nil && uncatchable(err):
		return err
	case err != nil:
		return d.reject(i.ThrownValue(err))
	case v == nil:
		v = goja.Undefined()
	}
	return d.resolve(v)
}

// Enter has f run in a turn of the event's, when the context's gate lets it. It may be called from any goroutine and
// does not wait. When the context has ended f never runs.
func (c *Context) Enter(e *Event, f func() error) {
	if c.options.Deliver != nil {
		c.options.Deliver(e, func() { c.enterNow(e, f) })
		return
	}
	c.isolate.loop.post(func() { c.runTurn(e, f) })
}

func (c *Context) runTurn(e *Event, f func() error) {
	if !c.ended {
		c.isolate.turn(&e.frame, f)
	}
}

// enterNow is Enter past the gate, and returns when the turn is over.
func (c *Context) enterNow(e *Event, f func() error) {
	c.isolate.now(func() { c.runTurn(e, f) })
}

// now runs a task and returns when it has run, or the isolate has closed.
func (i *Isolate) now(f func()) {
	if i.loop.try() {
		defer i.loop.end()
		f()
		return
	}
	done := make(chan struct{})
	posted := i.loop.post(func() {
		defer close(done)
		f()
	})
	if !posted {
		return
	}
	select {
	case <-done:
	case <-i.ctx.Done():
	}
}

// SettleNow is Settle for a caller that has what the context's Deliver waits for: it goes past that, and returns when
// the turn is over.
func (d *Deferred) SettleNow(f func() (goja.Value, error)) {
	d.in.event.context.enterNow(d.in.event, func() error { return d.settleNow(f) })
}

// Go runs f outside the isolate, on another goroutine or after the present turn, and returns a promise that is settled with
// what the function that f returns gives in a turn of the event's. ctx is the event's GoContext. It throws at global scope.
func (i *Isolate) Go(f func(ctx context.Context) func() (goja.Value, error)) goja.Value {
	d := i.NewDeferred()
	i.begin(d, f)
	return d.promise
}

// GoInto is Go where the caller has what waits for the outcome: one of resolve and reject is called with it, in a turn of
// the event's.
func (i *Isolate) GoInto(
	resolve, reject func(any) error, f func(ctx context.Context) func() (goja.Value, error),
) {
	c := i.RequireEvent().context
	c.pending++
	d := &Deferred{in: i.frame, resolve: resolve, reject: reject}
	i.begin(d, f)
}

// Background runs f on a goroutine that Close waits for; once Close has been called f never runs. f has to end when the
// event's GoContext does. It may be called from any goroutine.
func (i *Isolate) Background(f func()) { i.goroutines.Go(f) }

// Await calls one of two functions, in a turn of the event that runs now, when v has settled: at once when v is no
// promise or has settled already. At global scope it is the turn of whatever settles v.
func (i *Isolate) Await(v goja.Value, fulfilled, rejected func(goja.Value)) {
	switch v, state, then := i.outcome(v); state {
	case goja.PromiseStateFulfilled:
		fulfilled(v)
	case goja.PromiseStateRejected:
		rejected(v)
	default:
		i.subscribe(then, v, fulfilled, rejected)
	}
}

// outcome returns what v has come to: itself when it is no promise, and when it is pending, with its method then.
func (i *Isolate) outcome(v goja.Value) (goja.Value, goja.PromiseState, goja.Callable) {
	o, ok := v.(*goja.Object)
	if !ok {
		return v, goja.PromiseStateFulfilled, nil
	}
	p, ok := promiseOf(o)
	if !ok {
		if then, callable := goja.AssertFunction(o.Get("then")); callable {
			return v, goja.PromiseStatePending, then
		}
		return v, goja.PromiseStateFulfilled, nil
	}
	switch p.State() {
	case goja.PromiseStatePending:
		return v, goja.PromiseStatePending, i.functions.then
	case goja.PromiseStateRejected:
		i.handled(p)
	}
	return p.Result(), p.State(), nil
}

func (i *Isolate) subscribe(then goja.Callable, o goja.Value, fulfilled, rejected func(goja.Value)) {
	call := func(f func(goja.Value)) goja.Value {
		return i.rt.ToValue(func(c goja.FunctionCall) goja.Value {
			f(c.Argument(0))
			return goja.Undefined()
		})
	}
	if _, err := then(o, call(fulfilled), call(rejected)); err != nil {
		panic(err)
	}
}

// Microtask has f run when the code that runs now has returned, with what it belongs to.
func (i *Isolate) Microtask(f func()) {
	i.subscribe(i.functions.then, i.Resolved(goja.Undefined()), func(goja.Value) { f() }, func(goja.Value) {})
}

// Resolved returns a promise that is fulfilled with v.
func (i *Isolate) Resolved(v any) goja.Value {
	p, resolve, _ := i.rt.NewPromise()
	if err := resolve(v); err != nil {
		panic(err)
	}
	return i.rt.ToValue(p)
}

// Rejected returns a promise that is rejected with v.
func (i *Isolate) Rejected(v goja.Value) goja.Value {
	p, _, reject := i.rt.NewPromise()
	if err := reject(v); err != nil {
		panic(err)
	}
	return i.rt.ToValue(p)
}

// Async calls f and returns a promise of what it returns: what it throws rejects the promise.
func (i *Isolate) Async(f func() goja.Value) goja.Value {
	var v goja.Value
	if thrown := i.rt.Try(func() { v = f() }); thrown != nil {
		return i.Rejected(thrown.Value())
	}
	if o, ok := v.(*goja.Object); ok {
		if _, ok := promiseOf(o); ok {
			return v
		}
	}
	return i.Resolved(v)
}

// promiseOf returns what is behind a promise. Other objects must not be exported: that reads all their properties.
func promiseOf(o *goja.Object) (*goja.Promise, bool) {
	if o.ExportType() != promiseType {
		return nil, false
	}
	p, ok := o.Export().(*goja.Promise)
	return p, ok
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// maxRejections bounds how many rejected promises of a turn are reported.
const maxRejections = 16

func (i *Isolate) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionHandle {
		i.handled(p)
	} else if len(i.rejected) < maxRejections {
		i.rejected = append(i.rejected, p)
	}
}

func (i *Isolate) handled(p *goja.Promise) {
	for n, r := range i.rejected {
		if r == p {
			i.rejected = append(i.rejected[:n], i.rejected[n+1:]...)
			return
		}
	}
}

// reportRejections deals with what was rejected in a turn and has no handler at its end: it is logged, unless the
// function of OnUnhandledRejection took care of it.
func (i *Isolate) reportRejections() {
	for n := 0; n < maxRejections && len(i.rejected) > 0; n++ {
		p := i.rejected[0]
		i.rejected = i.rejected[1:]
		if i.onRejection != nil && i.onRejection(i.rt.ToValue(p), p.Result()) {
			continue
		}
		i.reportUncaught("Uncaught (in promise) ", i.NewException(p.Result()))
	}
	i.rejected = nil
}

// OnUnhandledRejection has f called with each promise that was rejected in a turn and has no handler at its end, and
// with the reason, before that is logged. f reports whether it took care of it.
func (i *Isolate) OnUnhandledRejection(f func(promise, reason goja.Value) bool) { i.onRejection = f }
