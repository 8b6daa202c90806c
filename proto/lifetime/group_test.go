package lifetime_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/tandem-do/tandem/proto/lifetime"
)

// What is begun while the group is being closed runs and is waited for, or is refused and never runs.
func TestGroup(t *testing.T) {
	t.Parallel()
	for range 200 {
		var g lifetime.Group
		var callers sync.WaitGroup
		over, begun := make(chan struct{}), make(chan struct{}, 2)
		for range 2 {
			callers.Go(func() {
				first := sync.OnceFunc(func() { begun <- struct{}{} })
				for g.Go(func() {
					first()
					select {
					case <-over:
						t.Error("it runs after Wait")
					default:
					}
				}) {
					runtime.Gosched() // the race detector bears few thousand goroutines that have begun nothing
				}
			})
		}
		<-begun
		<-begun
		g.Close()
		g.Wait()
		close(over)
		if !g.Closed() {
			t.Error("it is not closed")
		}
		callers.Wait()
	}
}
