package binding

import (
	"context"
	"net/http"

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

// GetByName returns a stub for the object with this name.
func (n *Namespace) GetByName(name string) *Stub {
	s := n.Get(n.ids.FromName(name))
	s.target.HasName, s.target.Name = true, name
	return s
}

// Stub is the caller's handle on one object. It may be used from any goroutine.
type Stub struct {
	caller sidecar.Caller
	target sidecar.Target
}

// ID returns the object's ID.
func (s *Stub) ID() objectid.ID { return s.target.ID }

// WithProps returns a copy of the stub whose events carry these props.
func (s *Stub) WithProps(p []byte) *Stub {
	c := *s
	c.target.Props = p
	return &c
}

// Fetch sends a request to the object's fetch handler. Close the response's body. Errors are *sidecar.Error.
func (s *Stub) Fetch(ctx context.Context, r *http.Request) (*http.Response, error) {
	return s.caller.Fetch(ctx, s.target, r)
}

// Call runs a method of the object with serialized arguments. Errors are *sidecar.Error.
func (s *Stub) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	return s.caller.Call(ctx, s.target, method, args)
}
