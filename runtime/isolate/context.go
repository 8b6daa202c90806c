package isolate

import (
	"context"
	"errors"
	"sync"

	"github.com/dop251/goja"
)

// ContextOptions configure a context.
type ContextOptions struct {
	// Owner is whose context it is, for packages that deliver events into it otherwise than by Run.
	Owner any
	// Object makes the context that of a live object: it lasts until Close, and an event in it is never said to hang,
	// since another may yet help it.
	Object bool
	// Deliver is called with what continues an event when a timer is due or the outside world has answered; it has turn
	// called, once, on another goroutine than the isolate's. turn returns when that turn is over. This is where an
	// input gate waits. nil delivers at once. It may be called from any goroutine, and must not wait.
	Deliver func(e *Event, turn func())
	// Settled is told at the end of each turn what may yet continue an event: whether there are timers or promises of
	// the host, and whether there are tasks of ctx.waitUntil. It is called on the isolate's goroutine, and only with
	// Object.
	Settled func(pending, tasks bool)
	// Stopped is told that a turn of the context's was stopped for a limit, or for what the engine cannot do, before its
	// event fails. It is called on the isolate's goroutine.
	Stopped func(*Exception)
}

// Context is what the timers and the input and output of events belong to.
type Context struct {
	isolate *Isolate
	options ContextOptions

	// What follows is the isolate's goroutine's.
	waiters waiterList
	// tasks are those of waitUntil that have not settled.
	tasks int
	// pending counts what may yet continue an event: timers and promises of the host.
	pending int
	// timers counts those that are set.
	timers int
	ended  bool
	// attached is what other packages keep with the context.
	attached attachments
	// stopLinger stops the clock of Limits.WaitUntil; nil while it does not run.
	stopLinger func() bool

	mu sync.Mutex // guards all below
	// lifetime is that of input and output, and ends with the context. It is made at first need.
	lifetime context.Context
	cancel   context.CancelFunc
	// cut is true once lifetime is over.
	cut bool
	// done is made at first need; over says that the context has ended.
	done chan struct{}
	over bool
}

// NewContext returns a context for events. It may be called from any goroutine.
func (i *Isolate) NewContext(o ContextOptions) *Context {
	if !o.Object {
		i.open.Add(1)
	}
	return &Context{isolate: i, options: o}
}

// Open returns how many contexts have not ended, those of objects apart. It may be called from any goroutine. An isolate
// that was condemned has none: nothing goes on in it.
func (i *Isolate) Open() int64 {
	if i.ctx.Err() != nil {
		return 0
	}
	return i.open.Load()
}

// Isolate returns the isolate. It may be called from any goroutine.
func (c *Context) Isolate() *Isolate { return c.isolate }

// Done is closed when the context has ended: its events, response bodies and tasks of waitUntil are over. It may be
// called from any goroutine. When the isolate closes first, Done is never closed; see Isolate.Condemned.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.over {
			return closedChan
		}
		c.done = make(chan struct{})
	}
	return c.done
}

// closedChan is closed.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Close ends the context: its timers never fire, its input and output is canceled, and events in it that have not
// answered fail with OutcomeCanceled. It may be called from any goroutine, and does not wait.
func (c *Context) Close() {
	c.isolate.loop.post(func() { c.end(errCanceled) })
}

var errCanceled = errors.New("the event was canceled")

// goContext is the lifetime of the context's input and output. It may be called from any goroutine.
func (c *Context) goContext() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lifetime == nil {
		c.lifetime, c.cancel = context.WithCancel(c.isolate.ctx)
		if c.cut {
			c.cancel()
		}
	}
	return c.lifetime
}

// cutShort ends the context's input and output.
func (c *Context) cutShort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *Context) end(cause error) {
	if c.ended {
		return
	}
	c.ended = true
	if !c.options.Object {
		c.isolate.open.Add(-1)
	}
	c.waiters.fail(cause)
	c.isolate.timers.removeAll(c)
	c.cutShort()
	if c.stopLinger != nil {
		c.stopLinger()
	}
	c.runAtEnd()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.done != nil {
		close(c.done)
	}
}

// settle looks after a turn whether the context is over, or can never go on.
func (c *Context) settle() {
	if c.ended {
		return
	}
	if c.options.Object {
		if c.options.Settled != nil {
			c.options.Settled(c.pending > 0, c.tasks > 0)
		}
		return
	}
	if c.pending == 0 && !c.waiters.empty() {
		c.waiters.fail(newHungError())
	}
	switch {
	case !c.waiters.empty():
		return
	case c.tasks == 0 || c.pending == 0:
		c.end(errCanceled)
	case c.stopLinger == nil:
		i := c.isolate
		c.stopLinger = i.options.Clock.AfterFunc(i.options.Limits.WaitUntil, func() {
			i.loop.post(func() { c.end(errCanceled) })
		})
	}
}

// WaitUntil keeps the context until a promise settles, or for Limits.WaitUntil after its last event. A rejection is
// reported as uncaught.
func (c *Context) WaitUntil(v goja.Value) {
	c.tasks++
	c.isolate.Await(v, func(goja.Value) { c.tasks-- }, func(reason goja.Value) {
		c.tasks--
		c.isolate.reportUncaught("Uncaught (in promise) ", c.isolate.NewException(reason))
	})
}

// Pend adds n, which may be negative, to the count of what may yet continue the context's events. An event that waits
// while the count is 0 at the end of a turn has hung.
func (c *Context) Pend(n int) { c.pending += n }

// Waiter is someone who waits for what a context's events do: a handler's caller, or the reader of a response body.
type Waiter struct {
	context *Context
	// event is told that the wait fails, or onFail.
	event      *Event
	onFail     func(error)
	prev, next *Waiter
}

// Wait registers a waiter, which keeps the context from ending. onFail is called on the isolate's goroutine when the
// context ends or hangs before Done.
func (c *Context) Wait(onFail func(error)) *Waiter {
	w := &Waiter{onFail: onFail}
	c.waiters.add(c, w)
	return w
}

// Done ends the wait. It has to be called in a turn of the context's, once.
func (w *Waiter) Done() { w.context.waiters.remove(w) }

type waiterList struct{ first *Waiter }

func (l *waiterList) empty() bool { return l.first == nil }

func (l *waiterList) add(c *Context, w *Waiter) {
	w.context = c
	w.next = l.first
	if w.next != nil {
		w.next.prev = w
	}
	l.first = w
}

func (l *waiterList) remove(w *Waiter) {
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case l.first == w:
		l.first = w.next
	default:
		return // it was removed before
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

func (l *waiterList) fail(err error) {
	for l.first != nil {
		w := l.first
		l.remove(w)
		if w.event != nil {
			w.event.done(err)
		} else {
			w.onFail(err)
		}
	}
}
