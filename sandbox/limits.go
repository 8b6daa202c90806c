package sandbox

import (
	"crypto/rand"
	"math"
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

	// seedBytes is the length of a seed, maxTaken the most results that a program is led through.
	seedBytes = 32
	maxTaken  = 100_000

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
	case len(s.GetReplay().GetTaken()) > maxTaken:
		return pool.Program{}, invalid("replay.taken has %d entries, at most %d", len(s.GetReplay().GetTaken()), maxTaken)
	case len(s.GetOrganization()) > maxOrganizationBytes:
		return pool.Program{}, invalid("organization has %d bytes, at most %d", len(s.GetOrganization()), maxOrganizationBytes)
	}
	seed, err := seedOf(s)
	if err != nil {
		return pool.Program{}, err
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
		Seed:         seed,
		StartedMS:    startedMS(s.GetStartedUnixMs()),
		Replay:       replayOf(s.GetReplay()),
		Limits: frame.Limits{
			CPU:              cpu,
			MemoryBytes:      size(l.GetMemoryBytes(), defaultMemoryBytes, maxMemoryBytes),
			ResultBytes:      size(l.GetResultBytes(), defaultResultBytes, maxResultBytes),
			PendingToolCalls: size(uint64(l.GetPendingToolCalls()), defaultPendingToolCalls, maxPendingToolCalls),
		},
	}, nil
}

// seedOf returns the seed of a program's randomness, a new one if it comes with none.
func seedOf(s *sandboxpb.Start) ([]byte, error) {
	switch seed := s.GetSeed(); len(seed) {
	case seedBytes:
		return seed, nil
	case 0:
		seed = make([]byte, seedBytes)
		_, _ = rand.Read(seed) // it never fails
		return seed, nil
	default:
		return nil, invalid("seed has %d bytes, must have %d", len(seed), seedBytes)
	}
}

func startedMS(unixMS int64) uint64 {
	if unixMS > 0 {
		return uint64(unixMS)
	}
	return uint64(time.Now().UnixMilli())
}

func replayOf(r *sandboxpb.Replay) frame.Replay {
	replay := frame.Replay{Timers: r.GetTimers()}
	for _, t := range r.GetTaken() {
		replay.Taken = append(replay.Taken, frame.Taken{
			CallID: t.GetCallId(), Timers: t.GetTimers(),
			Active: time.Duration(min(t.GetActiveNs(), math.MaxInt64)),
		})
	}
	return replay
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
