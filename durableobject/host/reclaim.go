package host

import (
	"runtime/debug"
	"sync"
	"time"
)

const (
	// reclaimAfter is how many evictions are worth a collection of their own: below, the runtime's next one is soon enough.
	reclaimAfter = 1000
	// reclaimDelay lets a wave of evictions end first.
	reclaimDelay = 2 * time.Second
)

// reclaimer gives the memory of evicted objects back to the system. An idle process allocates nothing, so its heap would
// otherwise stay as large as the busiest moment made it.
type reclaimer struct {
	// free collects and returns memory: debug.FreeOSMemory, unless a test counts instead.
	free func()

	mu      sync.Mutex // guards all that follows
	evicted int
	timer   *time.Timer
	closed  bool
}

func newReclaimer() *reclaimer { return &reclaimer{free: debug.FreeOSMemory} }

// count notes an eviction.
func (r *reclaimer) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.evicted++; r.evicted < reclaimAfter || r.closed {
		return
	}
	r.evicted = 0
	if r.timer == nil {
		r.timer = time.AfterFunc(reclaimDelay, r.free)
	} else {
		r.timer.Reset(reclaimDelay)
	}
}

// close stops what is planned.
func (r *reclaimer) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
