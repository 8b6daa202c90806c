package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/router"
)

// newRouter returns `tandem router`.
func newRouter(sys system) *cobra.Command {
	var listen, dir string
	var follow bool
	p := &process{sys: sys, traced: true, required: []string{"state-dir"}}
	p.serve = func(ctx context.Context, log *slog.Logger) error {
		l, err := sidecar.Listen(listen)
		if err != nil {
			return err
		}
		return router.Serve(ctx, router.Options{Listener: l, Dir: dir, FollowHosts: follow, Reflection: p.flags.reflection, Log: log})
	}
	cmd := &cobra.Command{
		Use:     "router",
		Short:   "Run the router: which host runs an object, which hosts and Workers are alive",
		Example: "  tandem router --listen 127.0.0.1:8790 --state-dir /var/lib/tandem/router",
	}
	fs := cmd.Flags()
	fs.StringVar(&listen, "listen", "127.0.0.1:8790", "host:port, unix:/path or fd:N")
	fs.StringVar(&dir, "state-dir", "", "directory of leases, epochs and placements")
	fs.BoolVar(&follow, "follow-hosts", false, "move slots to the host that serves their namespace, for development")
	hide(fs, "follow-hosts")
	p.addReflectionFlag(fs)
	return p.command(cmd)
}
