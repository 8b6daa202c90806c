package actor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// leave runs fn, which waits on something outside the object or sends something there, outside any turn, once all
// writes before are on disk. If ctx belongs to a turn that is held, that turn is given away first and a new one taken
// before leave returns. Apart from run, it is the object's only exit: Await, stubs, flushed bytes and Sync go through
// it.
func (a *Actor) leave(ctx context.Context, fn func(context.Context) error) (err error) {
	t := a.turnOf(ctx)
	if t == nil || !a.giveAway(t) {
		if err := a.out.Wait(ctx); err != nil {
			return err
		}
		return fn(ctx)
	}
	// Deferred, for a panic in fn must find the turn held where it is recovered.
	defer func() {
		if broken := a.retake(t); broken != nil {
			err = broken
		}
	}()
	if err := a.out.Wait(ctx); err != nil {
		return err
	}
	return fn(ctx)
}

// section runs fn in a critical section, within the turn that ctx belongs to. It returns fn's error as it is, which
// does not break the object.
func (a *Actor) section(ctx context.Context, fn func(context.Context) error) error {
	t, err := a.heldTurn(ctx)
	if err != nil {
		return err
	}
	s, err := a.in.Begin()
	if err != nil {
		return err
	}
	inner := &turn{Context: ctx, actor: a, section: s, props: t.props}
	t.handOver(inner)
	defer func() {
		t.takeBack(inner)
		s.End()
	}()
	return fn(inner)
}

// block runs fn in a critical section whose failure breaks the object.
func (a *Actor) block(ctx context.Context, fn func(context.Context) error) error {
	err := a.section(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return a.turnOf(ctx).section.Fail(err)
		}
		return nil
	})
	if err == nil {
		err = a.failure() // it may have taken too long
	}
	return err
}

// protect runs user code. A panic breaks the actor, not the process; it is logged here, once, with its stack.
func (a *Actor) protect(fn func() error) (err error) {
	defer func() {
		v := recover()
		switch {
		case v == nil:
		case v == http.ErrAbortHandler: //nolint:errorlint // net/http compares it so
			err = http.ErrAbortHandler
		default:
			e := panicError()
			a.shared.Log.Error("class panicked", "namespace", a.namespace, "object_id", a.id.String(),
				"reference", e.Message, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			a.Break(ReasonPanic, e)
			err = e
		}
	}()
	return fn()
}

// enter runs fn in a turn of its own.
func (a *Actor) enter(ctx context.Context, fn func(context.Context) error) error {
	if outer := a.turnOf(ctx); outer != nil && outer.state.Load() == turnHeld {
		return ErrInTurn
	}
	return a.enterBeside(ctx, fn)
}

// enterBeside is enter for a goroutine that does not hold the turn of ctx, even if another one does.
func (a *Actor) enterBeside(ctx context.Context, fn func(context.Context) error) error {
	t := &turn{actor: a}
	if outer := a.turnOf(ctx); outer != nil {
		t.section, t.props = outer.section, outer.props
	}
	if err := a.enlist(ctx, t); err != nil {
		return err
	}
	defer a.delist(t)
	if err := a.take(t, a.in.Continue); err != nil {
		return err
	}
	defer a.end(t)
	return a.protect(func() error { return fn(t) })
}

// background runs fn outside any turn, from the end of the present turn on, until it returns.
func (a *Actor) background(fn func(context.Context) error) {
	t := &turn{actor: a, background: true}
	if err := a.enlist(a.shared.Lifetime, t); err != nil {
		return
	}
	start := func() {
		go func() {
			defer a.delist(t)
			err := a.protect(func() error {
				// What fn sends may rest on what the turn wrote that started it. If that fails, t ends.
				if err := a.out.Wait(t); err != nil && t.Err() == nil {
					return err
				}
				return fn(t)
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				a.shared.Log.Warn("background work of an object failed", "namespace", a.namespace,
					"object_id", a.id.String(), "err", err)
			}
		}()
	}
	a.mu.Lock()
	if a.inTurns && a.reason == NotBroken {
		a.starting = append(a.starting, start)
		a.mu.Unlock()
		return
	}
	a.mu.Unlock()
	start()
}

// outgoing sends an object's calls to others.
type outgoing struct{ actor *Actor }

var _ sidecar.Caller = outgoing{}

// Fetch implements sidecar.Caller.
func (o outgoing) Fetch(ctx context.Context, t sidecar.Target, r *http.Request) (resp *http.Response, err error) {
	err = o.actor.leave(ctx, func(ctx context.Context) error {
		var err error
		resp, err = o.actor.shared.Caller.Fetch(ctx, t, r.WithContext(ctx)) //nolint:bodyclose // the caller closes it
		if err != nil {
			return err
		}
		resp.Body, err = readSmall(resp.Body, resp.ContentLength)
		return err
	})
	if err != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return nil, refused(ctx, err)
	}
	resp.Body = &gatedBody{ReadCloser: resp.Body, actor: o.actor, ctx: ctx}
	return resp, nil
}

// Call implements sidecar.Caller.
func (o outgoing) Call(ctx context.Context, t sidecar.Target, method string, args []byte) (value []byte, err error) {
	err = o.actor.leave(ctx, func(ctx context.Context) error {
		var err error
		value, err = o.actor.shared.Caller.Call(ctx, t, method, args)
		return err
	})
	if err != nil {
		return nil, refused(ctx, err)
	}
	return value, nil
}
