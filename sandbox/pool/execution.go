package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

const (
	// maxStopped is how long the clock of a program may be stopped in all.
	maxStopped = time.Hour
	// maxErrorBytes bounds the text of an error that a child sends.
	maxErrorBytes = 64 << 10
	// maxPathBytes bounds the path of a tool.
	maxPathBytes = 4 << 10
	// entryBytes is what a log line or an emitted value counts beyond its text; as in the child.
	entryBytes = 32
)

// Program is what to run. All limits must be set.
type Program struct {
	// Code is the program as its author sent it.
	Code string
	// Organization is on whose behalf it runs. Organizations are served in turn.
	Organization string
	// WallClock is the time from start to end, less what the clock was stopped.
	WallClock time.Duration
	// Limits are those that the child enforces.
	Limits frame.Limits
	// Seed, StartedMS and Replay are as in frame.Start.
	Seed      []byte
	StartedMS uint64
	Replay    frame.Replay
}

// frame returns what starts the program in a child, as this run of it.
func (p *Program) frame(run uint64) *frame.Start {
	return &frame.Start{
		Run: run, Code: p.Code, Limits: p.Limits, Seed: p.Seed, StartedMS: p.StartedMS, Replay: p.Replay,
	}
}

// Execution is one program on one child. Run is called once; Settle and SetClock may be called from another
// goroutine at any time, and do nothing once the program has ended.
type Execution struct {
	pool    *Pool
	child   *child
	program Program
	run     uint64
	clock   *clock
	ceiling *time.Timer

	// calls is the number of the last call; used counts logs and emitted values. Run's goroutine only.
	calls, used uint64
	done        sandboxpb.Done

	mu sync.Mutex // guards all that follows
	// pending are the calls that have no result yet.
	pending map[uint64]struct{}
	// cause is why the child was killed; causeNone while it was not.
	cause cause
	// slow looks whether the program computes for long; demoted is true once it yields to others, for good.
	slow    *time.Timer
	demoted bool
	// paused is true while the execution counts as one whose clock is stopped.
	paused bool
	// stopped is true while the clock is.
	stopped bool
	// abandoned kills the child that was asked to end the program; nil while it was not.
	abandoned *time.Timer
	ended     bool
}

// Start waits for a child and has it run a program. Run must be called on the execution. It fails with
// ErrBusy, ErrClosed or the cause of ctx's end.
func (p *Pool) Start(ctx context.Context, program Program) (*Execution, error) {
	for {
		c, err := p.acquire(ctx, program.Organization)
		if err != nil {
			return nil, err
		}
		c.runs++
		x := &Execution{pool: p, child: c, program: program, run: c.runs, pending: map[uint64]struct{}{}}
		err = c.write(program.frame(x.run))
		if err != nil {
			// It was ended from outside while it was idle, and has not seen the program.
			c.close()
			p.release(nil, program.Organization, false)
			continue
		}
		x.clock = startClock(program.WallClock, func() { x.end(causeWallClock) })
		x.ceiling = time.AfterFunc(program.WallClock+maxStopped, func() { x.end(causeStopped) })
		x.mu.Lock()
		x.slow = time.AfterFunc(slowAfter, func() { x.demote(processorTime(c.cmd.Process.Pid)) })
		x.mu.Unlock()
		return x, nil
	}
}

// Run hands the program's calls to call, one at a time, and returns how it ended. It fails with ErrClosed,
// with the cause of ctx's end, and with call's error. The child is killed then, unless its program was paused and ends
// when it is asked to.
func (x *Execution) Run(ctx context.Context, call func(*frame.Call) error) (*sandboxpb.Done, error) {
	stop := context.AfterFunc(ctx, x.cancel)
	defer stop()
	done, callErr := x.read(call)
	x.clock.stop()
	x.ceiling.Stop()
	x.mu.Lock()
	x.ended = true
	x.slow.Stop()
	cause, paused, demoted, abandoned := x.cause, x.paused, x.demoted, x.abandoned != nil
	if abandoned {
		x.abandoned.Stop()
	}
	x.mu.Unlock()

	if done != nil && done.Reusable && cause == causeNone && !demoted {
		x.child.cpu += done.CPU
		x.pool.release(x.child, x.program.Organization, paused)
	} else {
		x.child.close()
		x.pool.release(nil, x.program.Organization, paused)
	}
	switch {
	case callErr != nil:
		return nil, callErr
	case cause == causeCanceled, cause == causeNone && abandoned:
		return nil, context.Cause(ctx)
	case cause == causeNone && done == nil && x.pool.isClosed():
		return nil, ErrClosed
	}
	x.finish(done, cause)
	return &x.done, nil
}

