package isolate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/lifetime"
	"github.com/tandem-do/tandem/proto/parked"
)

// maxParked is how many goroutines of an isolate wait for more to do.
const maxParked = 64

// Isolate is one JavaScript heap. Methods that take or return values of the engine, and those of the objects that
// they belong to, may be called on the isolate's goroutine only: within the functions given to Options, Context.Run
// and Deferred. The others say so.
type Isolate struct {
	options Options
	log     *slog.Logger
	rt      *goja.Runtime
	rest    *rest
	loop    loop
	watch   watch

	// frame is where the code that runs belongs; nil at global scope.
	frame *frame
	// outer are the frames that promises' continuations have set aside, one for each that runs within another.
	outer []*frame
	// current is the context whose turn runs.
	current *Context
	// stirred are the events with a promise that the turn which runs has continued.
	stirred     []*Event
	timers      timers
	onRejection func(promise, reason goja.Value) bool
	awaited     func(*goja.Object) goja.Value
	// rejected are promises that were rejected in this turn and have no handler.
	rejected []*goja.Promise

	modules map[string]goja.Value
	exports *goja.Object
	// values are what installers keep, by key.
	values    map[any]any
	functions engineFunctions
	// started is false while the top level runs.
	started bool
	// exhaustedAt is when an event last filled the heap.
	exhaustedAt time.Time
	// culprit is whose turn the isolate was given up for.
	culprit atomic.Pointer[Context]

	// ctx ends when the isolate closes.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// open counts contexts that have not ended.
	open atomic.Int64
	// workers wait for the outside world, and run the turns that its answers bring; goroutines are these and those of
	// Background.
	workers    *parked.Goroutines[func()]
	goroutines lifetime.Group
	// endings are for the end of the isolate, by itself.
	endings endings
}

// Causes for which a context ends.
var (
	// ErrClosed is returned when the isolate was closed.
	ErrClosed = errors.New("the isolate is closed")
	// ErrCondemned is returned when the engine failed: the isolate runs nothing more, and has to be replaced.
	ErrCondemned = errors.New("the isolate is condemned after a fault of the engine")
)

