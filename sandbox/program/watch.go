package program

import (
	"fmt"
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

// watch has the process end when a program passes its limits of processor time or memory. The engine's own
// interrupt would not do: it is not seen inside built-in functions, and memory is not measured at all.
// Behind the watch stand the kernel's limits, for what happens between two looks.
type watch struct {
	out *output
	// baseBytes is what the process held before its first program.
	baseBytes uint64
	// wake is signalled when a program begins.
	wake chan struct{}

	mu     sync.Mutex    // guards all that follows
	limits *frame.Limits // nil while no program runs
	before time.Duration // processor time of the process when the program began
}

func newWatch(out *output, baseBytes uint64) *watch {
	return &watch{out: out, baseBytes: baseBytes, wake: make(chan struct{}, 1)}
}

// begin starts to measure a program.
func (w *watch) begin(l frame.Limits) {
	// The collector works harder near the limit, and the kernel refuses what is well beyond it.
	debug.SetMemoryLimit(int64(l.MemoryBytes + runtimeBytes))
	armData(w.baseBytes + l.MemoryBytes + l.MemoryBytes/4 + dataSlackBytes)
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

// loop looks at programs until one has passed a limit, and returns the exit code.
func (w *watch) loop() int {
	t := time.NewTicker(watchInterval)
	for {
		t.Stop()
		<-w.wake
		t.Reset(watchInterval)
		for running := true; running; {
			<-t.C
			var done *frame.Done
			if running, done = w.look(); done != nil {
				w.out.send(done)
				return exitOK
			}
		}
	}
}

// look checks the limits once. It reports whether a program runs, and how it ends when it passed one.
func (w *watch) look() (running bool, done *frame.Done) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limits == nil {
		return false, nil
	}
	used := processorTime() - w.before
	switch {
	case used > w.limits.CPU:
		return true, &frame.Done{
			Outcome: sandboxpb.Outcome_OUTCOME_EXCEEDED_CPU, CPU: used,
			Error: fmt.Sprintf("CPU limit of %v exceeded", w.limits.CPU),
		}
	// The collector keeps the heap under the limit while it can; what is above it by an eighth is alive.
	case heapBytes() > w.limits.MemoryBytes+w.limits.MemoryBytes/8:
		return true, &frame.Done{
			Outcome: sandboxpb.Outcome_OUTCOME_EXCEEDED_MEMORY, CPU: used,
			Error: fmt.Sprintf("memory limit of %s exceeded", frame.SizeText(w.limits.MemoryBytes)),
		}
	}
	w.out.flush()
	return true, nil
}

const (
	// runtimeBytes is what the Go runtime holds beside the program's heap.
	runtimeBytes = 16 << 20
	// dataSlackBytes is for threads' stacks (8 MiB each where the binary links C) and for fragmentation.
	dataSlackBytes = 64 << 20
)
