package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/alarm"
	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/runtime/binding"
)

// Options say how a host runs.
type Options struct {
	// Listener takes the calls of workers and other hosts.
	Listener net.Listener
	// Address is what the host tells the router: a gRPC target.
	Address string
	// Dir holds the host's store; it is created, and locked while the host runs.
	Dir string
	// Router is the connection to the router process.
	Router *grpc.ClientConn
	// Worker is the first half of the classes' unique keys.
	Worker string
	// Classes are the Go classes that the host runs.
	Classes []durableobject.Class
	// Others are the classes of further Workers.
	Others []WorkerClasses
	// Services are the Go classes of the platform's own services: the first half of their unique keys is
	// objectid.Platform.
	Services []durableobject.Class
	// MaxWaiting is how many events may wait for one object; zero means 10,000.
	MaxWaiting int
	// StrictLimits holds objects to the limits of Cloudflare's key-value storage before SQLite: keys of 2048 bytes,
	// values of 128 KiB, 128 keys in one get. Without it only such limits hold as keep the host healthy. Serve heeds
	// it; for New, the store's own options say the same.
	StrictLimits bool
	// TestClock has the objects live by a clock that can be advanced, for tests: see package clock. Serve heeds it, on a
	// loopback address or a unix socket only.
	TestClock bool
	// OnStart is given the host before it takes calls, by Serve.
	OnStart func(*Host)
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes the host's log; nil discards it.
	Log *slog.Logger
}

// WorkerClasses are the classes of a Worker.
type WorkerClasses struct {
	// Worker is the first half of their unique keys.
	Worker string
	// Classes may be none, until the Worker gets some by DeployWorker.
	Classes []durableobject.Class
}

// Validate says all that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	require := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	require(o.Worker != "" && o.Worker != objectid.Platform, "worker is empty or that of the platform")
	require(o.Router != nil, "router connection is missing")
	require(o.MaxWaiting >= 0, "max waiting is negative")
	all, workers := [][]durableobject.Class{o.Classes, o.Services}, map[string]bool{o.Worker: true}
	for _, w := range o.Others {
		require(w.Worker != "" && w.Worker != objectid.Platform, "another worker is empty or that of the platform")
		require(!workers[w.Worker], fmt.Sprintf("worker %q is given twice", w.Worker))
		workers[w.Worker] = true
		all = append(all, w.Classes)
	}
	require(len(slices.Concat(all...)) > 0, "no classes")
	for _, classes := range all {
		seen := map[string]bool{}
		for _, c := range classes {
			errs = append(errs, c.Validate())
			require(!seen[c.Name], fmt.Sprintf("class %q is given twice", c.Name))
			seen[c.Name] = true
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("host options: %w", err)
	}
	return nil
}

// limits returns the limits of the host's store.
func (o Options) limits() storage.Limits {
	if o.StrictLimits {
		return storage.LegacyLimits()
	}
	return storage.Limits{}
}

// Host runs the objects of one store. Make it with New, tell it the epoch by Run, and Close it.
type Host struct {
	log     *slog.Logger
	store   *storage.Store
	worker  string
	classes classes
	table   table
	shared  actor.Shared

	members   routerpb.RouterServiceClient
	address   string
	router    *binding.Router
	scheduler *alarm.Scheduler

	// lifetime is the context of what WaitUntil runs; end ends it.
	lifetime context.Context
	end      context.CancelCauseFunc

	// registrations are the services of Register.
	registrations []func(grpc.ServiceRegistrar)
	// test is the clock that tests move; nil for real time.
	test *clock.Test

	// rejoin takes the wish that the router be told the namespaces anew; what it takes is closed then.
	rejoin chan chan<- struct{}
	// deploying is held while the classes get other code.
	deploying sync.Mutex
	// draining is true once no call from outside is taken.
	draining atomic.Bool
	// epoch is what every call must carry; zero until the router has granted one.
	epoch atomic.Uint64
	// running counts events and background work.
	running gauge
	// awaited are the runs of alarms that operators wait for.
	awaited awaitedRuns
}

