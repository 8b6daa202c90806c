package isolate

import "sync"

// goroutines are those that an isolate's end waits for. Settled promises and collected stubs begin work from any goroutine,
// also while that end is under way.
type goroutines struct {
	// mu guards ended, and that none is added after it.
	mu    sync.Mutex
	ended bool
	all   sync.WaitGroup
}

// begin runs f on a goroutine of its own; after end it never runs.
func (g *goroutines) begin(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.all.Go(f)
	}
}

// end has no more begin, and returns when all have ended.
func (g *goroutines) end() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.all.Wait()
}
