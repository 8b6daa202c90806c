package env

import (
	"context"
	"net/http"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// Invoker is a Service that stubs can be passed to, and paths of properties.
type Invoker interface {
	// Invoke makes a call, or reads a property. Who owns stubs is as in sidecar.Stub's Invoke.
	Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error)
}

// stub is what is behind the object of a stub. Its calls leave in the order in which they were made.
type stub struct {
	// callee is an object or a service; nil for a stub of RPC.
	callee Service
	// invoker takes calls: the callee, what is held, or the result of a call.
	invoker Invoker
	// order belongs to the isolate's goroutine. The stubs of a call's result share that of the call's promise. It is made at
	// first need, and begins behind after, unless that is nil.
	order *binding.Order
	after *binding.Place
	// source is the binding that the stub has come through; nil for a binding itself.
	source Service
	// context is where the stub may be used; nil for anywhere.
	context *isolate.Context
	// held is what a stub of RPC refers to, until it is disposed of; nil for a binding and for a promise.
	held *held
	// node is that of a binding's object, of those that objects makes.
	node    node
	objects *stubObjects
}

// invokerOf returns what takes the calls of a service.
func invokerOf(s Service) Invoker {
	if i, ok := s.(Invoker); ok {
		return i
	}
	return plain{s}
}

// plain makes an Invoker of a Service that takes methods' names and plain values only.
type plain struct{ Service }

// Invoke implements Invoker.
func (p plain) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	return in.Plain(func(method string, args []byte) ([]byte, error) { return p.Call(ctx, method, args) })
}

// fetch is a request to the object's fetch handler.
func (c *Classes) fetch(call goja.FunctionCall) goja.Value {
	i := c.realm.Isolate()
	n := c.nodeOf(call.This)
	if n == nil || n.stub.callee == nil {
		i.Throw("TypeError", illegalInvocation)
	}
	s := n.stub
	none := len(call.Arguments) == 0
	input, init := call.Argument(0), call.Argument(1)
	return i.Async(func() goja.Value {
		if none {
			i.Throw("TypeError", "Failed to execute 'fetch' on 'Fetcher': parameter 1 is not of type 'Request or string'.")
		}
		place := s.take()
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

// through returns the binding that the stub is, or has come through.
func (s *stub) through() Service {
	if s.callee != nil {
		return s.callee
	}
	return s.source
}

// take takes a place in the stub's order.
func (s *stub) take() *binding.Place { return s.line().Take() }

// line returns the stub's order.
func (s *stub) line() *binding.Order {
	if s.order == nil {
		s.order = &binding.Order{}
		if s.after != nil {
			s.order.After(s.after)
		}
	}
	return s.order
}
