package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/admin"
	"github.com/tandem-do/tandem/durableobject/gate"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

const (
	// DrainTimeout is how long a draining host lets events and background work finish.
	DrainTimeout = 10 * time.Second
	// breakTimeout is how long it then waits for what it has broken.
	breakTimeout = 2 * time.Second
)

// Serve runs a host until ctx ends, then drains it: turns that run are finished, new calls are refused. It returns an
// error if the options, the directory or the router refuse it, and when the disk fails: the process should end then and
// be started again.
func Serve(ctx context.Context, o Options) (err error) {
	if o.Listener == nil || o.Address == "" || o.Dir == "" {
		return errors.New("host options: Listener, Address and Dir must be given")
	}
	if err := o.Validate(); err != nil {
		return err
	}
	test, err := openClock(o)
	if err != nil {
		return err
	}
	store, err := storage.Open(storage.Options{Dir: o.Dir, Log: o.Log, Clock: test.Clock(), Limits: o.limits()})
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	defer test.Close()
	h, err := New(o, store)
	if err != nil {
		return err
	}
	h.test = test
	if o.OnStart != nil {
		o.OnStart(h)
	}
	return h.Serve(ctx, o.Listener, o.Reflection)
}

// Register adds gRPC services of the process's own to those of Serve. Call it before, as in Options.OnStart.
func (h *Host) Register(register func(grpc.ServiceRegistrar)) {
	h.registrations = append(h.registrations, register)
}

// Serve joins the router and takes calls on l until ctx ends, then drains and closes the host. Health says SERVING
// once it has joined.
func (h *Host) Serve(ctx context.Context, l net.Listener, reflection bool) error {
	server := sidecar.NewServer(sidecar.ServerOptions{Reflection: reflection, Log: h.log})
	server.Health.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	sidecar.RegisterOrderedHandler(server, h)
	dopb.RegisterAdminServiceServer(server.Server, admin.New(h.store, operator{h}))
	for _, register := range h.registrations {
		register(server.Server)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	dopb.RegisterClockServiceServer(server.Server, &clockService{test: h.test, serving: ctx})
	var parts sync.WaitGroup
	var served, leased error
	parts.Go(func() {
		served = sidecar.Serve(ctx, l, server)
		stop(served)
	})
	parts.Go(func() {
		leased = h.keepLease(ctx, func(uint64) {
			server.Health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
		})
		if leased != nil {
			stop(leased)
		}
	})
	var broken error
	select {
	case <-ctx.Done():
	case <-h.store.Broken():
		broken = fmt.Errorf("store: %w", h.store.Err())
		stop(broken)
	}
	// ctx has ended, and the last words need one that has not.
	after := context.WithoutCancel(ctx)
	drained := h.Drain(after)
	parts.Wait()
	h.leave(after)
	return errors.Join(served, leased, broken, drained)
}

// Drain refuses new calls, lets what runs finish for DrainTimeout, or not at all if the store is broken, breaks what is
// left, and closes the host. ctx may cut the waiting short. The error says what did not end.
func (h *Host) Drain(ctx context.Context) error {
	if h.draining.Swap(true) {
		return nil
	}
	h.log.Info("host drains", "host", h.store.HostID(), "running", h.running.n.Load())
	h.announceDrain(ctx)
	grace, reason := DrainTimeout, actor.ShutdownError()
	if err := h.store.Err(); err != nil {
		grace, reason = 0, gate.CommitFailed(err) // what whoever waits for a commit gets of it too
	}
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	h.running.wait(patience)

	h.table.close(actor.ReasonShutdown, reason)
	h.end(reason)
	h.scheduler.Close()
	rest, cancelRest := context.WithTimeout(ctx, breakTimeout)
	defer cancelRest()
	var err error
	if !h.running.wait(rest) {
		err = fmt.Errorf("drain: %d events or background functions of objects do not end", h.running.n.Load())
	}
	return errors.Join(err, h.router.Close())
}
