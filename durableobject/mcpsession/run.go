package mcpsession

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// Limits of one program.
const (
	wallClock        = 5 * time.Minute
	cpuTime          = 30 * time.Second
	memoryBytes      = 128 << 20
	resultBytes      = 2 << 20
	pendingCalls     = 64
	maxCodeBytes     = 1 << 20
	maxArgumentBytes = 256 << 10
	// watchdogSlack is how long after the wall clock the sandbox has to say that it was up, process start included.
	watchdogSlack = 30 * time.Second
	// drainTimeout is how long the sandbox has to end the stream after the program's end.
	drainTimeout = 5 * time.Second
)

var (
	errExpired  = errors.New("the execution has expired")
	errWatchdog = errors.New("the sandbox did not answer in time")
	errSettled  = errors.New("the execution has settled")
)

// decision answers a pause.
type decision struct {
	// action is one of the actions of the resume tool.
	action string
	// content is what a person filled in, as a JSON object; nil when there is none.
	content []byte
}

// future is a reply that comes once.
type future struct {
	once sync.Once
	// done is closed when reply is set.
	done  chan struct{}
	reply reply
}

func newFuture() *future { return &future{done: make(chan struct{})} }

// resolve sets the reply, if it is not set yet.
func (f *future) resolve(r reply) {
	f.once.Do(func() {
		f.reply = r
		close(f.done)
	})
}

// run is a program in the hands of this process.
type run struct {
	e     *Execution
	id    executionID
	owner props.Identity
	code  string
	asker asker
	// traceparent and tracestate are those of the call that started it.
	traceparent, tracestate string
	// life ends with a cause when the program must not go on. It carries no values.
	life context.Context
	stop context.CancelCauseFunc

	// next and decided are touched in turns of the object only: next is what whoever waits will get, decided takes the
	// answer to the pending pause.
	next    *future
	decided chan decision

	// approvals is held by the one call that may ask for approval.
	approvals chan struct{}
	watchdog  *watchdog
	// finished is set once the sandbox has said how the program ended.
	finished bool

	// lookedUp has the tools of sources that the program has asked for.
	lookedUp lookedUp

	// sendMu serializes what is sent on stream.
	sendMu sync.Mutex
	stream sandboxpb.SandboxService_ExecuteClient
}

func newRun(ctx context.Context, e *Execution, id executionID, owner props.Identity) *run {
	r := &run{e: e, id: id, owner: owner, next: newFuture(), approvals: make(chan struct{}, 1)}
	r.traceparent, r.tracestate = telemetry.Traceparent(ctx)
	r.life, r.stop = context.WithCancelCause(detached{ctx})
	return r
}

