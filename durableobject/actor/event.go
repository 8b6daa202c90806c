package actor

import (
	"context"
	"errors"
	"net/http"

	"github.com/tandem-do/tandem/durableobject/gate"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// Fetch handles a request. Errors are *sidecar.Error, or ErrNotLive.
func (a *Actor) Fetch(ctx context.Context, props []byte, w http.ResponseWriter, r *http.Request) error {
	body, err := readSmall(r.Body, r.ContentLength)
	if err != nil {
		return &sidecar.Error{Reason: sidecar.ReasonDisconnected, Message: "Network connection lost.", Cause: err}
	}
	out := &responseWriter{actor: a, w: w}
	err = a.run(ctx, props, func(t *turn) error {
		r = r.WithContext(t)
		r.Body = &gatedBody{ReadCloser: body, actor: a, ctx: t}
		out.ctx = t
		err := a.instance.Fetch(t, out, r)
		if err == ErrNoFetchHandler { //nolint:errorlint // one of an object further down is not meant
			a.shared.Log.Warn("Received a FetchEvent but we lack a handler for FetchEvents. "+
				"Did you remember to export a fetch() function?", "namespace", a.namespace, "object_id", a.id.String())
			return &sidecar.Error{Reason: sidecar.ReasonNoSuchMethod, Message: err.Error(), Cause: err}
		}
		return err
	})
	if err != nil {
		return err
	}
	return out.finish()
}

// Call runs a method. Errors are *sidecar.Error, or ErrNotLive.
func (a *Actor) Call(ctx context.Context, props []byte, method string, args []byte) (value []byte, err error) {
	err = a.run(ctx, props, func(t *turn) error {
		var err error
		value, err = a.instance.Call(t, method, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return value, nil
}

// run runs one event and lets its outcome leave when the writes before it are on disk. It is, with leave, the only way
// out of the object.
func (a *Actor) run(ctx context.Context, props []byte, fn func(*turn) error) error {
	return a.runTurn(ctx, &turn{actor: a, props: props, event: true}, fn)
}

// runTurn is run for a turn that was made.
func (a *Actor) runTurn(ctx context.Context, t *turn, fn func(*turn) error) error {
	if err := a.enlist(ctx, t); err != nil {
		return ErrNotLive
	}
	defer a.delist(t)
	if err := a.take(t, a.in.Enter); err != nil {
		return refused(t, err)
	}
	if a.shared.Hooks.Queued != nil {
		a.shared.Hooks.Queued(t)
	}
	err := a.protect(func() error {
		if err := a.create(t); err != nil {
			return err
		}
		return fn(t)
	})
	a.end(t)
	if gated := a.out.Wait(t); gated != nil {
		if t.Err() == nil {
			a.Break(ReasonOutputGate, gated) // before the caller learns of it, whose next event needs a new actor
		}
		return refused(t, gated)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, storage.ErrBroken) {
		a.Break(ReasonOutputGate, gate.CommitFailed(err))
	}
	if broken := a.failure(); broken != nil {
		return refused(t, broken)
	}
	return outward(t, err)
}

// create makes the instance if there is none yet. It is a critical section, so that other events wait until it is
// there even if making it takes more than one turn, and it goes on when the caller of the first event gives up.
func (a *Actor) create(t *turn) error {
	if a.instance != nil {
		return nil
	}
	own := &turn{actor: a, props: t.props}
	if err := a.enlist(context.WithoutCancel(t), own); err != nil {
		return err
	}
	defer a.delist(own)
	t.handOver(own)
	defer t.takeBack(own)
	var instance Instance
	err := a.section(own, func(ctx context.Context) error {
		if err := a.awaitBefore(own); err != nil {
			return err
		}
		var err error
		if instance, err = a.class.New(ctx, &a.state); err == nil && instance == nil {
			err = errors.New("class made no instance")
		}
		return err
	})
	if err != nil {
		reason := ReasonConstructor
		if crash, ok := errors.AsType[*Crash](err); ok {
			reason = crash.Reason
		}
		a.Break(reason, gate.Reset(err))
		return err
	}
	a.instance = instance
	return nil
}
