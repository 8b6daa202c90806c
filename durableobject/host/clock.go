package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tandem-do/tandem/durableobject/clock"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

const (
	// advanceWait is how long an advance may take unless its caller says otherwise, and maxAdvanceWait the longest.
	advanceWait    = 30 * time.Second
	maxAdvanceWait = 10 * time.Minute
	// maxRunning is how much of what still runs is told.
	maxRunning = 100
)

// openClock returns the test clock of a host, or nil for one that lives by real time. The error is a
// *clock.AheadError where real time will not do.
func openClock(o Options) (*clock.Test, error) {
	if !o.TestClock {
		return nil, clock.CheckReal(o.Dir)
	}
	if !loopback(o.Listener.Addr()) {
		return nil, fmt.Errorf("a test clock is for development: listen on loopback or a unix socket, not on %s",
			o.Listener.Addr())
	}
	return clock.OpenTest(o.Dir)
}

// loopback reports whether only this machine can connect to an address.
func loopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}

// Clock is the time by which the host's objects live.
func (h *Host) Clock() clock.Clock { return h.store.Clock() }

// clockService moves the host's clock.
type clockService struct {
	dopb.UnimplementedClockServiceServer
	// test is nil for a host that lives by real time.
	test *clock.Test
	// serving ends when the host drains.
	serving context.Context
}

// GetClock implements dopb.ClockServiceServer.
func (s *clockService) GetClock(context.Context, *dopb.GetClockRequest) (*dopb.GetClockResponse, error) {
	if err := s.movable(); err != nil {
		return nil, err
	}
	return &dopb.GetClockResponse{
		Now: timestamppb.New(s.test.Clock().Now()), Ahead: durationpb.New(s.test.Ahead()),
	}, nil
}

// AdvanceClock implements dopb.ClockServiceServer.
func (s *clockService) AdvanceClock(
	ctx context.Context, r *dopb.AdvanceClockRequest,
) (*dopb.AdvanceClockResponse, error) {
	if err := s.movable(); err != nil {
		return nil, err
	}
	by, wait := r.GetBy(), advanceWait
	if by.CheckValid() != nil {
		return nil, status.Error(codes.InvalidArgument, "by is missing or not a duration")
	}
	if w := r.GetWait(); w != nil {
		if wait = w.AsDuration(); w.CheckValid() != nil || wait <= 0 || wait > maxAdvanceWait {
			return nil, status.Errorf(codes.InvalidArgument, "wait must be above 0 and at most %v", maxAdvanceWait)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(s.serving, cancel)()
	a, err := s.test.Advance(ctx, by.AsDuration())
	switch {
	case errors.Is(err, clock.ErrRange):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case err != nil && ctx.Err() != nil:
		return nil, status.Error(codes.Aborted, err.Error())
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &dopb.AdvanceClockResponse{
		Now: timestamppb.New(a.To), Ahead: durationpb.New(s.test.Ahead()), Left: durationpb.New(a.Left),
		Running: a.Running[:min(len(a.Running), maxRunning)],
	}, nil
}

// movable says whether the host has a clock that can be moved.
func (s *clockService) movable() error {
	if s.test == nil {
		return status.Error(codes.FailedPrecondition,
			"this host lives by real time; for a clock that can be advanced, start it with --test-clock")
	}
	return nil
}
