package program

import (
	"math/rand/v2"
	"time"
)

// clock is a program's time. It stands still while the program computes, so that a program which is led through what
// happened to it before reads the same times again: it moves only to where a timer was due, or a result was taken, and
// by a little with each reading, so that a loop that waits for it to pass ends. Like workerd, whose clock moves with
// input and output only.
//
// There are two measures of it. Active time is what timers go by: that for which the program has run, less what its
// clock was stopped. Date time is what it reads: it follows active time, and catches up with the host's whenever a
// result comes with that.
type clock struct {
	// active is the program's time.
	active time.Duration
	// date was the date at the active time dateAt.
	date   time.Time
	dateAt time.Duration
	// started is the date at which the program started.
	started time.Time

	// base is the active time at the real time since; it goes on from there while the clock is not stopped.
	base    time.Duration
	since   time.Time
	stopped bool
}

// readingStep is how much time a reading takes.
const readingStep = time.Microsecond

func startClock(started time.Time) clock {
	return clock{date: started, started: started, since: time.Now()}
}

// read is the program's reading of the date.
func (c *clock) read() time.Time {
	c.active += readingStep
	return c.today()
}

func (c *clock) today() time.Time { return c.date.Add(c.active - c.dateAt) }

// running is the program's reading of the time since its start.
func (c *clock) running() time.Duration {
	return c.read().Sub(c.started)
}

// real returns the active time as it really is; what the program has seen of it may lag behind, or be ahead.
func (c *clock) real() time.Duration {
	if c.stopped {
		return c.base
	}
	return c.base + time.Since(c.since)
}

// goOn makes what the program has seen of time its real time.
func (c *clock) goOn() { c.base, c.since = c.active, time.Now() }

// set stops the clock or lets it run on.
func (c *clock) set(stopped bool) {
	c.base, c.since = c.real(), time.Now()
	c.stopped = stopped
}

// moveTo has the program see that its time is at least this.
func (c *clock) moveTo(active time.Duration) { c.active = max(c.active, active) }

// catchUp has the program see that the date is at least this.
func (c *clock) catchUp(date time.Time) {
	if date.After(c.today()) {
		c.date, c.dateAt = date, c.active
	}
}

// newRandom returns what all of a program's randomness comes from: the same for the same seed. Seeds of another length
// are cut, or filled with zeros.
func newRandom(seed []byte) *rand.ChaCha8 {
	var s [32]byte
	copy(s[:], seed)
	return rand.NewChaCha8(s)
}

// float returns a number from 0 to 1, without 1.
func float(r *rand.ChaCha8) float64 { return float64(r.Uint64()>>11) / (1 << 53) }
