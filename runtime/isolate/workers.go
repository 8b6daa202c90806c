package isolate

import (
	"sync"
	"sync/atomic"
)

// maxParked is how many goroutines of an isolate wait for more to do.
const maxParked = 64

// workers are goroutines that wait for the outside world, and run the turns that its answers bring. One that has run a turn
// has the stack that the next one needs: growing it anew took a tenth of a short event's time.
type workers struct {
	all sync.WaitGroup
	// parked takes work for one that has nothing to do; idle counts those.
	parked chan func()
	idle   atomic.Int32
}

// run runs f on a goroutine of its own. It does not block.
func (w *workers) run(i *Isolate, f func()) {
	select {
	case w.parked <- f:
	default:
		w.all.Go(func() { w.work(i, f) })
	}
}

// work runs f and then what run hands over, until the isolate closes or enough others are parked.
func (w *workers) work(i *Isolate, f func()) {
	for {
		f()
		f = nil // it would be kept alive while parked
		if w.idle.Add(1) > maxParked {
			w.idle.Add(-1)
			return
		}
		select {
		case f = <-w.parked:
			w.idle.Add(-1)
		case <-i.ctx.Done():
			return
		}
	}
}
