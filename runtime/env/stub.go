package env

import (
	"context"
	"encoding/hex"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/objectid"
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
	return c.realm.Isolate().Runtime().ToValue(&stub{callee: s})
}

// stub is a handle whose calls leave in the order in which they were made.
type stub struct {
	// callee is an object or a service.
	callee Service
	// order belongs to the isolate's goroutine.
	order binding.Order
}

func stubOf(call goja.FunctionCall) *stub { return call.Argument(0).Export().(*stub) }

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
		place := s.order.Take()
		return i.Go(func(ctx context.Context) func() (goja.Value, error) {
			defer place.End()
			value, err := s.callee.Call(place.Begin(ctx), method, args)
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
		place := s.order.Take()
		defer func() {
			if thrown := recover(); thrown != nil { // the arguments are wrong
				place.End()
				panic(thrown)
			}
		}()
		return c.realm.Fetch(input, init, func(ctx context.Context, q *http.Request) (*http.Response, error) {
			defer place.End()
			resp, err := s.callee.Fetch(place.Begin(ctx), q)
			if err != nil {
				return nil, &thrown{err}
			}
			unpackStatus(resp)
			return resp, nil
		})
	})
}
