package sandbox

import (
	"context"
	"log/slog"
	"net"
)

// Options say how a sandbox process runs.
type Options struct {
	// Listener takes the calls of object hosts.
	Listener net.Listener
	// Command starts a child that runs program.Main: the executable and its arguments.
	Command []string
	// Processes is the greatest number of children at once. Default: twice the processors, at least 4.
	Processes int
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes the process's log; nil discards it.
	Log *slog.Logger
}

// Serve runs a sandbox process until ctx ends.
func Serve(ctx context.Context, o Options) error { panic("not built yet") }