// detached is a context without the end and the values of the event that it comes from.
type detached struct{ event context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
func (detached) Value(any) any               { return nil }

// main runs the program to its end. It runs outside turns, and keeps the object alive.
func (r *run) main(ctx context.Context) error {
	object := ctx
	ctx, cancel := context.WithCancelCause(telemetry.WithTraceparent(ctx, r.traceparent, r.tracestate))
	defer cancel(errSettled)
	defer context.AfterFunc(r.life, func() { cancel(context.Cause(r.life)) })()
	ctx, span := telemetry.Start(ctx, telemetry.SpanCodeExec)
	span.SetString(telemetry.AttrExecutionID, r.id.String())

	o, how := r.execute(ctx, cancel)
	span.SetString(telemetry.AttrOutcome, how)
	if o.Error != "" {
		span.End(errors.New(o.Error))
	} else {
		span.End(nil)
	}
	err := r.e.state.Enter(object, func(ctx context.Context) error {
		return r.e.settle(ctx, r, o)
	})
	if err != nil {
		// The object is broken or its host gone: whoever still waits here must not wait for ever.
		r.next.resolve(failed("the execution was lost; run the execute tool again").reply())
	}
	if r.finished {
		defer time.AfterFunc(drainTimeout, func() { cancel(errSettled) }).Stop()
		r.drain()
	}
	return err
}

// execute talks to the sandbox until the program ends, and says how it did.
func (r *run) execute(ctx context.Context, cancel context.CancelCauseFunc) (*outcome, string) {
	r.watchdog = startWatchdog(r.e.state.Clock(), wallClock+watchdogSlack, func() { cancel(errWatchdog) })
	defer r.watchdog.end()
	stream, err := r.e.env.Sandbox.Execute(ctx)
	if err != nil {
		return sandboxFailure(ctx, err)
	}
	r.stream = stream
	if err := r.send(&sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_Start{Start: r.start()}}); err != nil {
		if _, recvErr := stream.Recv(); recvErr != nil {
			err = recvErr // Send says io.EOF; the status is what Recv says
		}
		return sandboxFailure(ctx, err)
	}
	calls, callCtx := errgroup.WithContext(ctx)
	callCtx, endCalls := context.WithCancelCause(callCtx)
	calls.SetLimit(pendingCalls)
	defer func() { _ = calls.Wait() }() // a call that could not be answered ended the stream, and so the program
	defer endCalls(errSettled)
	for {
		m, err := stream.Recv()
		if err != nil {
			return sandboxFailure(ctx, err)
		}
		switch m := m.Message.(type) {
		case *sandboxpb.ExecuteResponse_Done:
			r.finished = true
			return outcomeOf(m.Done), m.Done.Outcome.String()
		case *sandboxpb.ExecuteResponse_ToolCall:
			if !calls.TryGo(func() error { return r.serveCall(callCtx, m.ToolCall) }) {
				return failed(fmt.Sprintf("more than %d tool calls at once", pendingCalls)), "too_many_calls"
			}
		}
	}
}

func (r *run) start() *sandboxpb.Start {
	return &sandboxpb.Start{
		ExecutionId:  r.id.String(),
		Organization: r.owner.OrganizationID,
		Code:         r.code,
		Limits: &sandboxpb.Limits{
			WallClock: durationpb.New(wallClock), Cpu: durationpb.New(cpuTime), MemoryBytes: memoryBytes,
			ResultBytes: resultBytes, PendingToolCalls: pendingCalls,
		},
	}
}

func (r *run) send(m *sandboxpb.ExecuteRequest) error {
	r.sendMu.Lock()
	defer r.sendMu.Unlock()
	return r.stream.Send(m)
}

// drain lets the sandbox end the stream after the program did, so that it does not look cancelled there.
func (r *run) drain() {
	r.sendMu.Lock()
	_ = r.stream.CloseSend() // Recv says the same
	r.sendMu.Unlock()
	for {
		if _, err := r.stream.Recv(); err != nil {
			return
		}
	}
}

// setClock stops or restarts both wall clocks, the sandbox's and the watchdog's.
func (r *run) setClock(stopped bool) error {
	r.watchdog.set(stopped)
	return r.send(&sandboxpb.ExecuteRequest{
		Message: &sandboxpb.ExecuteRequest_Clock{Clock: &sandboxpb.Clock{Stopped: stopped}},
	})
}

// outcomeOf translates the sandbox's word on how the program ended.
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

// sandboxFailure returns the outcome of a program whose sandbox failed.
func sandboxFailure(ctx context.Context, err error) (*outcome, string) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errExpired):
		return failed("the execution has expired; run the execute tool again"), "expired"
	case errors.Is(cause, errWatchdog):
		return failed(fmt.Sprintf("the program did not end within %v", wallClock)), "watchdog"
	case cause != nil:
		return failed("the host is restarting; run the execute tool again"), "canceled"
	case errors.Is(err, io.EOF):
		return failed("the sandbox ended before the program did; run the execute tool again"), "cut"
	}
	switch code := status.Code(err); code {
	case codes.ResourceExhausted:
		return failed("the sandbox is busy; wait a moment and run the execute tool again"), code.String()
	case codes.InvalidArgument:
		return failed("the sandbox refused the program: " + status.Convert(err).Message()), code.String()
	case codes.Unavailable:
		return failed("the sandbox is not available; wait a moment and run the execute tool again"), code.String()
	default:
		return failed("the sandbox failed; run the execute tool again"), code.String()
	}
}
