package isolate

import (
	"sync"
	"testing"
)

// What settles a promise, or drops a stub, while the isolate is being closed: either it runs and Close waits for it, or it
// never runs.
func TestBackgroundWhileClosing(t *testing.T) {
	t.Parallel()
	for range 100 {
		i := newIsolate(t, `export const f = () => 1;`, Options{})
		begun, closed := make(chan struct{}), make(chan struct{})
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				started := sync.OnceFunc(func() { begun <- struct{}{} })
				for {
					select {
					case <-closed:
						return
					default:
						i.Background(func() {
							started()
							select {
							case <-closed:
								t.Error("it runs after Close")
							default:
							}
						})
					}
				}
			})
		}
		<-begun
		<-begun
		i.Close()
		close(closed)
		callers.Wait()
	}
}
