package clock

import (
	"container/heap"
	"time"
)

// event is a timer of a test clock. The clock's mu guards its fields.
type event struct {
	clock *Test
	f     func()
	due   time.Time
	// seq orders events that are due at once as they were set.
	seq uint64
	// at is the place in the queue, -1 outside.
	at int
}

// queue holds the events that are set, the next one first.
type queue []*event

var _ heap.Interface = (*queue)(nil)

// Len implements heap.Interface.
func (q queue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q queue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].seq < q[j].seq
	}
	return q[i].due.Before(q[j].due)
}

// Swap implements heap.Interface.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	e := x.(*event)
	e.at = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.at = -1
	return e
}

// set puts an event in its place.
func (q *queue) set(e *event) { heap.Push(q, e) }

// remove takes an event out, and reports whether it was in.
func (q *queue) remove(e *event) bool {
	if e.at < 0 {
		return false
	}
	heap.Remove(q, e.at)
	return true
}

// takeDue takes out the first event that is due at now, or returns nil.
func (q *queue) takeDue(now time.Time) *event {
	if len(*q) == 0 || (*q)[0].due.After(now) {
		return nil
	}
	return heap.Pop(q).(*event)
}
