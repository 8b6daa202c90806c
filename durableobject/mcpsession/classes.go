package mcpsession

import (
	"log/slog"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// Options say how the application's objects behave.
type Options struct {
	// Sandbox runs the programs.
	Sandbox sandboxpb.SandboxServiceClient
	// SessionTimeout is how long a session's runtime outlives its last activity. Default 5 min.
	SessionTimeout time.Duration
	// PausedTimeout is how long paused executions extend it. Default 9 min.
	PausedTimeout time.Duration
	// ApprovalWindow is how long a paused execution waits for its approval. Default 4 min.
	ApprovalWindow time.Duration
	// Log takes the application's log; nil discards it.
	Log *slog.Logger
}

// Classes returns the application's classes, for a host with Worker "mcp".
func Classes(o Options) []durableobject.Class { panic("not built yet") }
