package isolate

import (
	"sync"
)

// loop runs tasks one after another: those that are queued on a goroutine of its own, and one that finds nothing to wait
// for on its caller's, which saves two switches between goroutines.
type loop struct {
	// mu guards queue, closed and busy.
	mu     sync.Mutex
	queue  []func()
	closed bool
	// busy is true while a task runs.
	busy bool

	wake chan struct{}
	done chan struct{}
	// abandoned is closed when nobody waits for the task that runs any more.
	abandoned chan struct{}
}

func (l *loop) start(i *Isolate) {
	l.wake = make(chan struct{}, 1)
	l.done = make(chan struct{})
	l.abandoned = make(chan struct{})
	go func() {
		defer close(l.done)
		defer i.endings.run()
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
	busy := l.busy
	l.mu.Unlock()
	if !busy {
		l.signal()
	}
	return true
}

// try begins a task on the caller's goroutine, if none runs or waits: the caller then has to call end after it.
func (l *loop) try() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || l.closed || len(l.queue) > 0 {
		return false
	}
	l.busy = true
	return true
}

// end ends a task that try has begun.
func (l *loop) end() {
	l.mu.Lock()
	l.busy = false
	more := l.closed || len(l.queue) > 0
	l.mu.Unlock()
	if more {
		l.signal()
	}
}

// idle reports whether try would begin a task now.
func (l *loop) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.busy && !l.closed && len(l.queue) == 0
}

func (l *loop) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.queue = nil
	l.mu.Unlock()
	l.signal()
}

// wait returns when the loop is closed and no task runs any more, or when it is abandoned; ended is false then.
func (l *loop) wait() (ended bool) {
	select {
	case <-l.done:
		return true
	case <-l.abandoned:
		return false
	}
}

// abandon has nobody wait for the task that runs. It is called once.
func (l *loop) abandon() { close(l.abandoned) }

func (l *loop) run(i *Isolate) {
	defer i.timers.stop()
	var batch []func()
	for {
		l.mu.Lock()
		busy, closed := l.busy, l.closed
		if !busy && !closed {
			batch, l.queue = l.queue, batch[:0]
			l.busy = len(batch) > 0
		}
		l.mu.Unlock()
		switch {
		case busy:
			<-l.wake // whose task runs sends it
			continue
		case closed:
			return
		case len(batch) == 0:
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
		l.mu.Lock()
		l.busy = false
		l.mu.Unlock()
	}
}
