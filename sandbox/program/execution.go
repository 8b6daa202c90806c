package program

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/dop251/goja"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

// execution is one run of one program on one isolate.
type execution struct {
	isolate *isolate
	run     uint64
	limits  frame.Limits
	inbox   <-chan frame.Message
	out     *output

	clock    clock
	random   *rand.ChaCha8
	replay   replay
	timers   timers
	calls    map[uint64]pendingCall
	lastCall uint64
	// taken are the results that the program went on with since its last call.
	taken []frame.Taken
	// shift is source.shift of what runs.
	shift int
	// rejected are promises that were rejected and have no handler.
	rejected []*goja.Promise
	// limit is set when the program has to end for it.
	limit *limitReached
}

// limitReached is the value of an interrupt: the program ends with this outcome.
type limitReached struct {
	outcome sandboxpb.Outcome
	message string
}

// guarded executes a program and turns a panic into an end. The engine panics by its own faults, and with
// what ends a program when that happens in code of the program's that Go has called, such as a getter.
func (e *execution) guarded(code string) (done *frame.Done) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err, ok := r.(error); ok && endsProgram(err) {
			done = e.ended(err)
			return
		}
		fmt.Fprintln(os.Stderr, "engine panic:", r)
		done = &frame.Done{
			Outcome: sandboxpb.Outcome_OUTCOME_CRASHED,
			Error:   "the JavaScript engine failed on this program",
		}
	}()
	return e.execute(code)
}

// endsProgram reports whether err is one that no code of the program's can catch.
func endsProgram(err error) bool {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow)
}

// execute runs a program to its end and returns how it ended. It panics only as the engine does.
func (e *execution) execute(code string) *frame.Done {
	src, err := compile(code)
	if err != nil {
		return &frame.Done{
			Outcome:  sandboxpb.Outcome_OUTCOME_SYNTAX_ERROR,
			Error:    bounded(err.Error(), maxErrorBytes),
			Reusable: true,
		}
	}
	e.shift = src.shift
	e.calls = map[uint64]pendingCall{}
	e.isolate.begin(e)
	main, err := e.start(src)
	if err != nil {
		return e.ended(err)
	}
	for main.State() == goja.PromiseStatePending && e.limit == nil {
		if err := e.turn(); err != nil {
			return e.ended(err)
		}
	}
	e.reportRejections(main)
	if e.limit != nil {
		return e.ended(e.limit)
	}
	if main.State() == goja.PromiseStateRejected {
		return e.exception(e.describe(main.Result()))
	}
	return e.completed(main.Result())
}

// start runs the program up to its first await.
func (e *execution) start(src *source) (*goja.Promise, error) {
	v, err := e.isolate.rt.RunProgram(src.program)
	if err != nil {
		return nil, err
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, errors.New("the program is no function")
	}
	v, err = f(goja.Undefined())
	if err != nil {
		return nil, err
	}
	p, ok := v.Export().(*goja.Promise)
	if !ok {
		return nil, errors.New("the program returned no promise")
	}
	return p, nil
}

// errNeverSettles ends a program that waits for nothing that could happen.
var errNeverSettles = errors.New("the program waits for a promise that can never settle: " +
	"no tool call and no timer is left that could settle it")

// errAbandoned ends a program of which nobody wants to know more.
var errAbandoned = errors.New("the program was abandoned")

// turn runs what is due: one timer or one tool's result, and the microtasks behind it. It waits for it when
// nothing is due.
func (e *execution) turn() error {
	if !e.replay.over {
		return e.replayTurn()
	}
	if early := e.replay.early; len(early) > 0 {
		e.replay.early = early[1:]
		return e.takeAt(early[0], e.clock.real())
	}
	next := e.timers.next()
	if next == nil && len(e.calls) == 0 {
		return errNeverSettles
	}
	if next == nil || e.clock.stopped {
		return e.receive()
	}
	wait := next.due - e.clock.real()
	if wait <= 0 {
		// Results do not starve behind timers that are always due.
		select {
		case m := <-e.inbox:
			return e.take(m)
		default:
			return e.fire(next)
		}
	}
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	select {
	case m := <-e.inbox:
		return e.take(m)
	case <-alarm.C:
		return nil
	}
}

func (e *execution) fire(t *timer) error {
	e.clock.moveTo(t.due)
	e.timers.take(t, e.clock.active)
	_, err := t.f(goja.Undefined(), t.args...)
	if ex := (*goja.Exception)(nil); errors.As(err, &ex) {
		// As on other platforms, what a timer throws is reported and stops nothing else.
		err = nil
		if limit := e.out.log("[error] Uncaught " + e.describe(ex.Value())); limit != nil {
			e.limit = limit
		}
	}
	return err
}

