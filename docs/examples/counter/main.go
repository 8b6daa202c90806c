// Command counter is a first Durable Object class in Go, and the two processes that it needs beside `tandem router`: a host,
// which runs the objects, and a worker, which is their HTTP front. docs/go-classes.md walks through it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/runtime/binding"
)

const (
	script       = "counter" // with a class's name it makes the unique key: counter-Counter
	callTimeout  = 10 * time.Second
	readTimeout  = 10 * time.Second
	idleTimeout  = 2 * time.Minute
	drainTimeout = 10 * time.Second
	maxBodyBytes = 1 << 10 // no request has a body
)

// options are the flags of both roles.
type options struct {
	listen, router, data, profile string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "counter:", err)
		os.Exit(1)
	}
}

// run runs one role until ctx ends.
func run(ctx context.Context, args []string) (err error) {
	roles := map[string]func(context.Context, options, net.Listener, *slog.Logger) error{
		"host": serveHost, "worker": serveWorker,
	}
	if len(args) == 0 || roles[args[0]] == nil {
		return errors.New("usage: counter host|worker --listen ADDRESS --router TARGET [--data DIR]")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "host:port or unix:/path to serve on")
	flags.StringVar(&o.router, "router", "127.0.0.1:8790", "gRPC target of the router")
	flags.StringVar(&o.data, "data", "counter-data", "directory of the host's objects")
	flags.StringVar(&o.profile, "profile", "", "host:port or unix:/path for net/http/pprof; none turns it off")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // worth a quarter more requests for 40 MB
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ratio, _ := strconv.ParseFloat(os.Getenv("OTEL_TRACES_SAMPLER_ARG"), 64) // zero means all
	flush, err := telemetry.Setup(ctx, telemetry.Options{
		Service: script + "-" + args[0], Endpoint: os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), SampleRatio: ratio,
		TracesPerSecond: telemetry.DefaultTracesPerSecond, Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush(context.WithoutCancel(ctx))) }()
	stop, err := serveProfile(o.profile)
	if err != nil {
		return err
	}
	defer stop()
	listener, err := sidecar.Listen(o.listen)
	if err != nil {
		return err
	}
	return roles[args[0]](ctx, o, listener, log)
}

// serveHost runs the objects: host.Serve does everything.
func serveHost(ctx context.Context, o options, l net.Listener, log *slog.Logger) error {
	router, err := sidecar.Dial(o.router)
	if err != nil {
		return err
	}
	defer router.Close()
	address := l.Addr().String()
	if l.Addr().Network() == "unix" {
		address = "unix:" + address
	}
	return host.Serve(ctx, host.Options{
		Listener: l, Address: address, Dir: o.data, Router: router, Worker: script,
		Classes: []durableobject.Class{counterClass()}, Log: log,
	})
}

// serveWorker runs the HTTP front, whose calls go to wherever an object lives.
func serveWorker(ctx context.Context, o options, l net.Listener, log *slog.Logger) error {
	conn, err := sidecar.Dial(o.router)
	if err != nil {
		return err
	}
	defer conn.Close()
	router := binding.NewRouter(binding.RouterOptions{
		Client: routerpb.NewRouterServiceClient(conn), CallTimeout: callTimeout,
	})
	defer router.Close() //nolint:errcheck // the process ends

	f := &front{counters: binding.NewNamespace(script+"-Counter", router)}
	server := &fasthttp.Server{
		Handler: f.serve, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxRequestBodySize: maxBodyBytes,
		NoDefaultServerHeader: true, CloseOnShutdown: true,
	}
	drained := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		drained <- server.ShutdownWithContext(limit)
	})
	log.Info("worker serves", "address", l.Addr().String())
	if err := server.Serve(l); err != nil {
		return err
	}
	return <-drained
}
