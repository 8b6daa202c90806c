package isolate

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// watchTick is how often a turn is looked at while it runs. Shorter turns are never looked at.
const watchTick = 20 * time.Millisecond

// maxGap is how much of the time between two looks is taken for the turn's: a machine that stands still, or has others to
// run, is late with both.
const maxGap = 5 * watchTick

// stuckGrace is how long a turn that was interrupted may still run. It is longer only within a built-in function, which
// the engine does not interrupt.
const stuckGrace = 2 * time.Second

// stuckPatience is how long a built-in function may run on in an isolate that was given up before Options.OnStuck is
// told.
const stuckPatience = time.Minute

// leakAge is how old an isolate is at least that is given up because the heap is full while nothing in it runs.
const leakAge = 10 * time.Second

// watch interrupts turns that compute for too long. It measures time on the wall while a turn runs, less what passes while
// it is kept from looking: on a machine with more to run than cores that is more than was computed.
type watch struct {
	isolate *Isolate

	// base is when the isolate was made: the time since then is read faster than that of day.
	base time.Time

	// mu guards what follows.
	mu      sync.Mutex
	timer   *time.Timer
	armed   bool
	running bool
	// start and looked are when the turn began and when it was looked at last, since base; what is not taken for the
	// turn's is added to start.
	start  time.Duration
	looked time.Duration
	budget time.Duration
	fired  *interruption
	// context is whose turn runs; nil at global scope.
	context *Context
	// firedAt is when the turn was interrupted, since base.
	firedAt time.Duration

	// stopping is true from the interruption of a turn to its end.
	stopping atomic.Bool
}

func (w *watch) init(i *Isolate) {
	w.isolate, w.base = i, time.Now()
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Stop()
}

func (w *watch) begin(budget time.Duration, c *Context) {
	start := time.Since(w.base)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.start, w.looked, w.budget, w.context = true, start, start, budget, c
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
		w.stopping.Store(false)
		w.isolate.rt.ClearInterrupt()
	}
	now := time.Since(w.base)
	w.spare(now)
	return now - w.start, fired
}

// spare leaves out of the turn's time, and of its grace, what is more than maxGap since the last look.
func (w *watch) spare(now time.Duration) {
	if stood := now - w.looked - maxGap; stood > 0 {
		w.start += stood
		w.firedAt += stood
	}
	w.looked = now
}

// cpuText is what a caller sees of workerd's outcome exceededCpu.
const cpuText = "Worker exceeded CPU time limit."

const memoryText = "Worker exceeded memory limit."

func (w *watch) look() {
	w.mu.Lock()
	w.spare(time.Since(w.base))
	w.mu.Unlock()
	limit := w.isolate.options.Limits.HeapBytes
	full := limit > 0 && heapFull(limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Since(w.base)
	w.looked = now // a collection is the turn's
	left := w.budget - (now - w.start)
	switch {
	case !w.running:
		w.armed = false
		if full && now > leakAge {
			w.isolate.giveUp(OutcomeExceededMemory, memoryText)
		}
		return
	case w.fired != nil && now-w.firedAt > stuckGrace:
		w.armed = false
		w.isolate.culprit.Store(w.context)
		w.isolate.giveUpStuck(w.fired)
		return
	case w.fired != nil:
	case left <= 0:
		w.fire(&interruption{outcome: OutcomeExceededCPU, message: cpuText})
	case full:
		w.fire(&interruption{outcome: OutcomeExceededMemory, message: memoryText})
	}
	if left <= 0 {
		left = watchTick
	}
	w.timer.Reset(min(watchTick, left))
}

func (w *watch) fire(x *interruption) {
	w.fired, w.firedAt = x, time.Since(w.base)
	w.stopping.Store(true)
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

// heapFull reports whether the heap has more than limit bytes that are in use.
func heapFull(limit uint64) bool {
	if heapBytes() <= limit {
		return false
	}
	runtime.GC() // what is over may be garbage
	return heapBytes() > limit
}

// heapBytes is the live heap of the process, with what was not collected yet.
func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
