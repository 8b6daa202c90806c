package main

import (
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/tools/reload"
)

// newReload returns `tandem reload`.
func newReload(sys system) *cobra.Command {
	var router string
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Deploy: have all processes read their bundles and secrets again",
		Long: `Have every object host and then every Worker that a router knows read its --bundle and --secrets-file again,
and run them if they are others. New requests are taken by the new version, old ones finish. A version that is
refused leaves the present one as it is; the command says why. SIGHUP does the same to one process.

` + exitTable,
		Example: `  tandem build workers/api -o api.bundle && mv api.bundle /srv/api/ && tandem reload
  tandem reload --router 10.0.0.5:8790`,
		Args: noArguments,
	}
	cmd.Flags().StringVar(&router, "router", "127.0.0.1:8790", "gRPC target of the router")
	cmd.RunE = func(*cobra.Command, []string) error {
		conn, err := sidecar.Dial(router)
		if err != nil {
			return usageError{err}
		}
		defer conn.Close()
		ctx, _, stop := signals(func() { os.Exit(exitKilled) })
		defer stop()
		return reload.Run(ctx, reload.Options{
			Router: conn, Dial: func(target string) (*grpc.ClientConn, error) { return sidecar.Dial(target) }, Out: sys.stdout,
		})
	}
	return cmd
}
