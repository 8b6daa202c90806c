package isolate

import (
	"runtime/metrics"
	"sync"
	"time"
)

// watchTick is how often a turn is looked at while it runs. Shorter turns are never looked at.
const watchTick = 20 * time.Millisecond

// watch interrupts turns that compute for too long. It measures time on the wall while a turn runs: on a machine with
// more to run than cores that is more than was computed.
type watch struct {
	isolate *Isolate

	// base is when the isolate was made: the time since then is read faster than that of day.
	base time.Time

	// mu guards what follows.
	mu      sync.Mutex
	timer   *time.Timer
	armed   bool
	running bool
	start   time.Duration // since base
	budget  time.Duration
	fired   *interruption
}

func (w *watch) init(i *Isolate) {
	w.isolate, w.base = i, time.Now()
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
}

func (w *watch) begin(budget time.Duration) {
	start := time.Since(w.base)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.start, w.budget = true, start, budget
	if !w.armed {
		w.armed = true
		w.timer.Reset(watchTick)
	}
}

// end returns how long the turn took, and what interrupted it or nil.
func (w *watch) end() (used time.Duration, fired *interruption) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fired, w.fired, w.running = w.fired, nil, false
	if fired != nil {
		w.isolate.rt.ClearInterrupt()
	}
	return time.Since(w.base) - w.start, fired
}

// cpuText is what a caller sees of workerd's outcome exceededCpu.
const cpuText = "Worker exceeded CPU time limit."

const memoryText = "Worker exceeded memory limit."

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.running || w.fired != nil {
		w.armed = false
		return
	}
	left := w.budget - (time.Since(w.base) - w.start)
	switch limit := w.isolate.options.Limits.HeapBytes; {
	case left <= 0:
		w.fire(&interruption{outcome: OutcomeExceededCPU, message: cpuText})
	case limit > 0 && heapBytes() > limit:
		w.fire(&interruption{outcome: OutcomeExceededMemory, message: memoryText})
	}
	w.timer.Reset(max(min(watchTick, left), time.Millisecond))
}

func (w *watch) fire(x *interruption) {
	w.fired = x
	w.isolate.rt.Interrupt(x)
}

// interrupt stops the turn that runs, if one does.
func (w *watch) interrupt(x *interruption) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running && w.fired == nil {
		w.fire(x)
	}
}

// heapBytes is the live heap of the process, with what was not collected yet.
func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
