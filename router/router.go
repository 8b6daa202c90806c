package router

import (
	"context"
	"log/slog"
	"net"
)

// Options say how a router runs.
type Options struct {
	// Listener takes the calls of hosts and callers.
	Listener net.Listener
	// Dir holds the router's store: leases, epochs and placements. It is created, and locked while it runs.
	Dir string
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes the router's log; nil discards it.
	Log *slog.Logger
}

// Serve runs a router until ctx ends.
func Serve(ctx context.Context, o Options) error { panic("not built yet") }
