package host

import (
	"context"
	"sync/atomic"
)

// gauge counts what runs, and says when the last of it has ended. Unlike a sync.WaitGroup it may be entered while
// somebody waits, and costs no more than an atomic addition.
type gauge struct {
	n atomic.Int64
	// watched is true while somebody waits, or may.
	watched atomic.Bool
	// zero gets a value when n has become zero while watched.
	zero chan struct{}
}

func newGauge() gauge { return gauge{zero: make(chan struct{}, 1)} }

func (g *gauge) enter() { g.n.Add(1) }

func (g *gauge) leave() {
	if g.n.Add(-1) == 0 && g.watched.Load() {
		select {
		case g.zero <- struct{}{}:
		default:
		}
	}
}

// wait returns true once nothing runs, false if ctx ends first. One goroutine at a time may wait.
func (g *gauge) wait(ctx context.Context) bool {
	g.watched.Store(true) // before the look at n, so that either this or the last leave sees the other
	for g.n.Load() > 0 {
		select {
		case <-g.zero:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
