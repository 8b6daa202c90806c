package jsclass

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// errNoObject is of a call from code that belongs to no object.
var errNoObject = errors.New("sent by code that belongs to no Durable Object")

// leave runs fn, which sends something, after the present turn's end and once what was written before is on disk. It
// does not wait. fn's context has the values of ctx, and ends with it or with the object.
func leave(ctx context.Context, fn func(ctx context.Context, o *object)) error {
	s := scopeOf(ctx)
	if s == nil {
		return errNoObject
	}
	o := s.object
	if err := o.state.Broken(); err != nil {
		return err
	}
	o.state.WaitUntil(func(background context.Context) error {
		both, cancel := context.WithCancelCause(background)
		defer cancel(nil)
		stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
		defer stop()
		fn(&eventValues{Context: both, event: ctx}, o)
		return nil
	})
	return nil
}

// eventValues is a context of background work with the values of the event that it is for, but for the turn.
type eventValues struct {
	context.Context
	event context.Context
}

// Value implements context.Context.
func (c *eventValues) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.event.Value(key)
}

// outgoing sends the calls of an isolate's objects to others: each through the exit of the object that makes it.
type outgoing struct {
	// services reaches Workers; nil if none can be.
	services sidecar.Caller
}

var _ sidecar.Caller = outgoing{}

func stubOf(o *object, t sidecar.Target) *binding.Stub { return o.state.Stub(t) }

// Call implements sidecar.Caller.
func (g outgoing) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	type answer struct {
		value []byte
		err   error
	}
	out := make(chan answer, 1)
	err := leave(ctx, func(ctx context.Context, o *object) {
		var a answer
		if t.Worker != "" {
			a.value, a.err = g.services.Call(ctx, t, method, args)
		} else {
			a.value, a.err = stubOf(o, t).Call(ctx, method, args)
		}
		out <- a
	})
	if err != nil {
		return nil, sidecar.FromError(err)
	}
	select {
	case a := <-out:
		return a.value, a.err
	case <-ctx.Done():
		return nil, sidecar.FromError(ctx.Err())
	}
}

// Fetch implements sidecar.Caller.
func (g outgoing) Fetch(ctx context.Context, t sidecar.Target, r *http.Request) (*http.Response, error) {
	if t.Worker != "" {
		return fetchOut(ctx, r, func(ctx context.Context, r *http.Request) (*http.Response, error) {
			return g.services.Fetch(ctx, t, r)
		})
	}
	s := scopeOf(ctx)
	if s == nil {
		return nil, sidecar.FromError(errNoObject)
	}
	stub := stubOf(s.object, t)
	return fetchOut(ctx, r, stub.Fetch)
}

// fetchOut sends a request out of the object that ctx belongs to. It stays under way until the response's body is closed.
func fetchOut(ctx context.Context, q *http.Request, send webapi.Fetcher) (*http.Response, error) {
	type answer struct {
		resp *http.Response
		err  error
	}
	out := make(chan answer, 1)
	err := leave(ctx, func(ctx context.Context, _ *object) {
		resp, err := send(ctx, q.WithContext(ctx)) //nolint:bodyclose // the receiver closes it
		if err != nil {
			out <- answer{nil, err}
			return
		}
		body := &openBody{ReadCloser: actor.Ungated(resp.Body), closed: make(chan struct{})}
		if resp.Body != http.NoBody {
			resp.Body = body
		} else {
			body.end()
		}
		out <- answer{resp, nil}
		select {
		case <-body.closed:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case a := <-out:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openBody tells when it is closed or read to its end.
type openBody struct {
	io.ReadCloser
	once   sync.Once
	closed chan struct{}
}

func (b *openBody) end() { b.once.Do(func() { close(b.closed) }) }

// Read implements io.Reader.
func (b *openBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

// Close implements io.Closer.
func (b *openBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
