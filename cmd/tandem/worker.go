package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/worker"
	"github.com/tandem-do/tandem/worker/script"
)

// newWorker returns `tandem worker`.
func newWorker(sys system) *cobra.Command {
	var at workerAddresses
	var o worker.Options
	var b bundleFlags
	p := &process{sys: sys, busy: true, traced: true, needs: func() []string {
		if b.given() {
			return []string{"router"}
		}
		return []string{"router", "issuer", "directory"}
	}}
	p.reloads = b.given
	p.prepare = func() { _ = script.Warm(context.Background()) } // what fails here fails again with the bundle
	p.serve = func(ctx context.Context, log *slog.Logger) error {
		if b.given() {
			return b.serveScript(ctx, sys, at, log)
		}
		l, err := sidecar.Listen(at.listen)
		if err != nil {
			return err
		}
		conn, err := sidecar.Dial(at.router)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		defer conn.Close()
		o.Listener, o.Router, o.Log = l, conn, log
		if o.PublicURL == "" {
			o.PublicURL = "http://" + l.Addr().String()
		}
		return worker.Serve(ctx, o)
	}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker: a bundle's, or the MCP application's",
		Example: `  tandem worker --listen 0.0.0.0:8787 --public-url https://mcp.example.com --router 127.0.0.1:8790 \
    --issuer https://id.example.com --directory postgres://tandem@db/tandem
  tandem worker --bundle api.bundle --listen 0.0.0.0:8787 --router 127.0.0.1:8790`,
	}
	fs := cmd.Flags()
	fs.StringVar(&at.listen, "listen", "127.0.0.1:8787", "host:port, unix:/path or fd:N")
	fs.StringVar(&o.PublicURL, "public-url", "", "origin that clients use (default: http:// and where it listens)")
	fs.StringVar(&at.router, "router", "", "gRPC target of the router")
	b.add(fs)
	fs.StringVar(&at.services, "service-listen", "127.0.0.1:0", "where a bundle's worker takes service calls; empty: nowhere")
	fs.StringVar(&at.target, "service-address", "", "gRPC target at which others reach that (default: where it listens)")
	fs.StringVar(&o.Issuer, "issuer", "", "URL of the OpenID provider")
	fs.StringVar(&o.Audience, "audience", "", "what tokens must be for (default: the MCP endpoint's URL)")
	fs.StringVar(&o.WebClientID, "web-client-id", "", "client at the provider for browsers (default: a metadata document)")
	fs.Var(secretValue{&o.WebClientSecret}, "web-client-secret", "secret of that client, if it has one")
	fromEnv(fs, "web-client-secret", "TANDEM_WEB_CLIENT_SECRET")
	fs.StringVar(&o.SessionKeyFile, "session-key-file", "", "key of browser sessions, made if absent (default: random)")
	addDirectoryFlag(fs, &o.Directory, "users and organizations: sqlite:PATH or postgres://…")
	fs.StringSliceVar(&o.AllowedHosts, "allowed-host", nil, "Host header accepted beside the public URL's; repeatable")
	fs.StringSliceVar(&o.AllowedOrigins, "allowed-origin", nil, "Origin header accepted beside those hosts'; repeatable")
	return p.command(cmd)
}
