package main

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/mcpsession"
	"github.com/tandem-do/tandem/durableobject/mcpsession/sources"
	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// mcpWorker is the Worker that the MCP application's classes belong to.
const mcpWorker = "mcp"

// hostFlags are the flags of the object host.
type hostFlags struct {
	listen, address, dir, router, sandbox string
	timeouts                              durations
	sources                               sourceFlags
	limits                                props.UsageLimits
	testClock, strictLimits, platform     bool
	bundle                                bundleFlags
}

// newHost returns `tandem durableobject`.
func newHost(sys system) *cobra.Command {
	var f hostFlags
	p := &process{sys: sys, busy: true, traced: true, needs: func() []string {
		if f.bundle.given() {
			return []string{"state-dir", "router"}
		}
		return []string{"state-dir", "router", "sandbox"}
	}}
	p.reloads = f.bundle.given
	p.serve = func(ctx context.Context, log *slog.Logger) (err error) {
		if f.bundle.given() {
			return f.serveBundles(ctx, sys, p.flags.reflection, log)
		}
		open, err := f.sources.open(f.dir, sys.lookup, log)
		if err != nil {
			return err
		}
		defer open.close()
		return f.serve(ctx, open.options, p.flags.reflection, log)
	}
	cmd := &cobra.Command{
		Use:   "durableobject",
		Short: "Run an object host: live Durable Objects, their storage and alarms",
		Example: `  tandem durableobject --listen 127.0.0.1:8791 --state-dir /var/lib/tandem/objects \
    --router 127.0.0.1:8790 --sandbox 127.0.0.1:8792
  tandem durableobject --bundle api.bundle --state-dir /var/lib/tandem/objects --router 127.0.0.1:8790`,
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8791", "host:port, unix:/path or fd:N")
	fs.StringVar(&f.address, "address", "", "gRPC target at which others reach this host (default: where it listens)")
	fs.StringVar(&f.dir, "state-dir", "", "directory of the objects' storage")
	fs.StringVar(&f.router, "router", "", "gRPC target of the router")
	fs.StringVar(&f.sandbox, "sandbox", "", "gRPC target of the sandbox")
	f.bundle.add(fs)
	f.timeouts.add(cmd)
	addLimitFlags(fs, &f.limits)
	f.sources.add(fs)
	addTestClockFlag(fs, &f.testClock)
	addStrictLimitsFlag(fs, &f.strictLimits)
	fs.BoolVar(&f.platform, "platform-services", true, "have the objects of KV and cron, which all hosts of a router share")
	p.addReflectionFlag(fs)
	return p.command(cmd)
}

// serve runs the host with the MCP application's classes.
func (f *hostFlags) serve(ctx context.Context, upstream sources.Options, reflection bool, log *slog.Logger) (err error) {
	l, err := sidecar.Listen(f.listen)
	if err != nil {
		return err
	}
	router, err := sidecar.Dial(f.router)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer router.Close()
	sandbox, err := sidecar.Dial(f.sandbox)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer sandbox.Close()
	address := f.address
	if address == "" {
		address = target(l.Addr())
	}
	return host.Serve(ctx, host.Options{
		Listener: l, Address: address, Dir: f.dir, Router: router, Worker: mcpWorker,
		Classes: mcpsession.Classes(mcpsession.Options{
			Sandbox:        sandboxpb.NewSandboxServiceClient(sandbox),
			SessionTimeout: f.timeouts.session, PausedTimeout: f.timeouts.paused,
			ApprovalWindow: f.timeouts.approval, Sources: upstream, Limits: f.limits, Draining: ctx.Done(), Log: log,
		}),
		TestClock: f.testClock, StrictLimits: f.strictLimits, Reflection: reflection, Log: log,
	})
}

// target returns the gRPC target of an address that a process listens on.
func target(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return a.String()
}