// cancel ends a program that nobody waits for any more. A paused one is asked to end, since its child can run another
// program then.
func (x *Execution) cancel() {
	x.mu.Lock()
	ask := x.stopped && !x.ended && x.cause == causeNone
	if ask {
		x.abandoned = time.AfterFunc(x.pool.o.abandon, func() { x.end(causeCanceled) })
	}
	x.mu.Unlock()
	if !ask {
		x.end(causeCanceled)
		return
	}
	_ = x.child.write(&frame.Abandon{Run: x.run}) // an error means that the child has ended, which Run sees
}

// end kills the child for a cause, unless that has happened already or the program has ended.
func (x *Execution) end(why cause) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || x.cause != causeNone {
		return
	}
	x.cause = why
	x.child.kill()
}

// read takes frames until the program's end, which is nil when the child ended without one.
func (x *Execution) read(call func(*frame.Call) error) (*frame.Done, error) {
	for {
		m, err := x.child.reader.Next()
		if err != nil {
			if errors.Is(err, frame.ErrMalformed) {
				x.end(causeProtocol)
			}
			return nil, nil
		}
		switch m := m.(type) {
		case *frame.Log:
			if x.account(len(m.Line)) {
				x.done.Logs = append(x.done.Logs, m.Line)
			}
		case *frame.Emit:
			if !json.Valid(m.Value) {
				x.end(causeProtocol)
			} else if x.account(len(m.Value)) {
				x.done.EmittedJson = append(x.done.EmittedJson, m.Value)
			}
		case *frame.Call:
			if !x.admit(m) {
				x.end(causeProtocol)
			} else if err := call(m); err != nil {
				x.end(causeCanceled)
				return nil, fmt.Errorf("pass on a tool call: %w", err)
			}
		case *frame.Done:
			if x.valid(m) {
				return m, nil
			}
			x.end(causeProtocol)
		default:
			x.end(causeProtocol)
		}
	}
}

// account counts a log line or an emitted value and reports whether there is room for it.
func (x *Execution) account(size int) bool {
	x.used += uint64(size) + entryBytes
	if x.used <= x.program.Limits.ResultBytes {
		return true
	}
	x.end(causeOutput)
	return false
}

// admit checks a call and notes that it is pending.
func (x *Execution) admit(c *frame.Call) bool {
	if c.CallID != x.calls+1 || c.Path == "" || len(c.Path) > maxPathBytes ||
		uint64(len(c.Arguments)) > x.program.Limits.ResultBytes ||
		len(c.Arguments) > 0 && !json.Valid(c.Arguments) || uint64(len(c.Taken)) > x.program.Limits.PendingToolCalls {
		return false
	}
	x.calls++
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending[c.CallID] = struct{}{}
	return uint64(len(x.pending)) <= x.program.Limits.PendingToolCalls
}

func (x *Execution) valid(d *frame.Done) bool {
	completed := d.Outcome == sandboxpb.Outcome_OUTCOME_COMPLETED
	return uint64(len(d.Result)) <= x.program.Limits.ResultBytes && len(d.Error) <= maxErrorBytes &&
		completed == (d.Error == "") && (completed || len(d.Result) == 0) &&
		(len(d.Result) == 0 || json.Valid(d.Result)) &&
		d.IsString == (len(d.Result) > 0 && d.Result[0] == '"')
}

// Settle gives a call its result, whose Run it sets. It reports false when no such call is pending. It blocks while the
// child does not read, at most until the child is killed.
func (x *Execution) Settle(r *frame.Result) bool {
	x.mu.Lock()
	_, ok := x.pending[r.CallID]
	delete(x.pending, r.CallID)
	ok = ok && !x.ended
	x.mu.Unlock()
	if ok {
		r.Run = x.run
		_ = x.child.write(r) // an error means that the child has ended, which Run sees
	}
	return ok
}

// SetClock stops the wall clock and the program's own, or lets both run on. It blocks as Settle does.
func (x *Execution) SetClock(stopped bool) {
	if x.setClock(stopped) {
		_ = x.child.write(&frame.Clock{Run: x.run, Stopped: stopped})
	}
}

// setClock sets the wall clock and reports whether that changed it.
func (x *Execution) setClock(stopped bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.ended:
		return false
	case stopped:
		if !x.clock.stop() {
			return false
		}
		x.paused, x.stopped = x.pool.pause(x.program.Organization), true
	default:
		if !x.clock.start() {
			return false
		}
		x.stopped = false
		if x.paused {
			x.paused = false
			x.pool.resume(x.program.Organization)
		}
	}
	return true
}
