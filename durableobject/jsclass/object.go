package jsclass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// object is a live object whose class is the script's.
type object struct {
	class   *class
	state   *actor.State
	isolate *isolate.Isolate
	engine  *engine
	context *isolate.Context
	// current is the turn in which the isolate runs the object's code, or nil.
	current atomic.Pointer[actorTurn]
	// root lines up what continues events outside critical sections.
	root turnQueue
	// handlesAlarms and supportsRPC are known once the instance is made.
	handlesAlarms, supportsRPC bool

	// What follows is the isolate's goroutine's.
	instance *goja.Object
	// release lets the object be evicted; nil while no timer and no promise of the host is open.
	release func()
	// idle is closed when the tasks of ctx.waitUntil are over; nil while there are none.
	idle chan struct{}
}

var _ actor.AlarmHandler = (*object)(nil)

// errEngine is why the objects of an isolate break with it.
var errEngine = errors.New("internal error: the JavaScript engine of the Durable Object failed")

// New implements actor.Class: it makes an instance of the script's class.
func (c *class) New(ctx context.Context, s *actor.State) (actor.Instance, error) {
	i, err := c.script.isolateFor(ctx, s.ID(), s.Clock())
	if err != nil {
		failed := fmt.Errorf("start the script: %w", env.Outward(c.script.compatibility(), err))
		if x, ok := errors.AsType[*isolate.Exception](err); ok && x.Outcome != isolate.OutcomeException {
			reason, _ := crashOf(x)
			return nil, &actor.Crash{Reason: reason, Err: failed}
		}
		return nil, failed
	}
	o := &object{class: c, state: s, isolate: i, engine: engineOf(i)}
	o.context = i.NewContext(isolate.ContextOptions{
		Owner: o, Object: true, Deliver: o.deliver, Settled: o.settled, Stopped: o.stopped,
	})
	s.OnEnd(o.context.Close)
	o.context.AtEnd(o.isolateEnded)
	if err := o.run(ctx, &o.root, o.construct, nil); err != nil {
		return nil, o.outward(err)
	}
	return o, nil
}

// construct makes the instance, on the isolate's goroutine.
func (o *object) construct(*isolate.Event) (goja.Value, error) {
	i := o.isolate
	class, ok := goja.AssertConstructor(i.Exports().Get(o.class.Name))
	if !ok {
		return nil, &sidecar.Error{
			Reason: sidecar.ReasonNoSuchClass, Name: "Error",
			Message: fmt.Sprintf("The script does not export a Durable Object class named %q.", o.class.Name),
		}
	}
	name, named := o.state.Name()
	exports := goja.Undefined()
	if e := o.engine.realm.Exports(); e != nil {
		exports = e
	}
	state := o.newState(o.engine.classes.ID(o.state.ID(), name, named), exports)
	values, err := o.engine.realm.Env()
	if err != nil {
		return nil, err
	}
	if o.instance, err = class(nil, state, values); err != nil {
		return nil, err
	}
	_, o.handlesAlarms = goja.AssertFunction(o.instance.Get("alarm"))
	o.supportsRPC = o.engine.classes.SupportsRPC(o.instance)
	return goja.Undefined(), nil
}

// outward is an error as the object's caller gets it.
func (o *object) outward(err error) error { return env.Outward(o.class.script.compatibility(), err) }

// uncaught is outward for how an event ended: what the script did not catch is logged here, with its stack, for that
// does not leave the process. The error of a method that was called names the object.
func (o *object) uncaught(ctx context.Context, err error, called bool) error {
	x, ok := errors.AsType[*isolate.Exception](err)
	if !ok {
		return o.outward(err)
	}
	if o.class.script.o.OnLog != nil && o.state.Broken() == nil {
		o.class.script.o.OnLog(isolate.Entry{Level: isolate.LevelError, Text: "Uncaught " + x.Stack, Uncaught: x})
	}
	out := o.outward(err)
	if known, ok := errors.AsType[*sidecar.Error](out); ok && x.Value != nil && env.EnhancedErrors(o.isolate.Compatibility()) {
		known.Properties = string(o.properties(ctx, x.Value, called))
	}
	return out
}

// properties are those of an error that the script threw, in the turn that ctx belongs to. Like workerd: those of called
// methods name the object.
func (o *object) properties(ctx context.Context, thrown goja.Value, called bool) (out []byte) {
	if o.state.Broken() != nil {
		return nil
	}
	var more map[string]string
	if called {
		more = map[string]string{"durableObjectId": o.state.ID().String()}
	}
	_ = o.run(ctx, &o.root, func(*isolate.Event) (goja.Value, error) { // an error leaves nothing to say
		out = env.ErrorProperties(o.engine.realm, thrown, more)
		return goja.Undefined(), nil
	}, nil)
	return out
}

