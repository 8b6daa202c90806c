package mcpsession

import (
	"sync"
	"time"

	"github.com/tandem-do/tandem/durableobject"
)

// watchdog is a timer that can be stopped and goes on with what is left. Its methods may be called from any goroutine.
type watchdog struct {
	// mu guards the fields below.
	mu    sync.Mutex
	clock durableobject.Clock
	timer durableobject.Timer
	// left is what was left when the timer was last started, since when that was.
	left  time.Duration
	since time.Time
	// total is what it was started with.
	total time.Duration
	// stopped is whether it is stopped.
	stopped bool
}

// startWatchdog runs bite after d, on a goroutine of its own.
func startWatchdog(c durableobject.Clock, d time.Duration, bite func()) *watchdog {
	return &watchdog{clock: c, timer: c.AfterFunc(d, bite), left: d, since: c.Now(), total: d}
}

// set stops the timer or lets it go on.
func (w *watchdog) set(stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case stopped == w.stopped:
		return
	case stopped:
		w.timer.Stop()
		w.left -= w.clock.Since(w.since)
	default:
		w.since = w.clock.Now()
		w.timer.Reset(max(w.left, 0))
	}
	w.stopped = stopped
}

// used returns for how long it has run.
func (w *watchdog) used() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	used := w.total - w.left
	if !w.stopped {
		used += w.clock.Since(w.since)
	}
	return used
}

// end stops it for good.
func (w *watchdog) end() { w.timer.Stop() }
