package parked_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tandem-do/tandem/proto/parked"
)

// At most Max goroutines wait for more; all work is done, and none is left after Done.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most, pieces = 2, 5
		var all sync.WaitGroup
		done, release, ended := make(chan struct{}), make(chan struct{}), make(chan int, 2*pieces)
		var running atomic.Int32
		g := parked.New(parked.Options[int]{
			Max: most, Done: done,
			Go: func(run func()) {
				running.Add(1)
				all.Go(func() {
					defer running.Add(-1)
					run()
				})
			},
			Do: func(n int) {
				<-release
				ended <- n
			},
		})
		for range 2 { // the second time two of them have worked before
			seen := map[int]bool{}
			for n := range pieces {
				g.Run(n)
			}
			for range pieces {
				release <- struct{}{}
			}
			for range pieces {
				seen[<-ended] = true
			}
			if len(seen) != pieces {
				t.Errorf("did %v", seen)
			}
			synctest.Wait()
			if left := running.Load(); left != most {
				t.Errorf("%d goroutines wait, want %d", left, most)
			}
		}
		close(done)
		all.Wait()
	})
}
