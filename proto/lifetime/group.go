package lifetime

import (
	"sync"
	"sync/atomic"
)

// Group is the goroutines that an end waits for, where work may be begun while that end is under way. Its zero value is
// ready; it must not be copied. Its methods may be called from any goroutine.
type Group struct {
	mu     sync.Mutex // guards that none is added once closed is true
	closed atomic.Bool
	all    sync.WaitGroup
}

// Go runs f on a goroutine of its own. After Close it reports false, and f never runs.
func (g *Group) Go(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() {
		return false
	}
	g.all.Go(f)
	return true
}

// Close has Go begin no more. It may be called more than once.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed.Store(true)
}

// Closed reports whether Close was called.
func (g *Group) Closed() bool { return g.closed.Load() }

// Wait returns when all have ended. It is to be called after Close.
func (g *Group) Wait() { g.all.Wait() }
