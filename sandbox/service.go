package sandbox

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/sandbox/frame"
	"github.com/tandem-do/tandem/sandbox/pool"
)

// startTimeout is how long a host has to send the program once it has opened the stream.
const startTimeout = 10 * time.Second

// service is SandboxService on a pool.
type service struct {
	sandboxpb.UnimplementedSandboxServiceServer
	pool *pool.Pool
	log  *slog.Logger
	// draining is true once no new program is taken.
	draining atomic.Bool
	// receivers are the goroutines that read streams. Each ends when its stream does, right after its
	// handler returns.
	receivers sync.WaitGroup
}

var _ sandboxpb.SandboxServiceServer = (*service)(nil)

func newService(p *pool.Pool, log *slog.Logger) *service { return &service{pool: p, log: log} }

func (s *service) drain() { s.draining.Store(true) }

// Execute implements SandboxServiceServer. Its goroutine sends; another one receives, since a stream's Recv
// ends only with the stream.
func (s *service) Execute(stream sandboxpb.SandboxService_ExecuteServer) (err error) {
	if s.draining.Load() {
		return errDraining()
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	r := &receiver{
		stream: stream, start: make(chan *sandboxpb.Start, 1), program: make(chan *pool.Execution, 1), fail: cancel,
	}
	s.receivers.Go(func() { r.run(ctx) })
	start, err := r.awaitStart(ctx)
	if err != nil {
		return err
	}
	program, err := programOf(start)
	if err != nil {
		return err
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanSandboxExecute)
	span.SetString(telemetry.AttrExecutionID, start.GetExecutionId())
	defer func() { span.End(err) }()

	x, err := s.pool.Start(ctx, program)
	if err != nil {
		return s.status(ctx, err)
	}
	r.program <- x
	done, err := x.Run(ctx, func(c *frame.Call) error {
		return stream.Send(&sandboxpb.ExecuteResponse{Message: &sandboxpb.ExecuteResponse_ToolCall{
			ToolCall: toolCall(c),
		}})
	})
	if err != nil {
		return s.status(ctx, err)
	}
	span.SetString(telemetry.AttrOutcome, done.GetOutcome().String())
	return stream.Send(&sandboxpb.ExecuteResponse{Message: &sandboxpb.ExecuteResponse_Done{Done: done}})
}

func toolCall(c *frame.Call) *sandboxpb.ToolCall {
	call := &sandboxpb.ToolCall{CallId: c.CallID, Path: c.Path, ArgumentsJson: c.Arguments, Timers: c.Timers}
	for _, t := range c.Taken {
		call.Taken = append(call.Taken, &sandboxpb.Taken{
			CallId: t.CallID, Timers: t.Timers, ActiveNs: uint64(t.Active),
		})
	}
	return call
}

func errDraining() error { return status.Error(codes.Unavailable, "the sandbox is shutting down") }

// status words an error of the pool for the host.
func (s *service) status(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, pool.ErrBusy):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, pool.ErrClosed):
		return errDraining()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	s.log.Error("sandbox cannot run a program", "err", err)
	return status.Error(codes.Unavailable, "the sandbox cannot start a process")
}

// receiver reads what a host sends for one execution.
type receiver struct {
	stream sandboxpb.SandboxService_ExecuteServer
	// start takes the first request.
	start chan *sandboxpb.Start
	// program takes the execution, once it runs.
	program chan *pool.Execution
	// fail ends the execution because of what the host sent.
	fail context.CancelCauseFunc
}

// awaitStart returns the first request.
func (r *receiver) awaitStart(ctx context.Context) (*sandboxpb.Start, error) {
	t := time.NewTimer(startTimeout)
	defer t.Stop()
	select {
	case s := <-r.start:
		return s, nil
	case <-ctx.Done():
		if err := context.Cause(ctx); status.Code(err) != codes.Unknown {
			return nil, err
		}
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-t.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "no start within %v", startTimeout)
	}
}

// run passes requests on until the stream ends.
func (r *receiver) run(ctx context.Context) {
	var x *pool.Execution
	for first := true; ; first = false {
		m, err := r.stream.Recv()
		if errors.Is(err, io.EOF) {
			// A host that has nothing more to say may still want the result.
			if first {
				r.fail(invalid("the stream ended before start"))
			}
			return
		}
		if err != nil {
			r.fail(err)
			return
		}
		if first {
			r.start <- m.GetStart()
			continue
		}
		if x == nil {
			select {
			case x = <-r.program:
			case <-ctx.Done():
				return
			}
		}
		if err := apply(x, m); err != nil {
			r.fail(err)
			return
		}
	}
}

// apply gives a request to the execution.
func apply(x *pool.Execution, m *sandboxpb.ExecuteRequest) error {
	switch m := m.GetMessage().(type) {
	case *sandboxpb.ExecuteRequest_ToolResult:
		r := &frame.Result{CallID: m.ToolResult.GetCallId(), UnixMS: uint64(max(0, m.ToolResult.GetUnixMs()))}
		switch o := m.ToolResult.GetOutcome().(type) {
		case *sandboxpb.ToolResult_ValueJson:
			r.Value = o.ValueJson
		case *sandboxpb.ToolResult_Thrown:
			r.Thrown, r.Value = true, []byte(o.Thrown)
		default:
			return invalid("tool_result %d has no outcome", r.CallID)
		}
		x.Settle(r)
	case *sandboxpb.ExecuteRequest_Clock:
		x.SetClock(m.Clock.GetStopped())
	case *sandboxpb.ExecuteRequest_Start:
		return invalid("start was sent twice")
	default:
		return invalid("request is empty")
	}
	return nil
}
