package isolate

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
)

// Event is one delivery into the script.
type Event struct {
	context *Context
	values  context.Context
	frame   frame
	// used is the computing time so far.
	used   time.Duration
	waiter Waiter
	start  func(*Event) (goja.Value, error)
	finish func(*Event, goja.Value) error
	// begun is closed when the first turn is over; nil when it was over before Start returned.
	begun chan struct{}
	// result takes the error of Run, once; nil when Run had ended before Start returned, and err then is that error.
	result   chan error
	err      error
	finished bool
	// held is work that Wait does, in place of a goroutine of its own. holding is true while a turn runs which such work may
	// come from: one on the goroutine that calls Wait.
	held    atomic.Pointer[work]
	holding bool
	// async is true when start returns what an async function did.
	async bool
	// promise is what it returned, while it is pending.
	promise *goja.Promise
	// stirred is true while the event is in Isolate.stirred.
	stirred bool
}

// frame is what a promise's continuation is run with.
type frame struct {
	event *Event
	// store is what AsyncLocalStorage keeps.
	store any
}

// Run delivers an event: start runs in its first turn, and when the promise that it returns has settled (or at once if
// it is no promise), finish runs with the value in a turn of the event's. finish may be nil. Run returns when finish
// has returned, with its error; what else the event left to do goes on until the context ends.
//
// Errors: *Exception when the script threw or hung, was interrupted or canceled; ErrClosed, ErrCondemned; the cause of
// ctx, which cancels the event; its first turn is over before. Of ctx, the event keeps the values. Run may be called from
// any goroutine but the isolate's.
func (c *Context) Run(
	ctx context.Context, start func(*Event) (goja.Value, error), finish func(*Event, goja.Value) error,
) error {
	return c.Start(ctx, start, finish).Wait(ctx)
}

// Start is the first half of Run: it hands the event over and does not wait for its end. Where the isolate has nothing
// else to do, the first turn runs on the caller's goroutine and is over when Start returns. Wait is the second half; it has
// to be called.
func (c *Context) Start(
	ctx context.Context, start func(*Event) (goja.Value, error), finish func(*Event, goja.Value) error,
) *Event {
	e := &Event{context: c, values: ctx, start: start, finish: finish}
	e.frame.event = e
	l := &c.isolate.loop
	if l.try() {
		e.beginHere()
		return e
	}
	e.begun, e.result = make(chan struct{}), make(chan error, 1)
	if !l.post(e.begin) {
		close(e.begun)
	}
	return e
}

// beginHere runs the first turn within a task of the loop that the caller has begun.
func (e *Event) beginHere() {
	defer e.context.isolate.loop.end()
	e.hold(e.begin)
	if !e.finished {
		e.result = make(chan error, 1)
	}
}

// Begun is closed when the event's first turn is over. When the isolate closes first, it may never be; see
// Isolate.Condemned. It may be called from any goroutine.
func (e *Event) Begun() <-chan struct{} {
	if e.begun == nil {
		return closedChan
	}
	return e.begun
}

// Values returns the context that Start was given. It may be called from any goroutine.
func (e *Event) Values() context.Context { return e.values }

// Wait returns when the event's finish has returned, with its error, as Run does. The end of ctx cancels the event.
func (e *Event) Wait(ctx context.Context) error {
	err := e.wait(ctx)
	if x, ok := err.(*Exception); ok && x.Outcome == OutcomeCanceled && ctx.Err() != nil { //nolint:errorlint // it is bare
		return context.Cause(ctx)
	}
	return err
}

func (e *Event) wait(ctx context.Context) error {
	if err, done := e.Poll(); done {
		return err
	}
	i := e.context.isolate
	for e.doHeld(ctx) {
		if err, done := e.Poll(); done && ctx.Err() == nil {
			return err
		}
	}
	select {
	case err := <-e.result:
		return err
	case <-ctx.Done():
		i.loop.post(e.cancel)
		return context.Cause(ctx)
	case <-i.ctx.Done():
		select {
		case err := <-e.result:
			return err
		default:
			return context.Cause(i.ctx)
		}
	}
}

