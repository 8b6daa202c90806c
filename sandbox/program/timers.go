package program

import (
	"container/heap"
	"math"
	"time"

	"github.com/dop251/goja"
)

// maxTimers is how many timers of a program may be set at once.
const maxTimers = 10_000

// maxDelay is the longest delay that the web platform knows: 2^31-1 ms. A longer one counts as none.
const maxDelay = math.MaxInt32 * time.Millisecond

// timer is one setTimeout or setInterval.
type timer struct {
	id       int64
	due      time.Duration // the program's time
	interval time.Duration // 0 for a timeout
	f        goja.Callable
	args     []goja.Value
	index    int // in the heap; -1 when not in it
}

// timers are those that are set, the next due first; of two that are due together, the older one.
type timers struct {
	queue timerQueue
	byID  map[int64]*timer
	last  int64
	// fired is how many have fired.
	fired uint64
}

// next returns the timer that is due first, or nil.
func (t *timers) next() *timer {
	if len(t.queue) == 0 {
		return nil
	}
	return t.queue[0]
}

func (t *timers) add(tm *timer) {
	if t.byID == nil {
		t.byID = map[int64]*timer{}
	}
	t.last++
	tm.id = t.last
	t.byID[tm.id] = tm
	heap.Push(&t.queue, tm)
}

// take takes a timer that fires off, or moves an interval to its next time.
func (t *timers) take(tm *timer, now time.Duration) {
	t.fired++
	if tm.interval > 0 {
		tm.due = now + tm.interval
		heap.Fix(&t.queue, tm.index)
		return
	}
	t.remove(tm.id)
}

func (t *timers) remove(id int64) {
	if tm := t.byID[id]; tm != nil {
		delete(t.byID, id)
		heap.Remove(&t.queue, tm.index)
	}
}

type timerQueue []*timer

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(a, b int) bool {
	if q[a].due == q[b].due {
		return q[a].id < q[b].id
	}
	return q[a].due < q[b].due
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

func (i *isolate) setTimeout(c goja.FunctionCall) goja.Value  { return i.setTimer("setTimeout", c) }
func (i *isolate) setInterval(c goja.FunctionCall) goja.Value { return i.setTimer("setInterval", c) }

func (i *isolate) setTimer(name string, c goja.FunctionCall) goja.Value {
	f, ok := goja.AssertFunction(c.Argument(0))
	if !ok {
		i.throw("TypeError", "%s takes a function", name)
	}
	if len(i.run.timers.queue) >= maxTimers {
		i.throw("RangeError", "too many timers: at most %d", maxTimers)
	}
	var delay time.Duration
	if ms := c.Argument(1).ToFloat(); ms > 0 && ms <= float64(maxDelay/time.Millisecond) {
		delay = time.Duration(ms * float64(time.Millisecond))
	}
	tm := &timer{f: f}
	if name == "setInterval" {
		delay = max(delay, time.Millisecond)
		tm.interval = delay
	}
	if len(c.Arguments) > 2 {
		tm.args = append([]goja.Value(nil), c.Arguments[2:]...)
	}
	tm.due = i.run.clock.active + delay
	i.run.timers.add(tm)
	return i.rt.ToValue(tm.id)
}

func (i *isolate) clearTimer(c goja.FunctionCall) goja.Value {
	if v := c.Argument(0); goja.IsNumber(v) {
		i.run.timers.remove(v.ToInteger())
	}
	return goja.Undefined()
}