// New makes an isolate and runs the script's top level on its goroutine. Errors are those of the installers,
// *Exception when the script throws, and what ends ctx. Close it.
func New(ctx context.Context, p *Program, o Options) (*Isolate, error) {
	o.Limits.ensureDefaults()
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	i := &Isolate{options: o, log: o.Log, modules: map[string]goja.Value{}, values: map[any]any{}}
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	i.ctx, i.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	i.watch.init(i)
	i.loop.start(i)
	i.workers = parked.New(parked.Options[func()]{
		Do: func(f func()) { f() }, Max: maxParked, Go: func(f func()) { i.goroutines.Go(f) }, Done: i.ctx.Done(),
	})
	if err := i.start(ctx, p); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// Close stops the isolate: what runs is interrupted, events fail with ErrClosed. It returns when its goroutines have
// ended, unless a built-in function of the engine goes on for longer than that is waited for. It may be called from any
// goroutine but the isolate's, and more than once.
func (i *Isolate) Close() { i.stop(ErrClosed) }

func (i *Isolate) stop(cause error) {
	i.shut(cause)
	i.watch.interrupt(&interruption{outcome: OutcomeCanceled, cause: cause})
	ended := i.loop.wait()
	i.goroutines.Close()
	if ended {
		i.goroutines.Wait()
		return
	}
	// The built-in function may run on one of its goroutines.
	i.endings.run()
}

// shut ends every event. No turn begins from here on, so that the script never sees what it waits for end for this reason.
func (i *Isolate) shut(cause error) {
	i.loop.close()
	i.cancel(cause)
}

// Condemned is closed when the isolate can run no more events, for a fault of the engine or because it was closed. It
// may be called from any goroutine.
func (i *Isolate) Condemned() <-chan struct{} { return i.ctx.Done() }

// Idle reports whether the isolate runs nothing and nothing waits to run: an event that begins now would not wait. It may
// be called from any goroutine.
func (i *Isolate) Idle() bool { return i.loop.idle() }

// Interrupt stops the turn that runs, past anything that the script could catch: its event fails with this message and
// OutcomeCanceled. It may be called from any goroutine; outside a turn it does nothing.
func (i *Isolate) Interrupt(message string) {
	i.watch.interrupt(&interruption{outcome: OutcomeCanceled, message: message})
}

// condemn ends every event of the isolate. It runs on the isolate's goroutine.
func (i *Isolate) condemn(fault any) {
	i.log.Error("the JavaScript engine failed", "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
	if i.frame != nil && i.frame.event != nil {
		i.culprit.Store(i.frame.event.context)
	}
	i.shut(ErrCondemned)
}

// Cause returns why the isolate can run no more events: ErrClosed, ErrCondemned, or an *Exception of the event that it was
// given up for. It is nil while it can. It may be called from any goroutine.
func (i *Isolate) Cause() error { return context.Cause(i.ctx) }

// Culprit returns the context whose turn condemned the isolate, or nil. It may be called from any goroutine.
func (i *Isolate) Culprit() *Context { return i.culprit.Load() }

// giveUp ends every event of the isolate as the one that was stopped ends. It may be called from any goroutine.
func (i *Isolate) giveUp(o Outcome, message string) {
	if i.ctx.Err() != nil {
		return
	}
	i.log.Warn("an isolate was given up", "outcome", o.String())
	i.shut(outcomeException(o, message))
}

// giveUpStuck is giveUp while a built-in function of the engine goes on, whatever interrupts it. The isolate ends without
// it; the goroutine that it runs on ends when it returns.
func (i *Isolate) giveUpStuck(x *interruption) {
	i.log.Error("a built-in function of the engine goes on after its event was stopped", "outcome", x.outcome.String())
	i.giveUp(x.outcome, x.message)
	i.loop.abandon()
	i.goroutines.Go(i.endings.run)
	if i.options.OnStuck == nil {
		return
	}
	i.followStuck(time.Now())
}

// followStuck looks after a built-in function that goes on, until it returns or Options.OnStuck has to be told.
func (i *Isolate) followStuck(since time.Time) {
	time.AfterFunc(time.Second, func() {
		select {
		case <-i.loop.done:
			return
		default:
		}
		limit := i.options.Limits.HeapBytes
		if time.Since(since) < stuckPatience && (limit == 0 || heapBytes() < 2*limit) {
			i.followStuck(since)
			return
		}
		i.options.OnStuck()
	})
}

// Runtime returns the engine's runtime.
func (i *Isolate) Runtime() *goja.Runtime { return i.rt }

// Exports returns the script's exports; nil while its top level runs.
func (i *Isolate) Exports() *goja.Object { return i.exports }

// Compatibility returns what the script asked for. It may be called from any goroutine.
func (i *Isolate) Compatibility() Compatibility { return i.options.Compatibility }

// Value returns what was kept under a key, or nil.
func (i *Isolate) Value(key any) any { return i.values[key] }

// SetValue keeps a value under a key of a type of the caller's own, as context.WithValue does.
func (i *Isolate) SetValue(key, value any) { i.values[key] = value }

// Now returns the time that scripts see: the epoch at global scope, like workerd.
func (i *Isolate) Now() time.Time {
	if i.frame == nil || i.frame.event == nil {
		return time.UnixMilli(0)
	}
	return i.options.Clock.Now()
}

// Random returns the source of random bytes.
func (i *Isolate) Random() io.Reader { return i.options.Random }

// Event returns the event that the code which runs belongs to, or nil at global scope.
func (i *Isolate) Event() *Event {
	if i.frame == nil {
		return nil
	}
	return i.frame.event
}

// globalScopeText is workerd's.
const globalScopeText = "Disallowed operation called within global scope. Asynchronous I/O (ex: fetch() or connect()), " +
	"setting a timeout, and generating random values are not allowed within global scope. To fix this error, perform " +
	"this operation within a handler. https://developers.cloudflare.com/workers/runtime-apis/handlers/"

// RequireEvent returns the event that runs, and throws workerd's error at global scope.
func (i *Isolate) RequireEvent() *Event {
	if i.frame == nil || i.frame.event == nil {
		i.Throw("Error", globalScopeText)
	}
	return i.frame.event
}

// Log tells Options.OnLog of a line of the event that runs.
func (i *Isolate) Log(level Level, text string) {
	if i.options.OnLog != nil {
		i.options.OnLog(Entry{Event: i.Event(), Level: level, Text: text})
	}
}

// ReportUncaught logs a value that was thrown and that nothing caught.
func (i *Isolate) ReportUncaught(v goja.Value) { i.reportUncaught("Uncaught ", i.NewException(v)) }

// reportUncaught logs an error that nothing caught.
func (i *Isolate) reportUncaught(prefix string, x *Exception) {
	if i.options.OnLog != nil {
		i.options.OnLog(Entry{Event: i.Event(), Level: LevelError, Text: prefix + x.Stack, Uncaught: x})
	}
}

// require gives a module of the host.
func (i *Isolate) require(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).String()
	v, err := i.Require(name)
	var exception *goja.Exception
	if errors.As(err, &exception) {
		panic(exception.Value())
	}
	if err != nil {
		i.Throw("Error", "%s", err)
	}
	return v
}

// Require returns a module of Options.Modules.
func (i *Isolate) Require(name string) (goja.Value, error) {
	if v, ok := i.modules[name]; ok {
		return v, nil
	}
	load, ok := i.options.Modules[name]
	if !ok {
		return nil, fmt.Errorf("No such module %q.", name)
	}
	v, err := load(i)
	if err != nil {
		return nil, fmt.Errorf("load module %s: %w", name, err)
	}
	i.modules[name] = v
	return v, nil
}
