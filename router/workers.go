package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/router/registry"
)

const (
	// maxEntrypoints is how many entrypoints a Worker may have.
	maxEntrypoints = 1000
	// settleTime is how long after its start the router does not take a Worker that it does not know for absent: those
	// that run renew their registrations within it.
	settleTime = registry.TTL/3 + time.Second
)

// RegisterWorker implements routerpb.RouterServiceServer.
func (s *service) RegisterWorker(ctx context.Context, r *routerpb.RegisterWorkerRequest) (
	*routerpb.RegisterWorkerResponse, error,
) {
	if err := validateRegistration(r); err != nil {
		return nil, err
	}
	p := registry.Process{
		Worker: r.GetWorker(), Incarnation: r.GetIncarnation(), Address: r.GetAddress(), Entrypoints: r.GetEntrypoints(),
	}
	var refused error
	err := s.ledger.do(ctx, func(now time.Time) { refused = s.ledger.register(now, p) })
	if errors.Is(refused, registry.ErrFull) {
		return nil, status.Error(codes.ResourceExhausted, refused.Error())
	}
	if err != nil {
		return nil, err
	}
	return &routerpb.RegisterWorkerResponse{LeaseTtl: durationpb.New(registry.TTL)}, nil
}

// UnregisterWorker implements routerpb.RouterServiceServer.
func (s *service) UnregisterWorker(ctx context.Context, r *routerpb.UnregisterWorkerRequest) (
	*routerpb.UnregisterWorkerResponse, error,
) {
	if err := validateWorker(r.GetWorker()); err != nil {
		return nil, err
	}
	if err := validateID("incarnation", r.GetIncarnation()); err != nil {
		return nil, err
	}
	err := s.ledger.do(ctx, func(now time.Time) {
		if s.ledger.workers.Unregister(now, r.GetWorker(), r.GetIncarnation()) {
			s.ledger.log.Info("worker left", "worker", r.GetWorker())
		}
	})
	if err != nil {
		return nil, err
	}
	return &routerpb.UnregisterWorkerResponse{}, nil
}

// FindWorker implements routerpb.RouterServiceServer.
func (s *service) FindWorker(ctx context.Context, r *routerpb.FindWorkerRequest) (*routerpb.FindWorkerResponse, error) {
	if err := validateWorker(r.GetWorker()); err != nil {
		return nil, err
	}
	var found []registry.Process
	var presence registry.Presence
	var settled bool
	err := s.ledger.do(ctx, func(now time.Time) {
		found, presence = s.ledger.workers.Find(r.GetWorker())
		settled = now.Sub(s.ledger.started) >= settleTime
	})
	switch {
	case err != nil:
		return nil, err
	case presence == registry.Present:
		return &routerpb.FindWorkerResponse{Processes: toProcesses(found)}, nil
	}
	e := &sidecar.Error{
		Reason: sidecar.ReasonNoSuchWorker, Message: fmt.Sprintf("Worker %q not found. Make sure it is running: "+
			"`tandem dev` of its directory, or `tandem worker` of its bundle with the same router.", r.GetWorker()),
	}
	if presence == registry.Restarting || !settled {
		e.Reason, e.Retryable = sidecar.ReasonUnplaced, true
	}
	return nil, e
}

// ListWorkers implements routerpb.RouterServiceServer.
func (s *service) ListWorkers(ctx context.Context, _ *routerpb.ListWorkersRequest) (
	*routerpb.ListWorkersResponse, error,
) {
	var list []registry.Process
	if err := s.ledger.do(ctx, func(time.Time) { list = s.ledger.workers.List() }); err != nil {
		return nil, err
	}
	return &routerpb.ListWorkersResponse{Processes: toProcesses(list)}, nil
}

// register makes a worker process known, or renews its lease.
func (l *ledger) register(now time.Time, p registry.Process) error {
	before, _ := l.workers.Find(p.Worker)
	if err := l.workers.Register(now, p); err != nil {
		return err
	}
	if after, _ := l.workers.Find(p.Worker); len(before) != len(after) {
		l.log.Info("worker registered", "worker", p.Worker, "address", p.Address)
	}
	return nil
}

func toProcesses(list []registry.Process) []*routerpb.WorkerProcess {
	out := make([]*routerpb.WorkerProcess, 0, len(list))
	for _, p := range list {
		out = append(out, &routerpb.WorkerProcess{
			Worker: p.Worker, Incarnation: p.Incarnation, Address: p.Address, Entrypoints: p.Entrypoints,
		})
	}
	return out
}

func validateRegistration(r *routerpb.RegisterWorkerRequest) error {
	if err := validateWorker(r.GetWorker()); err != nil {
		return err
	}
	if err := validateID("incarnation", r.GetIncarnation()); err != nil {
		return err
	}
	if err := validateAddress(r.GetAddress()); err != nil {
		return err
	}
	if n := len(r.GetEntrypoints()); n > maxEntrypoints {
		return invalid("entrypoints has %d entries, at most %d are allowed", n, maxEntrypoints)
	}
	for i, name := range r.GetEntrypoints() {
		if n := len(name); n == 0 || n > sidecar.MaxEntrypointBytes {
			return invalid("entrypoints[%d] has %d bytes, 1 to %d are allowed", i, n, sidecar.MaxEntrypointBytes)
		}
	}
	return nil
}

func validateWorker(name string) error {
	switch n := len(name); {
	case n == 0:
		return invalid("worker is empty")
	case n > sidecar.MaxWorkerBytes:
		return invalid("worker has %d bytes, at most %d are allowed", n, sidecar.MaxWorkerBytes)
	case strings.IndexByte(name, 0) >= 0:
		return invalid("worker holds a NUL byte")
	}
	return nil
}
