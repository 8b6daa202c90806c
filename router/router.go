package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"golang.org/x/sync/errgroup"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/router/lease"
)

// Options say how a router runs.
type Options struct {
	// Listener takes the calls of hosts and callers.
	Listener net.Listener
	// Dir holds the router's store: leases, epochs and placements. It is created, and locked while it runs.
	Dir string
	// FollowHosts moves a slot whose host is away, or serves its namespace no more, to another that serves it: for
	// development, where each namespace is one host's at a time. That host's objects count, whatever the first one has.
	FollowHosts bool
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes the router's log; nil discards it.
	Log *slog.Logger
}

// Serve runs a router until ctx ends, and closes the listener. A store that cannot be opened is an error that
// names its directory and leaves it as it was.
func Serve(ctx context.Context, o Options) (err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	store, err := lease.Open(lease.Options{Dir: o.Dir, Log: o.Log})
	if err != nil {
		return errors.Join(err, o.Listener.Close())
	}
	defer func() {
		if e := store.Close(); e != nil {
			err = errors.Join(err, fmt.Errorf("close the router's store: %w", e))
		}
	}()
	l := newLedger(store, o.Log)
	l.follow = o.FollowHosts
	server := sidecar.NewServer(sidecar.ServerOptions{Reflection: o.Reflection, Log: o.Log})
	routerpb.RegisterRouterServiceServer(server, &service{ledger: l})
	return serve(ctx, o.Listener, server, l)
}

// serve runs the ledger for as long as the server, which may still be answering when ctx has ended.
func serve(ctx context.Context, listener net.Listener, server *sidecar.Server, l *ledger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		err := l.run(stop)
		if err != nil {
			cancel(err)
		}
		return err
	})
	g.Go(func() error {
		defer close(stop)
		return sidecar.Serve(ctx, listener, server)
	})
	return g.Wait()
}
