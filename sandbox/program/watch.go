package program

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

// watchInterval is how often a running program is looked at.
const watchInterval = 5 * time.Millisecond

// heapMetric is the memory of live objects and of dead ones that are not swept yet.
const heapMetric = "/memory/classes/heap/objects:bytes"

func heapBytes() uint64 {
	s := []metrics.Sample{{Name: heapMetric}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watch ends the process when a program passes its limits of processor time or memory. The engine's own
// interrupt would not do: it is not seen inside built-in functions, and memory is not measured at all.
// Behind the watch stand the kernel's limits, for what happens between two looks.
type watch struct {
	out *output
	// wake is signalled when a program begins.
	wake chan struct{}

	mu     sync.Mutex    // guards all that follows
	limits *frame.Limits // nil while no program runs
	before time.Duration // processor time of the process when the program began
}

func newWatch(out *output) *watch {
	return &watch{out: out, wake: make(chan struct{}, 1)}
}

// begin starts to measure a program.
func (w *watch) begin(l frame.Limits) {
	armMemory(l.MemoryBytes)
	w.mu.Lock()
	w.limits, w.before = &l, processorTime()
	armCPU(w.before + l.CPU)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// end stops to measure and returns the program's processor time.
func (w *watch) end() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limits = nil
	return processorTime() - w.before
}

// loop looks at programs for as long as the process lives.
func (w *watch) loop() {
	t := time.NewTicker(watchInterval)
	for {
		t.Stop()
		<-w.wake
		t.Reset(watchInterval)
		for running := true; running; {
			<-t.C
			running = w.look()
		}
	}
}

// look checks the limits once and reports whether a program runs.
func (w *watch) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limits == nil {
		return false
	}
	used := processorTime() - w.before
	if used > w.limits.CPU {
		w.exceeded(sandboxpb.Outcome_OUTCOME_EXCEEDED_CPU, fmt.Sprintf("CPU limit of %v exceeded", w.limits.CPU))
	}
	// The collector keeps the heap under the limit while it can; what is above it by an eighth is alive.
	if heapBytes() > w.limits.MemoryBytes+w.limits.MemoryBytes/8 {
		w.exceeded(sandboxpb.Outcome_OUTCOME_EXCEEDED_MEMORY,
			fmt.Sprintf("memory limit of %s exceeded", sizeText(w.limits.MemoryBytes)))
	}
	w.out.flush()
	return true
}

// exceeded says so and ends the process.
func (w *watch) exceeded(o sandboxpb.Outcome, message string) {
	w.out.send(&frame.Done{Outcome: o, Error: message, CPU: processorTime() - w.before})
	os.Exit(exitOK)
}

// armMemory has the collector work harder near the limit, and the kernel refuse what is well beyond it.
func armMemory(limitBytes uint64) {
	debug.SetMemoryLimit(int64(limitBytes + runtimeBytes))
	armData(limitBytes + limitBytes/4 + dataSlackBytes)
}

const (
	// runtimeBytes is what the Go runtime holds beside the program's heap.
	runtimeBytes = 16 << 20
	// dataSlackBytes is for threads' stacks (8 MiB each where the binary links C) and for fragmentation.
	dataSlackBytes = 64 << 20
)
