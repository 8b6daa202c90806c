package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/tools/traces"
)

// Defaults of the trace store.
const (
	defaultTraceAge       = 24 * time.Hour
	defaultTraceMegabytes = 256
)

// tracesFlags are the flags of the trace store.
type tracesFlags struct {
	listen, otlp string
	links        []string
	megabytes    int
	options      traces.Options
}

// newTraces returns `tandem traces`.
func newTraces(sys system) *cobra.Command {
	f := tracesFlags{megabytes: defaultTraceMegabytes, options: traces.Options{MaxAge: defaultTraceAge}}
	p := &process{sys: sys}
	p.serve = f.serve
	cmd := &cobra.Command{
		Use:     "traces",
		Short:   "Run the development trace store: OTLP in, span search and index page out",
		Example: "  tandem traces --state-dir .tandem/traces --max-age 2h",
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8788", "index page, search and OTLP/HTTP: host:port, unix:/path or fd:N")
	fs.StringVar(&f.otlp, "otlp-listen", "127.0.0.1:4317", "OTLP/gRPC: host:port, unix:/path or fd:N")
	fs.StringVar(&f.options.Dir, "state-dir", "", "directory of the spans; none keeps them in memory")
	fs.Var(durationValue{&f.options.MaxAge, time.Minute, 90 * 24 * time.Hour}, "max-age", "how long spans are kept")
	fs.Var(intValue{&f.megabytes, 1, 1 << 20}, "max-megabytes", "how much is kept")
	fs.StringArrayVar(&f.links, "link", nil, "NAME=URL shown on the index page; repeatable")
	return p.command(cmd)
}

// serve runs the store.
func (f *tracesFlags) serve(ctx context.Context, log *slog.Logger) error {
	o := f.options
	o.MaxBytes, o.Log = int64(f.megabytes)<<20, log
	for _, link := range f.links {
		name, url, ok := strings.Cut(link, "=")
		if !ok {
			return usagef("--link %q is not NAME=URL", link)
		}
		o.Links = append(o.Links, [2]string{name, url})
	}
	var err error
	if o.HTTP, err = sidecar.Listen(f.listen); err != nil {
		return err
	}
	if o.GRPC, err = sidecar.Listen(f.otlp); err != nil {
		return errors.Join(err, o.HTTP.Close())
	}
	return traces.Serve(ctx, o)
}