// New returns a host for an open store, which stays the caller's to close, after the host. It neither listens nor joins
// yet, and takes calls once Run has joined. Alarms that are due begin to run.
func New(o Options, store *storage.Store) (*Host, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	h := &Host{
		log: o.Log, store: store, worker: o.Worker, address: o.Address,
		members: routerpb.NewRouterServiceClient(o.Router), running: newGauge(), rejoin: make(chan chan<- struct{}),
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.classes.set(o.Worker, o.Classes)
	for _, w := range o.Others {
		h.classes.set(w.Worker, w.Classes)
	}
	h.classes.set(objectid.Platform, o.Services)
	h.lifetime, h.end = context.WithCancelCause(detached())
	h.router = binding.NewRouter(binding.RouterOptions{
		Client: h.members, LocalHostID: store.HostID(), Local: local{h},
	})
	h.shared = actor.Shared{
		Store: store, Caller: h.router, Lifetime: h.lifetime,
		MaxWaiting: o.MaxWaiting, Log: h.log, Hooks: h.hooks(),
	}
	h.table.shared, h.table.memory, h.table.clock = &h.shared, newReclaimer(), store.Clock()
	scheduler, err := alarm.New(alarm.Options{
		Store: store, Deliver: h.deliverAlarm, Ended: h.awaited.ended, Log: h.log,
	})
	if err != nil {
		h.end(nil)
		return nil, errors.Join(fmt.Errorf("start alarms: %w", err), h.router.Close())
	}
	h.scheduler = scheduler
	return h, nil
}

// detached returns the one context of this process that has no parent: what objects do in the background belongs to no
// call, and outlives the host's own context until it has drained.
func detached() context.Context { return context.Background() }

// hooks returns how actors report: each event takes its place in its object's queue, and waits at gates are spans.
func (h *Host) hooks() actor.Hooks {
	wait := func(name string) func(context.Context) func(error) {
		return func(ctx context.Context) func(error) {
			_, span := telemetry.Start(ctx, name)
			if !span.Sampled() {
				return nil
			}
			return span.End
		}
	}
	return actor.Hooks{
		Queued: sidecar.Entered,
		Background: func() func() {
			h.running.enter()
			return h.running.leave
		},
		InputWait:  wait(telemetry.SpanInputGateLockWait),
		OutputWait: wait(telemetry.SpanOutputGateLockWait),
		Storage:    observeStorage,
		Broken: func(a *actor.Actor, reason actor.BrokenReason, err error) {
			if reason == actor.ReasonShutdown {
				return
			}
			level := slog.LevelWarn
			switch reason {
			case actor.ReasonOutputGate:
				level = slog.LevelError
			case actor.ReasonUpdated:
				level = slog.LevelInfo
			}
			h.log.Log(h.lifetime, level, "object was reset", "namespace", a.Namespace(),
				"object_id", a.ID().String(), "reason", reason.String(), "err", causes(err))
			if c := h.classes.get(a.Namespace()); reason.IsCrash() && c != nil && h.table.crashed(c, a.ID(), reason) {
				h.log.Error("object is quarantined", "namespace", a.Namespace(), "object_id", a.ID().String(),
					"reason", reason.String())
			}
		},
	}
}

// observeStorage makes a span of an operation of storage. Like workerd: such spans have a name and nothing else.
func observeStorage(ctx context.Context, operation string) func(error) {
	name := telemetry.StorageSpan(operation)
	if name == "" {
		return nil
	}
	_, span := telemetry.Start(ctx, name)
	if !span.Sampled() {
		return nil
	}
	return span.End
}

// causes returns an error for the log, with what is behind it: the text for callers may hide it.
func causes(err error) string {
	if cause := errors.Unwrap(err); cause != nil && cause.Error() != err.Error() {
		return err.Error() + ": " + cause.Error()
	}
	return err.Error()
}