// notResponse is workerd's.
const notResponse = "Callback returned incorrect type; expected 'Promise'"

// Fetch implements actor.Instance.
func (o *object) Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	in := *r
	in.Body = actor.Ungated(r.Body)
	resp, err := webapi.Delivery{
		Isolate: o.isolate, NotResponse: notResponse,
		Run: func(
			ctx context.Context, start func(*isolate.Event) (goja.Value, error), finish func(*isolate.Event, goja.Value) error,
		) error {
			return o.run(ctx, &o.root, start, finish)
		},
		Handler: func(request *goja.Object) (goja.Value, error) {
			f, ok := goja.AssertFunction(o.instance.Get("fetch"))
			if !ok {
				return nil, actor.ErrNoFetchHandler
			}
			return f(o.instance, request)
		},
	}.Fetch(ctx, &in)
	if err == actor.ErrNoFetchHandler { //nolint:errorlint // the actor wants it as it is
		return err
	}
	if err != nil {
		return o.uncaught(ctx, err, false)
	}
	defer resp.Body.Close()
	return o.respond(ctx, w, resp)
}

// pieceBytes is how much of a streamed response is read at a time.
const pieceBytes = 64 << 10

// respond writes a response. What is read from the script or from outside is waited for out of turn.
func (o *object) respond(ctx context.Context, w http.ResponseWriter, resp *http.Response) error {
	header := w.Header()
	for name, values := range resp.Header {
		header[name] = values
	}
	env.PackStatus(resp, header)
	w.WriteHeader(resp.StatusCode)
	if _, whole := resp.Body.(interface{ Len() int }); whole || resp.Body == http.NoBody {
		_, err := io.Copy(writerOnly{w}, resp.Body)
		return err
	}
	// A caller that goes away ends the stream, though nothing is being written to it.
	defer context.AfterFunc(ctx, func() { _ = resp.Body.Close() })()
	piece := make([]byte, pieceBytes)
	for {
		var n int
		var end error
		if err := o.state.Await(ctx, func(context.Context) error {
			n, end = resp.Body.Read(piece)
			return nil
		}); err != nil {
			return err
		}
		if _, err := w.Write(piece[:n]); err != nil {
			return err
		}
		if end == io.EOF {
			return nil
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return err
		}
		if end != nil {
			return o.outward(end)
		}
	}
}

// writerOnly hides that a response can flush what it copies.
type writerOnly struct{ io.Writer }

// Texts of calls. Like workerd.
const (
	reservedText = "'%s' is a reserved method and cannot be called over RPC."
	legacyText   = "The receiving Durable Object does not support RPC, because its class was not declared with `extends " +
		"DurableObject`. In order to enable RPC, make sure your class extends the special class `DurableObject`, which can " +
		"be imported from the module \"cloudflare:workers\"."
)

func refused(format string, args ...any) error {
	return &sidecar.Error{
		Reason: sidecar.ReasonNoSuchMethod, Name: "TypeError", Message: fmt.Sprintf(format, args...), Remote: true,
	}
}

// Call implements actor.Instance. Without arguments it reads a property. Stubs in the result are dropped.
func (o *object) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	v, err := o.Invoke(ctx, sidecar.Invocation{
		Path: []string{method}, Read: len(args) == 0, Args: sidecar.Value{Bytes: args},
	})
	v.Drop()
	return v.Bytes, err
}

// HandlesAlarms implements actor.AlarmHandler.
func (o *object) HandlesAlarms() bool { return o.handlesAlarms }

// Alarm implements actor.Instance.
func (o *object) Alarm(ctx context.Context, a actor.AlarmInfo) error {
	if !o.handlesAlarms {
		return actor.ErrNoAlarmHandler
	}
	rt := o.isolate.Runtime()
	return o.uncaught(ctx, o.run(ctx, &o.root, func(*isolate.Event) (goja.Value, error) {
		info, err := o.engine.alarmInfo(goja.Undefined(), rt.ToValue(a.ScheduledTime.UnixMilli()), rt.ToValue(a.RetryCount))
		if err != nil {
			return nil, err
		}
		f, ok := goja.AssertFunction(o.instance.Get("alarm"))
		if !ok {
			return nil, actor.ErrNoAlarmHandler
		}
		return f(o.instance, info)
	}, nil), false)
}

// abort breaks the object for its code's own word.
func (o *object) abort(reason error, noRetry bool) {
	o.state.AbortWith(reason, actor.AbortOptions{NoAlarmRetry: noRetry})
	o.context.Close()
}
