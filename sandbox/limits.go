package sandbox

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
	"github.com/tandem-do/tandem/sandbox/pool"
)

const (
	// maxCodeBytes is the longest program.
	maxCodeBytes = 1 << 20
	// maxExecutionIDBytes is the longest execution id.
	maxExecutionIDBytes = 256
	// maxOrganizationBytes is the longest name of an organization.
	maxOrganizationBytes = 256

	defaultWallClock = 5 * time.Minute
	maxWallClock     = 15 * time.Minute

	defaultCPU = 30 * time.Second
	maxCPU     = 2 * time.Minute

	// minMemoryBytes is what the engine needs before it can run anything.
	minMemoryBytes     = 8 << 20
	defaultMemoryBytes = 128 << 20
	maxMemoryBytes     = 512 << 20

	defaultResultBytes = 4 << 20
	maxResultBytes     = 8 << 20

	defaultPendingToolCalls = 64
	maxPendingToolCalls     = 256
)

// programOf checks a Start and fills in its limits. Errors are statuses with INVALID_ARGUMENT that name the
// field.
func programOf(s *sandboxpb.Start) (pool.Program, error) {
	switch {
	case s == nil:
		return pool.Program{}, invalid("the first request is not start")
	case len(s.GetCode()) > maxCodeBytes:
		return pool.Program{}, invalid("code has %d bytes, at most %d", len(s.GetCode()), maxCodeBytes)
	case len(s.GetExecutionId()) > maxExecutionIDBytes:
		return pool.Program{}, invalid("execution_id has %d bytes, at most %d", len(s.GetExecutionId()), maxExecutionIDBytes)
	case len(s.GetOrganization()) > maxOrganizationBytes:
		return pool.Program{}, invalid("organization has %d bytes, at most %d", len(s.GetOrganization()), maxOrganizationBytes)
	}
	l := s.GetLimits()
	wall, err := duration("wall_clock", l.GetWallClock(), defaultWallClock, maxWallClock)
	if err != nil {
		return pool.Program{}, err
	}
	cpu, err := duration("cpu", l.GetCpu(), defaultCPU, maxCPU)
	if err != nil {
		return pool.Program{}, err
	}
	if m := l.GetMemoryBytes(); m != 0 && m < minMemoryBytes {
		return pool.Program{}, invalid("limits.memory_bytes is %d, at least %d", m, minMemoryBytes)
	}
	return pool.Program{
		Code:         s.GetCode(),
		Organization: s.GetOrganization(),
		WallClock:    wall,
		Limits: frame.Limits{
			CPU:              cpu,
			MemoryBytes:      size(l.GetMemoryBytes(), defaultMemoryBytes, maxMemoryBytes),
			ResultBytes:      size(l.GetResultBytes(), defaultResultBytes, maxResultBytes),
			PendingToolCalls: size(uint64(l.GetPendingToolCalls()), defaultPendingToolCalls, maxPendingToolCalls),
		},
	}, nil
}

func duration(name string, d *durationpb.Duration, def, limit time.Duration) (time.Duration, error) {
	if d == nil {
		return def, nil
	}
	if !d.IsValid() || d.AsDuration() <= 0 {
		return 0, invalid("limits.%s is %v, must be more than 0", name, d.AsDuration())
	}
	return min(d.AsDuration(), limit), nil
}

func size(n, def, limit uint64) uint64 {
	if n == 0 {
		return def
	}
	return min(n, limit)
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
