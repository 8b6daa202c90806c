package mcpsession

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// What spans say of a program that did not end by itself.
const (
	howExpired  = "expired"
	howParked   = "parked"
	howDiverged = "diverged"
)

// attempt runs the program in the sandbox until it ends or is lost. Calls that run when the sandbox is lost are waited
// for: what they come to counts for the next run. It calls cancel when the sandbox does not answer.
func (r *run) attempt(ctx context.Context, cancel context.CancelCauseFunc) ending {
	limit := max(wallClock-r.used, minWallClock)
	r.watchdog = startWatchdog(r.e.state.Clock(), limit+watchdogSlack, func() { cancel(errWatchdog) })
	stream, err := r.e.env.Sandbox.Execute(ctx)
	var end ending
	if err == nil {
		r.stream = stream
		end = r.converse(ctx, limit)
	} else {
		end = sandboxFailure(ctx, err)
	}
	r.watchdog.end()
	r.used += r.watchdog.used()
	return end
}

// converse has the sandbox run the program and serves its calls.
func (r *run) converse(ctx context.Context, limit time.Duration) ending {
	if err := r.send(&sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_Start{Start: r.start(limit)}}); err != nil {
		if _, recvErr := r.stream.Recv(); recvErr != nil {
			err = recvErr // Send says io.EOF; the status is what Recv says
		}
		return sandboxFailure(ctx, err)
	}
	var calls errgroup.Group
	calls.SetLimit(pendingCalls)
	serving, endCalls := context.WithCancelCause(ctx)
	defer endCalls(errSettled)
	asking, endAsking := context.WithCancelCause(serving)
	end := r.serve(ctx, func(e *entry, call *sandboxpb.ToolCall) bool {
		return calls.TryGo(func() error {
			r.serveCall(serving, asking, e, call.CallId)
			return nil
		})
	})
	// When the sandbox is lost its calls run on, but nobody is asked on their behalf.
	endAsking(errSettled)
	if !end.lost {
		endCalls(errSettled)
	}
	_ = calls.Wait() // they never fail
	return end
}

// serve reads what the sandbox says until the program ends or is lost. begin serves a call beside; it reports false if
// there are too many.
func (r *run) serve(ctx context.Context, begin func(*entry, *sandboxpb.ToolCall) bool) ending {
	for {
		m, err := r.stream.Recv()
		if err != nil {
			return sandboxFailure(ctx, err)
		}
		switch m := m.Message.(type) {
		case *sandboxpb.ExecuteResponse_Done:
			r.finished = true
			r.cpu += m.Done.GetCpu().AsDuration()
			return r.done(m.Done)
		case *sandboxpb.ExecuteResponse_ToolCall:
			e, err := r.history.note(m.ToolCall)
			if err != nil {
				return diverged(err.Error())
			}
			if !begin(e, m.ToolCall) {
				return ending{outcome: failed(fmt.Sprintf("more than %d tool calls at once", pendingCalls)), how: "too_many_calls"}
			}
		}
	}
}

func (r *run) start(limit time.Duration) *sandboxpb.Start {
	return &sandboxpb.Start{
		ExecutionId: r.id.String(), Organization: r.owner.OrganizationID,
		Code: r.program.Code, Seed: r.program.Seed, StartedUnixMs: r.program.StartedMS, Replay: r.history.replay(),
		Limits: &sandboxpb.Limits{
			WallClock: durationpb.New(limit), Cpu: durationpb.New(cpuTime), MemoryBytes: memoryBytes,
			ResultBytes: resultBytes, PendingToolCalls: pendingCalls,
		},
	}
}

// done translates the sandbox's word on how the program ended.
func (r *run) done(d *sandboxpb.Done) ending {
	switch d.Outcome {
	case sandboxpb.Outcome_OUTCOME_DIVERGED:
		return diverged(d.Error)
	case sandboxpb.Outcome_OUTCOME_COMPLETED, sandboxpb.Outcome_OUTCOME_EXCEPTION,
		sandboxpb.Outcome_OUTCOME_SYNTAX_ERROR:
		if n, e := r.history.unmade(); e != nil {
			return diverged(fmt.Sprintf("it ended before its call %d, of %s", n, e.call.Path))
		}
	}
	return ending{outcome: outcomeOf(d), how: d.Outcome.String()}
}

func outcomeOf(d *sandboxpb.Done) *outcome {
	o := &outcome{Logs: d.Logs, Emitted: d.EmittedJson}
	if d.Outcome == sandboxpb.Outcome_OUTCOME_COMPLETED {
		o.Result, o.IsString = d.ResultJson, d.ResultIsString
		return o
	}
	o.Error = d.Error
	if o.Error == "" {
		o.Error = "the program ended without saying why (" + d.Outcome.String() + ")"
	}
	return o
}

// diverged is the end of a program that did not do again what it had done.
func diverged(what string) ending {
	return ending{how: howDiverged, outcome: failed(
		"the program diverged: it was run again to go on after its pause, and did not do the same as before: " + what +
			"; run the execute tool again")}
}

// sandboxFailure says how a program ended whose sandbox failed.
func sandboxFailure(ctx context.Context, err error) ending {
	lost := func(what, how string) ending { return ending{outcome: failed(what), how: how, lost: true} }
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errExpired):
		return ending{outcome: failed("the execution has expired; run the execute tool again"), how: howExpired}
	case errors.Is(cause, errParked):
		return lost("the program is paused", howParked)
	case errors.Is(cause, errWatchdog):
		return ending{outcome: failed(fmt.Sprintf("the program did not end within %v", wallClock)), how: "watchdog"}
	case cause != nil:
		return lost("the host is restarting", "canceled")
	case errors.Is(err, io.EOF):
		return lost("the sandbox ended before the program did", "cut")
	}
	switch code := status.Code(err); code {
	case codes.ResourceExhausted:
		return lost("the sandbox is at capacity for the moment", code.String())
	case codes.InvalidArgument:
		return ending{
			outcome: failed("the sandbox refused the program: " + status.Convert(err).Message()), how: code.String(),
		}
	case codes.Unavailable:
		return lost("the sandbox is not available", code.String())
	default:
		return lost("the sandbox failed", code.String())
	}
}
