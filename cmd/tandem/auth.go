package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/tools/idp"
)

// newAuth returns `tandem auth`.
func newAuth(sys system) *cobra.Command {
	var listen string
	var o idp.Options
	p := &process{sys: sys, required: []string{"audience", "state-dir", "directory"}}
	p.serve = func(ctx context.Context, log *slog.Logger) error {
		l, err := sidecar.Listen(listen)
		if err != nil {
			return err
		}
		o.Listener, o.Log = l, log
		if o.PublicURL == "" {
			o.PublicURL = "http://" + l.Addr().String()
		}
		return idp.Serve(ctx, o)
	}
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Run the development authorization server",
		Long:  "Run the development authorization server. Anyone can sign in as anyone: never use it in production.",
		Example: `  tandem auth --audience http://127.0.0.1:8787/mcp --state-dir .tandem/auth \
    --directory sqlite:.tandem/directory.db`,
	}
	fs := cmd.Flags()
	fs.StringVar(&listen, "listen", "127.0.0.1:8789", "host:port, unix:/path or fd:N")
	fs.StringVar(&o.PublicURL, "public-url", "", "issuer (default: http:// and where it listens)")
	fs.StringVar(&o.Audience, "audience", "", "what tokens are for unless a request names it: the MCP endpoint's URL")
	fs.StringVar(&o.Dir, "state-dir", "", "directory of the signing key, clients and refresh tokens")
	addDirectoryFlag(fs, &o.Directory, "users and organizations: sqlite:PATH or postgres://…")
	return p.command(cmd)
}
