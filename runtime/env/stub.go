package env

import (
	"context"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// stub makes the handle of a stub.
func (c *Classes) stub(call goja.FunctionCall) goja.Value {
	n := namespaceOf(call)
	var id objectid.ID
	if b, err := hex.DecodeString(call.Argument(1).String()); err == nil && len(b) == len(id) {
		copy(id[:], b)
	}
	s := n.Get(id)
	if name := call.Argument(2); !goja.IsUndefined(name) {
		if named := n.GetByName(name.String()); named.ID() == id {
			s = named
		}
	}
	return c.realm.Isolate().Runtime().ToValue(&stub{Stub: s})
}

// stub is a handle whose calls leave in the order in which they were made.
type stub struct {
	*binding.Stub
	// last is the newest call; it belongs to the isolate's goroutine.
	last *ticket
}

func stubOf(call goja.FunctionCall) *stub { return call.Argument(0).Export().(*stub) }

// ticket is the place of one call among those of a stub.
type ticket struct {
	before *ticket
	sent   chan struct{}
	once   sync.Once
}

// take takes a place after the calls that were made before.
func (s *stub) take() *ticket {
	t := &ticket{before: s.last, sent: make(chan struct{})}
	s.last = t
	return t
}

// begin waits until the call before has left, and returns the context for this one.
func (t *ticket) begin(ctx context.Context) context.Context {
	if before := t.before; before != nil {
		select {
		case <-before.sent:
		case <-ctx.Done():
		}
		t.before = nil
	}
	return sidecar.WithSent(ctx, t.end)
}

// end says that the call has left, or never will.
func (t *ticket) end() { t.once.Do(func() { close(t.sent) }) }

// call is a call of a method, or the reading of a property when the arguments are undefined.
func (c *Classes) call(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	s, method := stubOf(call), call.Argument(1).String()
	return i.Async(func() goja.Value {
		i.RequireEvent()
		var args []byte
		if v := call.Argument(2); !goja.IsUndefined(v) {
			args = Encode(c.realm, v, ForCall)
		}
		place := s.take()
		return i.Go(func(ctx context.Context) func() (goja.Value, error) {
			defer place.end()
			value, err := s.Call(place.begin(ctx), method, args)
			return func() (goja.Value, error) {
				if err != nil {
					return nil, Thrown(c.realm, err)
				}
				v, err := Decode(c.realm, value)
				if err != nil {
					return nil, err
				}
				return disposable(c.realm, v), nil
			}
		})
	})
}

// fetch is a request to the object's fetch handler.
func (c *Classes) fetch(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	s := stubOf(call)
	input, init := call.Argument(1), call.Argument(2)
	return i.Async(func() goja.Value {
		if call.Argument(3).ToInteger() == 0 {
			i.Throw("TypeError", "Failed to execute 'fetch' on 'Fetcher': parameter 1 is not of type 'Request or string'.")
		}
		place := s.take()
		defer func() {
			if thrown := recover(); thrown != nil { // the arguments are wrong
				place.end()
				panic(thrown)
			}
		}()
		return c.realm.Fetch(input, init, func(ctx context.Context, q *http.Request) (*http.Response, error) {
			defer place.end()
			resp, err := s.Fetch(place.begin(ctx), q)
			if err != nil {
				return nil, &thrown{err}
			}
			unpackStatus(resp)
			return resp, nil
		})
	})
}
