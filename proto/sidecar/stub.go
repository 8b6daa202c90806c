package sidecar

import (
	"context"
	"fmt"
	"strings"
)

// Stub is what a script has exported to others: a function, an RpcTarget, a stream. Its methods may be called from any
// goroutine.
type Stub interface {
	// Invoke makes a call of it, or of what a path of properties leads to. The stubs of the arguments stay the caller's,
	// who drops them when Invoke has returned; those of the result are the caller's too. Errors are *Error.
	Invoke(ctx context.Context, in Invocation) (Value, error)
	// Dup returns another reference to the same thing.
	Dup() Stub
	// Drop ends a reference. It has to be called once for each.
	Drop()
}

// Value is a serialized value with the stubs in it.
type Value struct {
	// Bytes is in V8's format, version 15. Platform objects in it (v8value.Host) are of the kinds below.
	Bytes []byte
	// Stubs are what platform objects refer to by their index here.
	Stubs []Stub
}

// Drop drops the value's stubs.
func (v Value) Drop() {
	for _, s := range v.Stubs {
		s.Drop()
	}
}

// The kinds of platform objects in a Value. The value of those that name a stub is its index, or an array that begins
// with it.
const (
	HostStub uint32 = iota
	HostService
	HostReadable
	HostWritable
	HostHeaders
	HostRequest
	HostResponse
	HostBlob
	HostDOMException
	HostError
)

// MaxStubs is how many stubs a value may have.
const MaxStubs = 1024

// Invocation is a call of a method, or the reading of a property.
type Invocation struct {
	// Path names the properties to follow; the last one is called, or read. When it is empty the thing itself is.
	Path []string
	// Read is true when nothing is called.
	Read bool
	// Args is a serialized array of the arguments.
	Args Value
	// Pending, unless nil, is told where the call went, so that calls on its result can follow it before that is there. The
	// one who invokes settles it.
	Pending *Pending
}

// Invoker is a Caller that carries stubs.
type Invoker interface {
	Caller
	// Invoke is Call with a path and with stubs. Who owns the stubs is as in Stub's Invoke.
	Invoke(ctx context.Context, t Target, in Invocation) (Value, error)
}

// InvokeHandler is a Handler that takes stubs.
type InvokeHandler interface {
	Handler
	// Invoke is Call with a path and with stubs. Who owns the stubs is as in Stub's Invoke.
	Invoke(ctx context.Context, t Target, in Invocation) (Value, error)
}

// Invoke makes a call through a Caller that may be no Invoker: then only a method's name and plain values get through.
func Invoke(ctx context.Context, c Caller, t Target, in Invocation) (Value, error) {
	if i, ok := c.(Invoker); ok {
		return i.Invoke(ctx, t, in)
	}
	return in.Plain(func(method string, args []byte) ([]byte, error) { return c.Call(ctx, t, method, args) })
}

// Plain makes a call that takes no path and no stubs, if the invocation has none.
func (in Invocation) Plain(call func(method string, args []byte) ([]byte, error)) (Value, error) {
	switch {
	case len(in.Args.Stubs) > 0:
		return Value{}, &Error{
			Reason: ReasonInvalid, Name: "DataCloneError", Message: "Functions and stubs cannot be passed to what is called here.",
		}
	case len(in.Path) != 1:
		return Value{}, NoSuchMethod(in.Path)
	}
	args := in.Args.Bytes
	if in.Read {
		args = nil
	}
	value, err := call(in.Path[0], args)
	return Value{Bytes: value}, err
}

// thisText is what workerd calls that which is called without a name.
const thisText = "(this)"

// NoSuchMethod says that the receiver lacks the first property of a path. The text is workerd's.
func NoSuchMethod(path []string) *Error {
	if len(path) == 0 {
		return NotFunction(nil)
	}
	return &Error{
		Reason: ReasonNoSuchMethod, Name: "TypeError", Remote: true,
		Message: fmt.Sprintf("The RPC receiver does not implement the method \"%s\".", path[0]),
	}
}

// NotFunction says that what a path leads to cannot be called. The text is workerd's.
func NotFunction(path []string) *Error {
	name := thisText
	if len(path) > 0 {
		name = path[len(path)-1]
	}
	return &Error{
		Reason: ReasonNoSuchMethod, Name: "TypeError", Remote: true, Message: fmt.Sprintf("\"%s\" is not a function.", name),
	}
}

// Method names what is called, for spans.
func (in Invocation) Method() string { return strings.Join(in.Path, ".") }
