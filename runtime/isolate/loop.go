package isolate

import (
	"sync"
)

// loop runs tasks one after another on one goroutine.
type loop struct {
	mu     sync.Mutex
	queue  []func()
	closed bool

	wake chan struct{}
	done chan struct{}
}

func (l *loop) start(i *Isolate) {
	l.wake = make(chan struct{}, 1)
	l.done = make(chan struct{})
	go func() {
		defer close(l.done)
		l.run(i)
	}()
}

// post queues a task. It reports false when the loop has ended; the task then never runs.
func (l *loop) post(f func()) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.queue = append(l.queue, f)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.queue = nil
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) wait() { <-l.done }

func (l *loop) run(i *Isolate) {
	defer i.timers.stop()
	var batch []func()
	for {
		l.mu.Lock()
		closed := l.closed
		batch, l.queue = l.queue, batch[:0]
		l.mu.Unlock()
		if closed {
			return
		}
		if len(batch) == 0 {
			<-l.wake
			continue
		}
		for n, f := range batch {
			batch[n] = nil
			f()
			if i.ctx.Err() != nil {
				return
			}
		}
	}
}
