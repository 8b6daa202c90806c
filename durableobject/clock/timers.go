package clock

import "time"

// callback is what a timer's func is called among the holds.
type callback struct{}

// String implements fmt.Stringer.
func (callback) String() string { return "a timer's func" }

func (t *Test) now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nowLocked()
}

func (t *Test) nowLocked() time.Time {
	if !t.standing.IsZero() {
		return t.standing
	}
	return time.Now().Add(t.ahead)
}

func (t *Test) afterFunc(d time.Duration, f func()) *event {
	e := &event{clock: t, f: f, at: -1}
	t.reset(e, d)
	return e
}

func (t *Test) stop(e *event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queue.remove(e)
}

func (t *Test) reset(e *event, d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.queue.remove(e)
	if t.closed {
		return was
	}
	now := t.nowLocked()
	t.last++
	e.due, e.seq = now.Add(d), t.last
	if d <= 0 {
		t.fireLocked(e) // also where the clock stands: whoever holds it may wait for this
		return was
	}
	t.queue.set(e)
	t.armLocked(now)
	return was
}

// fire runs the events that are due by real time.
func (t *Test) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.standing.IsZero() {
		t.fireDueLocked()
	}
}

// fireDueLocked runs the events that are due. The clock does not stand.
func (t *Test) fireDueLocked() {
	now := t.nowLocked()
	for e := t.queue.takeDue(now); e != nil; e = t.queue.takeDue(now) {
		t.fireLocked(e)
	}
	t.armLocked(now)
}

// armLocked sets wake for the first event.
func (t *Test) armLocked(now time.Time) {
	if t.standing.IsZero() && len(t.queue) > 0 && !t.closed {
		t.wake.Reset(t.queue[0].due.Sub(now))
	}
}

// fireLocked runs an event's func, which holds the clock until it returns.
func (t *Test) fireLocked(e *event) {
	if t.closed {
		return
	}
	h, f := t.holdLocked(callback{}), e.f
	t.running.Go(func() {
		defer h.Release()
		f()
	})
}
