package binding

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// Namespace is the binding of one class: it makes IDs and stubs.
type Namespace struct {
	ids    objectid.Namespace
	caller sidecar.Caller
}

// NewNamespace returns the binding of the class with this unique key, whose calls go through caller.
func NewNamespace(uniqueKey string, caller sidecar.Caller) *Namespace {
	return &Namespace{ids: objectid.NewNamespace(uniqueKey), caller: caller}
}

// IDs derives and parses the namespace's IDs.
func (n *Namespace) IDs() objectid.Namespace { return n.ids }

// Get returns a stub for the object with this ID. It costs nothing: the object is reached at the first call.
func (n *Namespace) Get(id objectid.ID) *Stub {
	return &Stub{caller: n.caller, target: sidecar.Target{Namespace: n.ids.UniqueKey(), ID: id}}
}

// GetByName returns a stub for the object with this name. The object is told its name unless that is longer than
// objectid.MaxNameBytes.
func (n *Namespace) GetByName(name string) *Stub { return n.GetNamed(n.ids.FromName(name), name) }

// GetNamed is GetByName where the name's ID is known.
func (n *Namespace) GetNamed(id objectid.ID, name string) *Stub {
	s := n.Get(id)
	if len(name) <= objectid.MaxNameBytes {
		s.target.HasName, s.target.Name = true, name
	}
	return s
}

// NewStub returns a stub for the object of a target, for who has no use for its namespace. Events carry the target's name
// and props.
func NewStub(caller sidecar.Caller, t sidecar.Target) *Stub {
	return &Stub{caller: caller, target: sidecar.Target{
		Namespace: t.Namespace, ID: t.ID, HasName: t.HasName, Name: t.Name, Props: t.Props,
	}}
}

// Stub is the caller's handle on one object. It may be used from any goroutine.
//
// A stub that was told of its object's reset goes on to fail with that error; a new stub of the same object works. An
// error that is Retryable does no such harm. Like workerd: a stub stays bound to the instance that broke. Unlike
// workerd: one that learned of no reset reaches the next instance.
type Stub struct {
	caller sidecar.Caller
	target sidecar.Target
	// broken is the error of the reset that a call met, or nil.
	broken atomic.Pointer[sidecar.Error]
}

// ID returns the object's ID.
func (s *Stub) ID() objectid.ID { return s.target.ID }

// WithProps returns a new stub of the same object whose events carry these props.
func (s *Stub) WithProps(p []byte) *Stub {
	c := &Stub{caller: s.caller, target: s.target}
	c.target.Props = p
	c.broken.Store(s.broken.Load())
	return c
}

// Fetch sends a request to the object's fetch handler. Close the response's body. Errors are *sidecar.Error.
func (s *Stub) Fetch(ctx context.Context, r *http.Request) (*http.Response, error) {
	if e := s.broken.Load(); e != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, e
	}
	resp, err := s.caller.Fetch(ctx, s.target, r)
	s.learn(err)
	return resp, err
}

// Call runs a method of the object with serialized arguments. Errors are *sidecar.Error.
func (s *Stub) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	if e := s.broken.Load(); e != nil {
		return nil, e
	}
	value, err := s.caller.Call(ctx, s.target, method, args)
	s.learn(err)
	return value, err
}

// Invoke makes a call or reads a property, with stubs in its arguments and in its result, as sidecar.Stub's Invoke does.
func (s *Stub) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	if e := s.broken.Load(); e != nil {
		return sidecar.Value{}, e
	}
	value, err := sidecar.Invoke(ctx, s.caller, s.target, in)
	s.learn(err)
	return value, err
}

// Target is what the stub's calls are for. Its epoch is not known.
func (s *Stub) Target() sidecar.Target { return s.target }

// learn notes that the object was reset. An error from further down is the object's own word, and no reset of it.
func (s *Stub) learn(err error) {
	if err == nil {
		return
	}
	if e, ok := errors.AsType[*sidecar.Error](err); ok && e.Reset && !e.Remote && !e.Retryable {
		s.broken.CompareAndSwap(nil, e)
	}
}