// Poll returns what Wait would, if it would not wait.
func (e *Event) Poll() (err error, done bool) { //nolint:revive // the error is the value here
	if e.result == nil {
		return e.err, true
	}
	select {
	case err := <-e.result:
		return err, true
	default:
		return nil, false
	}
}

// Context returns the context that the event belongs to. It may be called from any goroutine.
func (e *Event) Context() *Context { return e.context }

// GoContext returns a context with the values of the one that Run got, which ends when the event's context ends. It may be
// called from any goroutine.
func (e *Event) GoContext() context.Context {
	return &eventContext{Context: e.context.goContext(), values: e.values}
}

type eventContext struct {
	context.Context
	values context.Context
}

func (c *eventContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// begin runs the first turn.
func (e *Event) begin() {
	if e.begun != nil {
		defer close(e.begun)
	}
	c := e.context
	if c.ended || e.values.Err() != nil {
		if e.values.Err() != nil {
			e.done(context.Cause(e.values))
		}
		e.cancel()
		return
	}
	e.waiter.event = e
	c.waiters.add(c, &e.waiter)
	c.isolate.turn(&e.frame, e.run)
}

// run is what the script does in the first turn.
func (e *Event) run() error {
	v, err := e.start(e)
	if err != nil {
		return err
	}
	i := e.context.isolate
	switch v, state, then := i.outcome(v); state {
	case goja.PromiseStateFulfilled:
		e.fulfilled(v)
	case goja.PromiseStateRejected:
		e.rejected(v)
	default:
		if o, ok := v.(*goja.Object); ok {
			if p, ok := promiseOf(o); ok {
				return i.follow(e, o, p)
			}
		}
		i.subscribe(then, v, e.fulfilled, e.rejected)
	}
	return nil
}

func (e *Event) fulfilled(v goja.Value) {
	if e.finished {
		return
	}
	var err error
	if e.finish != nil {
		err = e.finish(e, v)
	}
	e.done(e.context.isolate.exceptionOf(err))
}

func (e *Event) rejected(reason goja.Value) {
	if !e.finished {
		e.done(e.context.isolate.NewException(reason))
	}
}

// done ends Run.
func (e *Event) done(err error) {
	if e.finished {
		return
	}
	e.finished = true
	c := e.context
	c.waiters.remove(&e.waiter)
	if c.isolate.current != c {
		c.isolate.loop.post(c.settle) // the turn that runs looks after another context
	}
	if err == errCanceled { //nolint:errorlint // it is this package's own and not wrapped
		err = newCanceledError()
	}
	if e.result == nil {
		e.err = err // Start has not returned yet
		return
	}
	e.result <- err
}

// cancel is what becomes of an event whose caller has gone: a context with nothing else to do ends.
func (e *Event) cancel() {
	e.done(newCanceledError())
	c := e.context
	if !c.options.Object && c.waiters.empty() && c.tasks == 0 {
		c.end(errCanceled)
	}
}

// turn runs f as a turn of an event: all JavaScript goes through here but that of the top level.
func (i *Isolate) turn(in *frame, f func() error) {
	e := in.event
	i.frame, i.current = in, e.context
	i.watch.begin(i.options.Limits.CPU-e.used, e.context)
	err := i.tellOutcomes(i.guarded(f))
	err = i.tellOutcomes(i.conclude(err, in))
	used, fired := i.watch.end()
	e.used += used
	if fired != nil && err == nil {
		// It came when the turn was over.
		err = fired
	}
	if fired != nil && fired.outcome != OutcomeCanceled && e.context.options.Stopped != nil {
		e.context.options.Stopped(outcomeException(fired.outcome, fired.message))
	}
	if err != nil {
		if x, ok := errors.AsType[*Exception](err); ok && x.halfDone && e.context.options.Stopped != nil {
			e.context.options.Stopped(x)
		}
		e.fail(err)
	}
	i.frame, i.current = nil, nil
	e.context.settle()
	if fired != nil && fired.outcome == OutcomeExceededMemory {
		i.exhausted(e.context.options.Object)
	}
}

// exhausted gives the isolate up after an event has filled the heap: what does may be anywhere in it. An object is first
// let go alone.
func (i *Isolate) exhausted(object bool) {
	again := !i.exhaustedAt.IsZero() && time.Since(i.exhaustedAt) < leakAge
	i.exhaustedAt = time.Now()
	if !object || again {
		i.giveUp(OutcomeExceededMemory, memoryText)
	}
}

// conclude describes the error of a turn and deals with what was rejected in it. This may run code of the script, such
// as getters, and so belongs to the turn.
func (i *Isolate) conclude(err error, in *frame) error {
	i.frame, i.outer = in, i.outer[:0]
	if err == nil && len(i.rejected) == 0 {
		return nil
	}
	late := i.guarded(func() error {
		err = i.exceptionOf(err)
		i.reportRejections()
		return nil
	})
	i.frame, i.outer = in, i.outer[:0]
	if late != nil {
		return i.exceptionOf(late)
	}
	return err
}

// fail ends an event by what its turn ended with; what nobody waits for is logged.
func (e *Event) fail(err error) {
	i := e.context.isolate
	err = i.exceptionOf(err)
	x, ok := err.(*Exception) //nolint:errorlint // exceptionOf returns it bare
	if e.finished {
		if ok {
			i.reportUncaught("Uncaught ", x)
		}
		return
	}
	e.done(err)
}

// guarded runs f and turns what the engine panics with into an error.
func (i *Isolate) guarded(f func() error) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if e, ok := r.(error); ok && uncatchable(e) {
			err = e
			i.rest.restore()
			i.dropJobs()
			return
		}
		if falsePromise(r) {
			err = newFalsePromise()
			i.rest.restore()
			i.dropJobs()
			return
		}
		i.condemn(r)
		err = newInternalError()
	}()
	if thrown := i.rt.Try(func() { err = f() }); thrown != nil {
		return thrown
	}
	if err != nil && uncatchable(err) {
		i.rest.restore()
		i.dropJobs()
	}
	return err
}

