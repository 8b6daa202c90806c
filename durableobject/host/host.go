package host

import (
	"context"
	"log/slog"
	"net"

	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/durableobject"
)

// Options say how a host runs.
type Options struct {
	// Listener takes the calls of workers and other hosts.
	Listener net.Listener
	// Address is what the host tells the router: a gRPC target.
	Address string
	// Dir holds the host's store; it is created, and locked while the host runs.
	Dir string
	// Router is the connection to the router process.
	Router *grpc.ClientConn
	// Worker is the first half of the classes' unique keys.
	Worker string
	// Classes are the Go classes that the host runs.
	Classes []durableobject.Class
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes the host's log; nil discards it.
	Log *slog.Logger
}

// Serve runs a host until ctx ends, then drains it: turns that run are finished, new calls are refused.
func Serve(ctx context.Context, o Options) error { panic("not built yet") }
