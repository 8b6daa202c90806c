// Command register is a Durable Object class with transactions, and its two processes: a host and a worker, which is its
// HTTP front. `tandem router` is the third. The end-to-end tests kill the host again and again and check that what
// its clients see could have happened one call after the other.
//
//	POST /{register}/{method} with the argument as JSON → the result as JSON, or {"reason", "message"}
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

const (
	script      = "register"
	callTimeout = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "register:", err)
		os.Exit(1)
	}
}

// run runs one role until ctx ends.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "host" && args[0] != "worker" {
		return errors.New("usage: register host|worker --listen ADDRESS --router TARGET [--data DIR]")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "host:port or unix:/path to serve on")
	target := flags.String("router", "127.0.0.1:8790", "gRPC target of the router")
	data := flags.String("data", "register-data", "directory of the host's objects")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	l, err := sidecar.Listen(*listen)
	if err != nil {
		return err
	}
	router, err := sidecar.Dial(*target)
	if err != nil {
		return err
	}
	defer router.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if args[0] == "host" {
		return host.Serve(ctx, host.Options{
			Listener: l, Address: *listen, Dir: *data, Router: router, Worker: script,
			Classes: []durableobject.Class{registerClass()}, Log: log,
		})
	}
	caller := binding.NewRouter(binding.RouterOptions{Client: routerpb.NewRouterServiceClient(router)})
	defer func() { _ = caller.Close() }() // nothing is under way then
	return serve(ctx, l, front(binding.NewNamespace(script+"-Register", caller)))
}

// serve serves HTTP until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// failure is how an error reaches the client.
type failure struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// front hands each request to its register, whatever the method takes and returns.
func front(registers *durableobject.Namespace) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{register}/{method}", func(w http.ResponseWriter, r *http.Request) {
		var arg any
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&arg); err != nil {
			http.Error(w, "the body is not JSON: "+err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		stub := registers.GetByName(r.PathValue("register"))
		result, err := durableobject.Call[any](ctx, stub, r.PathValue("method"), arg)
		status := http.StatusOK
		if err != nil {
			e := sidecar.FromError(err)
			status, result = http.StatusServiceUnavailable, failure{e.Reason.String(), e.Message}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(result) // the client is gone then
	})
	return mux
}
