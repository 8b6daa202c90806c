package traces

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// Options say how the trace store runs.
type Options struct {
	// HTTP serves the index page, the span search and OTLP/HTTP; GRPC serves OTLP/gRPC.
	HTTP, GRPC net.Listener
	// Dir holds the spans; empty keeps them in memory.
	Dir string
	// MaxAge and MaxBytes bound what is kept. Defaults: 24 h, 256 MiB.
	MaxAge   time.Duration
	MaxBytes int64
	// Links are shown on the index page: a name and a URL each.
	Links [][2]string
	// Log takes the store's log; nil discards it.
	Log *slog.Logger
}

// Serve runs the store until ctx ends.
func Serve(ctx context.Context, o Options) error { panic("not built yet") }