// receive waits for the next frame.
func (e *execution) receive() error { return e.take(<-e.inbox) }

func (e *execution) take(m frame.Message) error {
	switch m := m.(type) {
	case *frame.Result:
		switch {
		case m.Run != e.run:
		case !e.replay.over:
			e.replay.early = append(e.replay.early, m)
		default:
			return e.takeAt(m, e.clock.real())
		}
	case *frame.Clock:
		if m.Run == e.run {
			e.clock.set(m.Stopped)
		}
	case *frame.Abandon:
		if m.Run == e.run {
			return errAbandoned
		}
	default:
		return fmt.Errorf("%w: %T while a program runs", frame.ErrMalformed, m)
	}
	return nil
}

// takeAt has the program go on with a result, at a time of its. Results of calls that are not under way are dropped.
func (e *execution) takeAt(r *frame.Result, active time.Duration) error {
	call, ok := e.calls[r.CallID]
	if !ok {
		return nil
	}
	delete(e.calls, r.CallID)
	e.clock.moveTo(active)
	e.clock.catchUp(time.UnixMilli(int64(min(r.UnixMS, math.MaxInt64))))
	e.taken = append(e.taken, frame.Taken{CallID: r.CallID, Timers: e.timers.fired, Active: e.clock.active})
	return e.settle(call, r)
}

// ended says how a program ended that did not settle.
func (e *execution) ended(err error) *frame.Done {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	var limit *limitReached
	switch {
	case errors.As(err, &limit):
		return &frame.Done{Outcome: limit.outcome, Error: limit.message}
	case errors.As(err, &interrupted):
		if l, ok := interrupted.Value().(*limitReached); ok {
			return &frame.Done{Outcome: l.outcome, Error: l.message}
		}
		return &frame.Done{Outcome: sandboxpb.Outcome_OUTCOME_CRASHED, Error: "the program was interrupted"}
	case errors.As(err, &overflow):
		d := e.exception("RangeError: Maximum call stack size exceeded" + e.place(overflow.Stack()))
		d.Reusable = false
		return d
	case errors.As(err, &thrown):
		return e.exception(e.describe(thrown.Value()))
	case errors.Is(err, errAbandoned):
		return e.exception(err.Error())
	case errors.Is(err, errDiverged):
		return &frame.Done{Outcome: sandboxpb.Outcome_OUTCOME_DIVERGED, Error: err.Error(), Reusable: true}
	case errors.Is(err, errNeverSettles):
		message := err.Error()
		if first := e.firstRejection(nil); first != nil {
			message += "; before that, uncaught in a promise: " + e.describe(first.Result())
		}
		return e.exception(message)
	default:
		return &frame.Done{Outcome: sandboxpb.Outcome_OUTCOME_CRASHED, Error: err.Error()}
	}
}

func (e *execution) exception(message string) *frame.Done {
	return &frame.Done{
		Outcome:  sandboxpb.Outcome_OUTCOME_EXCEPTION,
		Error:    bounded(message, maxErrorBytes),
		Reusable: true,
	}
}

func (e *execution) completed(v goja.Value) *frame.Done {
	json, err := e.isolate.stringify(v, e.limits.ResultBytes)
	if limit := (*limitReached)(nil); errors.As(err, &limit) {
		return &frame.Done{Outcome: limit.outcome, Error: "the result is larger than " + frame.SizeText(e.limits.ResultBytes)}
	}
	if err != nil {
		return e.exception("result is not serializable: " + err.Error())
	}
	return &frame.Done{
		Outcome:  sandboxpb.Outcome_OUTCOME_COMPLETED,
		Result:   json,
		IsString: len(json) > 0 && json[0] == '"',
		Reusable: true,
	}
}

// maxRejections bounds how many rejected promises are kept to be reported.
const maxRejections = 16

func (e *execution) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		if len(e.rejected) < maxRejections {
			e.rejected = append(e.rejected, p)
		}
		return
	}
	for i, r := range e.rejected {
		if r == p {
			e.rejected = append(e.rejected[:i], e.rejected[i+1:]...)
			return
		}
	}
}

// firstRejection returns the first unhandled rejection but that of except.
func (e *execution) firstRejection(except *goja.Promise) *goja.Promise {
	for _, p := range e.rejected {
		if p != except {
			return p
		}
	}
	return nil
}

// reportRejections logs what was rejected and never handled, except the program's own promise.
func (e *execution) reportRejections(main *goja.Promise) {
	for _, p := range e.rejected {
		if p != main {
			if limit := e.out.log("[error] Uncaught (in promise) " + e.describe(p.Result())); limit != nil {
				e.limit = limit
				return
			}
		}
	}
}
