package isolate

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/dop251/goja"
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
						runtime.Gosched() // the race detector bears few thousand goroutines that have begun nothing
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

// What others keep with a context is let go once: at the context's end, or at that of the isolate, however it comes.
func TestAtEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Isolate, *Context){
		"context": func(_ *Isolate, c *Context) { c.Close() },
		"close":   func(i *Isolate, _ *Context) { i.Close() },
		"fault": func(i *Isolate, _ *Context) {
			_ = i.NewContext(ContextOptions{}).Run(t.Context(), func(*Event) (goja.Value, error) { panic("a fault") }, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIsolate(t, `export const f = () => 1;`, Options{})
			c := i.NewContext(ContextOptions{Object: true})
			ends := make(chan string, 9)
			for _, text := range []string{"a", "b"} {
				c.AtEnd(func() { ends <- text })
			}
			end(i, c)
			if got := <-ends + <-ends; got != "ab" {
				t.Errorf("got %s", got)
			}
			c.AtEnd(func() { ends <- "late" })
			if got := <-ends; got != "late" {
				t.Errorf("got %s", got)
			}
			i.Close()
			select {
			case got := <-ends:
				t.Errorf("%s ran again", got)
			default:
			}
		})
	}
}

// A built-in function that does not return holds Close up on no goroutine of the isolate's either.
func TestStuckInTheBackground(t *testing.T) {
	t.Parallel()
	i, began, release := newBlocking(t, `
		export const stuck = async () => { await new Promise((r) => setTimeout(r, 1)); block(); };
	`)
	ended := make(chan struct{})
	c := i.NewContext(ContextOptions{Object: true, Deliver: func(_ *Event, turn func()) { i.Background(turn) }})
	c.AtEnd(func() { close(ended) })
	stuck := make(chan error, 1)
	go func() {
		_, err := callIn(context.WithoutCancel(t.Context()), c, "stuck")
		stuck <- err
	}()
	<-began
	<-i.Condemned()
	i.Close()
	<-ended
	if err := <-stuck; err == nil || err.Error() != "Error: "+cpuText {
		t.Errorf("the event: %v", err)
	}
	close(release)
	<-i.loop.done
	i.goroutines.Wait()
}
