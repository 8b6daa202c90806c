package sidecar

import (
	"context"
	"net/http"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Target is what a call is for, an object or an entrypoint of a Worker, and what goes with every event for it.
type Target struct {
	// Worker is the name of the Worker whose entrypoint the call is for; empty for an object. What says which object then
	// stays empty, Epoch too.
	Worker string
	// Entrypoint is the name of the Worker's export; empty is the default one.
	Entrypoint string
	// Namespace is the unique key of the object's class: <worker>-<Class>.
	Namespace string
	// ID is the object's ID.
	ID objectid.ID
	// Name is the name that ID was derived from; HasName tells "" from none.
	Name    string
	HasName bool
	// Epoch is the epoch of the host that the caller believes to run the object. Zero is never valid on
	// the wire.
	Epoch uint64
	// Props are handed to the object with the event, at most 16 KiB: what the caller's configuration or
	// authentication says of it. Nil when there are none. Those of an entrypoint are JSON, or a serialized value (V8 format).
	Props []byte
}

// Handler takes the calls that arrive at a host, or at a Worker. Both methods are called on a goroutine of their own,
// and their context carries the caller's deadline, trace and cancellation. Calls for one target enter
// in the order in which they were sent on one Link; see RegisterOrderedHandler for how strictly.
type Handler interface {
	// Fetch handles an HTTP request. An error returned before the response was begun reaches the caller as
	// an error; afterwards it cuts the body short.
	Fetch(ctx context.Context, t Target, w http.ResponseWriter, r *http.Request) error
	// Call runs a method with its serialized arguments and returns its serialized value.
	Call(ctx context.Context, t Target, method string, args []byte) ([]byte, error)
}

// Caller sends calls to objects and Workers. *Link implements it for one process; binding.Router for wherever the
// target runs. What it is given, arguments, headers and props, must not be changed afterwards: it may
// still be on its way when the call has been given up.
type Caller interface {
	// Fetch sends a request, whose body it closes, perhaps after it has returned. The response's body must
	// be closed. ctx holds for that body too. Errors are *Error.
	Fetch(ctx context.Context, t Target, r *http.Request) (*http.Response, error)
	// Call runs a method with serialized arguments. Errors are *Error.
	Call(ctx context.Context, t Target, method string, args []byte) ([]byte, error)
}
