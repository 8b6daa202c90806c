package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/sandbox/pool"
)

// Options say how a sandbox process runs.
type Options struct {
	// Listener takes the calls of object hosts.
	Listener net.Listener
	// Command starts a child that runs program.Main: the executable and its arguments.
	Command []string
	// Processes is the greatest number of programs that run at once; those that wait for a person do not
	// count. Default: four times the processors, at least 16.
	Processes int
	// Waiting is how many programs may wait for a process, at most half of them for one organization. Default 1024.
	Waiting int
	// Linger is how long a process stays that is not needed. Default 30 s.
	Linger time.Duration
	// RequireProtections has Serve fail where the machine does not allow all protections.
	RequireProtections bool
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes the process's log; nil discards it.
	Log *slog.Logger
}

// Serve runs a sandbox process until ctx ends. Programs that run then have until sidecar.DrainTimeout; those
// that are left are killed, and their calls end with UNAVAILABLE. It fails when the options are wrong or the
// listener fails, and closes the listener in any case.
func Serve(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, err := pool.New(pool.Options{
		Command: o.Command, Processes: o.Processes, Waiting: o.Waiting, Linger: o.Linger,
		RequireProtections: o.RequireProtections, Log: o.Log,
	})
	if err != nil {
		_ = o.Listener.Close()
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer func() { _ = p.Close() }()
	if o.RequireProtections {
		if err := p.Ready(ctx); err != nil {
			_ = o.Listener.Close()
			return fmt.Errorf("start the sandbox: %w", err)
		}
	}
	s := sidecar.NewServer(sidecar.ServerOptions{Reflection: o.Reflection, Log: o.Log})
	svc := newService(p, o.Log)
	sandboxpb.RegisterSandboxServiceServer(s, svc)
	stop := context.AfterFunc(ctx, svc.drain)
	defer stop()
	err = sidecar.Serve(ctx, o.Listener, s)
	svc.receivers.Wait()
	return err
}
