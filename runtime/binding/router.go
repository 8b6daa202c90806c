package binding

import (
	"context"
	"net/http"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// Router is a sidecar.Caller that finds the host of each call's object: it asks the router once per slot,
// remembers the answer, and asks again when a host refuses the epoch or cannot be reached.
type Router struct{}

// RouterOptions say how a Router works.
type RouterOptions struct {
	// Client is the router process.
	Client routerpb.RouterServiceClient
	// LocalHostID and Local, when set, deliver calls for objects placed on this very host without a wire.
	LocalHostID string
	Local       sidecar.Caller
}

// NewRouter returns a router. Close it to end its links.
func NewRouter(o RouterOptions) *Router { panic("not built yet") }

// Fetch implements sidecar.Caller.
func (r *Router) Fetch(ctx context.Context, t sidecar.Target, req *http.Request) (*http.Response, error) {
	panic("not built yet")
}

// Call implements sidecar.Caller.
func (r *Router) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	panic("not built yet")
}

// Close ends every link.
func (r *Router) Close() error { panic("not built yet") }
