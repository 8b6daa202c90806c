package parked

import "sync/atomic"

// Goroutines run pieces of work of type T.
type Goroutines[T any] struct {
	o Options[T]
	// next takes work for one that has nothing to do; idle counts those.
	next chan T
	idle atomic.Int32
}

// Options say what Goroutines do. All are required.
type Options[T any] struct {
	// Do does a piece of work.
	Do func(T)
	// Max is how many goroutines wait for more to do.
	Max int32
	// Go starts a goroutine, for whoever waits after Done until all have ended. Where it does not, the work is not done.
	Go func(func())
	// Done is closed when none waits any longer.
	Done <-chan struct{}
}

// New returns goroutines, none of which runs yet.
func New[T any](o Options[T]) *Goroutines[T] { return &Goroutines[T]{o: o, next: make(chan T)} }

// Run does work on a goroutine that is parked, or else on a new one. It does not block.
func (g *Goroutines[T]) Run(work T) {
	select {
	case g.next <- work:
	default:
		g.o.Go(func() { g.run(work) })
	}
}

// run does work and then what Run hands over, until Done or until enough others are parked.
func (g *Goroutines[T]) run(work T) {
	for {
		g.o.Do(work)
		var none T
		work = none // it would be kept alive while parked
		if g.idle.Add(1) > g.o.Max {
			g.idle.Add(-1)
			return
		}
		select {
		case work = <-g.next:
			g.idle.Add(-1)
		case <-g.o.Done:
			return
		}
	}
}
