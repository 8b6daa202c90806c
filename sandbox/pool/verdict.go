package pool

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

// cause is why this process killed a child.
type cause int

const (
	causeNone      cause = iota // it did not
	causeWallClock              // the program's time was up
	causeStopped                // the clock was stopped for too long
	causeCanceled               // nobody wants the result
	causeProtocol               // the child said what no child says
	causeOutput                 // it said too much
)

// death is what is left of a child that ended without saying how its program did.
type death struct {
	cause cause
	// signal ended it; 0 when it exited.
	signal syscall.Signal
	// stderr is the beginning of what it wrote there.
	stderr string
	// cpu is the processor time of its last program.
	cpu time.Duration
	// peakBytes is the most memory that the process had resident.
	peakBytes uint64
}

// finish completes x.done from what the child said, or else from what is left of it.
func (x *Execution) finish(done *frame.Done, why cause) {
	if done != nil && why == causeNone {
		x.done.Outcome, x.done.Error = done.Outcome, strings.ToValidUTF8(done.Error, "\ufffd")
		x.done.ResultJson, x.done.ResultIsString = done.Result, done.IsString
		x.done.Cpu = durationpb.New(done.CPU)
	} else {
		d := death{cause: why, stderr: x.child.stderr.String()}
		if s := x.child.cmd.ProcessState; s != nil {
			d.cpu = max(0, s.UserTime()+s.SystemTime()-x.child.cpu)
			if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
				d.signal = w.Signal()
			}
			d.peakBytes = peakBytes(s)
		}
		x.done.Outcome, x.done.Error = verdict(d, x.program)
		x.done.Cpu = durationpb.New(d.cpu)
		x.pool.o.Log.Debug("sandbox child ended with its program", "outcome", x.done.Outcome.String(),
			"state", x.child.cmd.ProcessState.String())
	}
	for i, line := range x.done.Logs {
		x.done.Logs[i] = strings.ToValidUTF8(line, "\ufffd")
	}
}

// verdict says how a program ended whose child cannot say it any more. The Go runtime tells why it gave up
// only in words, on its standard error; these are matched nowhere else.
func verdict(d death, p Program) (sandboxpb.Outcome, string) {
	switch d.cause {
	case causeWallClock:
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_WALL_CLOCK, fmt.Sprintf("wall clock limit of %v exceeded", p.WallClock)
	case causeStopped:
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_WALL_CLOCK,
			fmt.Sprintf("the program was paused for more than %v", maxStopped)
	case causeOutput:
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_OUTPUT,
			fmt.Sprintf("logs and emitted values are larger than %s", frame.SizeText(p.Limits.ResultBytes))
	case causeProtocol:
		return sandboxpb.Outcome_OUTCOME_CRASHED, "the program broke its process"
	}
	has := func(words string) bool { return strings.Contains(d.stderr, words) }
	memory := func() (sandboxpb.Outcome, string) {
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_MEMORY,
			fmt.Sprintf("memory limit of %s exceeded", frame.SizeText(p.Limits.MemoryBytes))
	}
	switch {
	case has("stack exceeds") || has("stack overflow"):
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_MEMORY, "the program is nested too deeply for its stack"
	case has("SIGXCPU"), d.signal == syscall.SIGXCPU:
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_CPU, fmt.Sprintf("CPU limit of %v exceeded", p.Limits.CPU)
	// The last one is not the engine's: it is the collector's own, when the kernel refuses it memory for its
	// queues. A fault in Go code says "panic" first, and is recovered.
	case has("out of memory"), has("cannot allocate"), has("cannot map pages"),
		has("failed to create new OS thread"), has("pthread_create failed"),
		strings.HasPrefix(d.stderr, "SIGSEGV: segmentation violation\nPC="):
		return memory()
	case d.signal == syscall.SIGKILL && d.cpu > p.Limits.CPU:
		return sandboxpb.Outcome_OUTCOME_EXCEEDED_CPU, fmt.Sprintf("CPU limit of %v exceeded", p.Limits.CPU)
	case d.signal == syscall.SIGKILL && d.peakBytes > p.Limits.MemoryBytes:
		return memory()
	// The kernel's killer of processes when the machine, or the container, runs out of memory; or a person.
	case d.signal == syscall.SIGKILL:
		return sandboxpb.Outcome_OUTCOME_CRASHED,
			"the program's process was killed from outside, perhaps because the machine is short of memory"
	default:
		return sandboxpb.Outcome_OUTCOME_CRASHED, "the program's process ended unexpectedly"
	}
}
