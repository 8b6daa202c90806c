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

// refuse has no more begin.
func (g *goroutines) refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// end is refuse, and returns when all have ended.
func (g *goroutines) end() {
	g.refuse()
	g.all.Wait()
}
