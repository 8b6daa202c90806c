package actor

import (
	"context"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// Invoker is an Instance that stubs can be passed to, and paths of properties.
type Invoker interface {
	// Invoke is Call with stubs and a path; see sidecar.Stub.
	Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error)
}

// Invoke runs a method, or reads a property. Errors are *sidecar.Error, or ErrNotLive.
func (a *Actor) Invoke(ctx context.Context, props []byte, in sidecar.Invocation) (value sidecar.Value, err error) {
	err = a.run(ctx, props, func(t *turn) error {
		var err error
		if i, ok := a.instance.(Invoker); ok {
			value, err = i.Invoke(t, in)
			return err
		}
		value, err = in.Plain(func(method string, args []byte) ([]byte, error) { return a.instance.Call(t, method, args) })
		return err
	})
	if err != nil {
		value.Drop()
		return sidecar.Value{}, err
	}
	return value, nil
}

// Deliver runs fn as an event of the object's own making, such as a call of something that it has exported: it begins a
// turn, and its outcome leaves when the writes before it are on disk. It is not to be called in a turn. Errors are
// *sidecar.Error.
func (s *State) Deliver(ctx context.Context, fn func(context.Context) error) error {
	// It is no event of outside: what runs in an actor that retires may need it to be finished.
	err := s.actor.runTurn(ctx, &turn{actor: s.actor}, func(t *turn) error { return fn(t) })
	if err == ErrNotLive { //nolint:errorlint // run returns it bare
		if broken := s.actor.failure(); broken != nil {
			err = broken
		}
		return refused(ctx, err)
	}
	return err
}

var _ sidecar.Invoker = outgoing{}

// Invoke implements sidecar.Invoker.
func (o outgoing) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (value sidecar.Value, err error) {
	err = o.actor.leave(ctx, func(ctx context.Context) error {
		var err error
		value, err = sidecar.Invoke(ctx, o.actor.shared.Caller, t, in)
		return err
	})
	if err != nil {
		value.Drop()
		return sidecar.Value{}, refused(ctx, err)
	}
	return value, nil
}
