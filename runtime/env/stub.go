package env

import (
	"context"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/binding"
)

// stub makes the stub of an ID.
func (c *Classes) stub(call goja.FunctionCall) goja.Value {
	n, id := namespaceOf(call), idOf(call.Argument(1))
	s := n.Get(id.ID)
	if id.named && (id.namespace == n || n.IDs().FromName(id.name) == id.ID) {
		s = n.GetNamed(id.ID, id.name)
	}
	return c.stubs.new(&stub{callee: s}, call.Argument(2), id.nameValue(c.realm.Isolate().Runtime()))
}

// stub is what is behind the object of a stub. Its calls leave in the order in which they were made.
type stub struct {
	// callee is an object or a service.
	callee Service
	// order belongs to the isolate's goroutine.
	order binding.Order
	// object is the stub's object, of those that objects makes.
	object  *goja.Object
	objects *stubObjects
}

// call is a call of a method, or else the reading of a property.
func (c *Classes) call(s *stub, method string, arguments []goja.Value, isCall bool) goja.Value {
	i := c.realm.Isolate()
	return i.Async(func() goja.Value {
		i.RequireEvent()
		var args []byte
		if isCall {
			args = encodeList(c.realm, arguments)
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
	s := c.stubs.stubOfObject(call.This)
	if s == nil {
		i.Throw("TypeError", illegalInvocation)
	}
	none := len(call.Arguments) == 0
	input, init := call.Argument(0), call.Argument(1)
	return i.Async(func() goja.Value {
		if none {
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