// dropJobs drops the continuations that a turn which was stopped has left: they would run in the next one. The engine
// does so itself only when it is stopped outside of them.
func (i *Isolate) dropJobs() {
	i.rt.Interrupt(nil)
	if f, ok := goja.AssertFunction(i.functions.nothing); ok {
		_, _ = f(goja.Undefined())
	}
	i.rt.ClearInterrupt()
}

// AsyncStore returns what WithAsyncStore set for the code that runs, or nil.
func (i *Isolate) AsyncStore() any {
	if i.frame == nil {
		return nil
	}
	return i.frame.store
}

// WithAsyncStore calls f with a value that AsyncStore returns in it, and in what continues it later.
func (i *Isolate) WithAsyncStore(store any, f func()) {
	before := i.frame
	in := &frame{store: store}
	if before != nil {
		in.event = before.event
	}
	i.frame = in
	defer func() { i.frame = before }()
	f()
}

// tracker carries the frame along promises; it is goja.AsyncContextTracker.
type tracker struct{ isolate *Isolate }

func (t tracker) Grab() any { return t.isolate.frame }

// Resumed sets the frame of a continuation. One from global scope runs in what settled its promise.
func (t tracker) Resumed(grabbed any) {
	i := t.isolate
	i.outer = append(i.outer, i.frame)
	if f, ok := grabbed.(*frame); ok && f != nil {
		if f.event == nil && i.frame != nil {
			f = &frame{event: i.frame.event, store: f.store}
		}
		i.frame = f
		i.stir(f.event)
	}
}

func (t tracker) Exited() {
	i := t.isolate
	if last := len(i.outer) - 1; last >= 0 {
		i.frame, i.outer[last] = i.outer[last], nil
		i.outer = i.outer[:last]
	}
}
