package isolate

import (
	"container/heap"
	"time"
)

// timer is one setTimeout or setInterval.
type timer struct {
	id       int64
	due      time.Time
	interval time.Duration // 0 for a timeout
	in       *frame
	f        func() error
	index    int // in the heap; -1 when not in it
}

// timers are those that are set, the next due first; of two that are due together, the older one.
type timers struct {
	queue timerQueue
	byID  map[int64]*timer
	last  int64
	// alarm is when the clock wakes the isolate, and stopAlarm calls that off; nil when it does not.
	alarm     time.Time
	stopAlarm func() bool
}

// TimerLimit is how many timers of a context may be set at once.
func (i *Isolate) TimerLimit() int { return i.options.Limits.Timers }

// SetTimer has f run in a turn of the event that runs now, after a delay, and again after each interval unless that is
// 0. It returns the timer's number, or 0 when the context has too many. It throws at global scope.
func (i *Isolate) SetTimer(delay, interval time.Duration, f func() error) int64 {
	c := i.RequireEvent().context
	if c.timers >= i.options.Limits.Timers {
		return 0
	}
	t := &i.timers
	if t.byID == nil {
		t.byID = map[int64]*timer{}
	}
	t.last++
	tm := &timer{id: t.last, due: i.options.Clock.Now().Add(max(delay, 0)), interval: interval, in: i.frame, f: f}
	t.byID[tm.id] = tm
	heap.Push(&t.queue, tm)
	c.timers++
	c.pending++
	t.schedule(i)
	return tm.id
}

// ClearTimer takes a timer off. Numbers of no timer are allowed.
func (i *Isolate) ClearTimer(id int64) {
	if tm := i.timers.byID[id]; tm != nil {
		i.timers.remove(tm)
	}
}

func (t *timers) remove(tm *timer) {
	if t.byID[tm.id] != tm {
		return
	}
	delete(t.byID, tm.id)
	if tm.index >= 0 {
		heap.Remove(&t.queue, tm.index)
	}
	c := tm.in.event.context
	c.timers--
	c.pending--
}

func (t *timers) removeAll(c *Context) {
	if c.timers == 0 {
		return
	}
	for _, tm := range t.byID {
		if tm.in.event.context == c {
			t.remove(tm)
		}
	}
}

// schedule has the clock wake the isolate for the next timer.
func (t *timers) schedule(i *Isolate) {
	if len(t.queue) == 0 {
		return // an alarm that is left finds nothing to do
	}
	due := t.queue[0].due
	if t.stopAlarm != nil {
		if !due.Before(t.alarm) {
			return
		}
		t.stopAlarm()
	}
	t.alarm = due
	t.stopAlarm = i.options.Clock.AfterFunc(due.Sub(i.options.Clock.Now()), func() {
		i.loop.post(func() { t.fire(i) })
	})
}

func (t *timers) stop() {
	if t.stopAlarm != nil {
		t.stopAlarm()
	}
}

// fire runs the timers that are due, each in a turn of its own.
func (t *timers) fire(i *Isolate) {
	t.stopAlarm = nil
	now := i.options.Clock.Now()
	for len(t.queue) > 0 && !t.queue[0].due.After(now) {
		tm := t.queue[0]
		heap.Remove(&t.queue, tm.index)
		c := tm.in.event.context
		if c.options.Deliver == nil {
			t.run(i, tm)
		} else {
			c.options.Deliver(tm.in.event, func() { i.now(func() { t.run(i, tm) }) })
		}
		if i.ctx.Err() != nil {
			return
		}
	}
	t.schedule(i)
}

func (t *timers) run(i *Isolate, tm *timer) {
	if t.byID[tm.id] != tm {
		return // it was cleared meanwhile
	}
	if tm.interval > 0 {
		tm.due = i.options.Clock.Now().Add(tm.interval)
		heap.Push(&t.queue, tm)
		t.schedule(i)
		i.turn(tm.in, tm.f)
		return
	}
	// It still counts as pending while it runs: the turn's end decides.
	i.turn(tm.in, func() error {
		t.remove(tm)
		return tm.f()
	})
}

type timerQueue []*timer

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(a, b int) bool {
	if q[a].due.Equal(q[b].due) {
		return q[a].id < q[b].id
	}
	return q[a].due.Before(q[b].due)
}
func (q timerQueue) Swap(a, b int) {
	q[a], q[b] = q[b], q[a]
	q[a].index, q[b].index = a, b
}
func (q *timerQueue) Push(x any) {
	tm := x.(*timer)
	tm.index = len(*q)
	*q = append(*q, tm)
}
func (q *timerQueue) Pop() any {
	old := *q
	tm := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	tm.index = -1
	return tm
}
