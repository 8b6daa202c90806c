package mcpsession

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

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
	seedBytes        = 32
	// minWallClock is what a program that is run again has at least, however much it has used.
	minWallClock = 10 * time.Second
	// watchdogSlack is how long after the wall clock the sandbox has to say that it was up, process start included.
	watchdogSlack = 30 * time.Second
	// drainTimeout is how long the sandbox has to end the stream after the program's end.
	drainTimeout = 5 * time.Second
	// maxTries is how often a program is run again that lost its sandbox, after firstBackoff and then twice as long each
	// time, up to maxBackoff: for longer than a sandbox takes to be started again.
	maxTries     = 8
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 4 * time.Second
)

var (
	errExpired  = errors.New("the execution has expired")
	errParked   = errors.New("the paused program gives its process back")
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
	asker asker
	// program is what runs, history what has happened to it.
	program programRecord
	history *history
	// traceparent and tracestate are those of the call that started it.
	traceparent, tracestate string
	// life ends with a cause when the program must not go on. It carries no values.
	life context.Context
	stop context.CancelCauseFunc
	// object is the life of the object, set by main.
	object context.Context

	// next and decided are touched in turns of the object only: next is what whoever waits will get, decided takes the
	// answer to the pending pause.
	next    *future
	decided chan decision

	// approvals is held by the one call that may ask for approval.
	approvals chan struct{}
	load      load
	watchdog  *watchdog
	// used is the wall clock time of earlier runs of the program.
	used time.Duration
	// cpu is the processor time of this run, as far as the sandbox has told it.
	cpu time.Duration
	// admitted is true if the execution asked its usage object before it began, restarted if the program goes on after it
	// gave its process back.
	admitted, restarted bool
	// finished is set once the sandbox has said how the program ended.
	finished bool

	// lookedUp has the tools of sources that the program has asked for.
	lookedUp lookedUp

	// sendMu serializes what is sent on stream.
	sendMu sync.Mutex
	stream sandboxpb.SandboxService_ExecuteClient
}

func newRun(ctx context.Context, e *Execution, id executionID, owner props.Identity) *run {
	r := &run{
		e: e, id: id, owner: owner, history: &history{}, next: newFuture(), approvals: make(chan struct{}, 1),
	}
	r.traceparent, r.tracestate = telemetry.Traceparent(ctx)
	r.life, r.stop = context.WithCancelCause(detached{ctx})
	return r
}

// newProgram returns what a new execution runs.
func newProgram(code string, now time.Time) programRecord {
	p := programRecord{Code: code, Seed: make([]byte, seedBytes), StartedMS: now.UnixMilli()}
	_, _ = rand.Read(p.Seed) // it never fails
	return p
}

// detached is a context without the end and the values of the event that it comes from.
type detached struct{ event context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
func (detached) Value(any) any               { return nil }

// ending is how a run of a program ended.
type ending struct {
	outcome *outcome
	// how is what the span says.
	how string
	// lost is true if the program did not end by itself: it can be run again, if its history is kept.
	lost bool
}

// main runs the program to its end. It runs outside turns, and keeps the object alive.
func (r *run) main(object context.Context) error {
	r.object = object
	ctx, cancel := context.WithCancelCause(telemetry.WithTraceparent(object, r.traceparent, r.tracestate))
	defer cancel(errSettled)
	defer context.AfterFunc(r.life, func() { cancel(context.Cause(r.life)) })()
	ctx, span := telemetry.Start(ctx, telemetry.SpanCodeExec)
	span.SetString(telemetry.AttrExecutionID, r.id.String())
	span.SetInt(telemetry.AttrReplayedCalls, int64(r.history.led))

	r.goOn(ctx)
	before := r.used
	end := r.attempt(ctx, cancel)
	for try := 0; end.lost && r.again(ctx, try); try++ {
		end = r.attempt(ctx, cancel)
	}
	span.SetString(telemetry.AttrOutcome, end.how)
	if end.outcome.Error != "" && end.how != howParked {
		span.End(errors.New(end.outcome.Error))
	} else {
		span.End(nil)
	}
	err := r.e.state.Enter(object, func(ctx context.Context) error {
		return r.e.conclude(ctx, r, end)
	})
	if err != nil {
		// The object is broken or its host gone: whoever still waits here must not wait for ever.
		r.next.resolve(r.lostReply("the execution was lost"))
	}
	if r.finished {
		defer time.AfterFunc(drainTimeout, func() { cancel(errSettled) }).Stop()
		r.drain()
	}
	r.meter(object, end, r.used-before)
	return err
}

// again waits until a program that was lost is to be run again, and reports whether it is: if there is what to run it
// again with, and somebody waits for what it comes to.
func (r *run) again(ctx context.Context, try int) bool {
	if try == maxTries || ctx.Err() != nil || !r.history.replayable() {
		return false
	}
	wanted := false
	err := r.e.state.Enter(ctx, func(context.Context) error {
		wanted = r.e.run == r && r.e.journal != nil && r.e.journal.Phase == phaseRunning
		return nil
	})
	if err != nil || !wanted {
		return false
	}
	t := time.NewTimer(min(firstBackoff<<try, maxBackoff))
	defer t.Stop()
	select {
	case <-t.C:
		r.history.again()
		return true
	case <-ctx.Done():
		return false
	}
}

// lostReply is the reply to who waits for a program that was lost, for now or for good.
func (r *run) lostReply(what string) reply {
	if r.history.replayable() {
		return failed(what + "; wait a moment and call the resume tool again, with the same executionId").reply()
	}
	return failed(what + "; run the execute tool again").reply()
}

// send sends a request to the sandbox.
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
