package pool

import (
	"sync"
	"time"
)

// clock calls expire once, when it has run for a limit; it can be stopped and restarted. Expire is called
// on a goroutine of its own.
type clock struct {
	expire func()

	mu      sync.Mutex // guards all that follows
	left    time.Duration
	started time.Time   // when it began to run; zero while it is stopped
	timer   *time.Timer // nil while it is stopped
}

// startClock returns a clock that runs.
func startClock(limit time.Duration, expire func()) *clock {
	c := &clock{expire: expire, left: limit}
	c.start()
	return c
}

// stop stops the clock and reports whether it ran.
func (c *clock) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return false
	}
	c.timer.Stop()
	c.timer = nil
	c.left -= time.Since(c.started)
	return true
}

// start lets a stopped clock run on and reports whether it was stopped.
func (c *clock) start() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		return false
	}
	c.started = time.Now()
	c.timer = time.AfterFunc(max(0, c.left), c.expire)
	return true
}
