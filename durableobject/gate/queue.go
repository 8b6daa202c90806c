package gate

// queue is a list of waiters, first come first served. It is linked through the waiters themselves, so that one
// that gives up leaves from the middle at no cost, and an idle object's queue is two nil pointers. The gate's mu
// guards it.
//
// A slice or a channel would not do: cancelled waiters would have to stay in it until their turn came, and count
// against the limit.
type queue struct {
	first, last *waiter
}

// push adds w at the end.
func (q *queue) push(w *waiter) {
	w.in, w.prev, w.next = q, q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
}

// remove takes w out, wherever it stands.
func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.in, w.prev, w.next = nil, nil, nil
}

// append moves all of other's waiters to the end of q, in their order.
func (q *queue) append(other *queue) {
	for w := other.first; w != nil; w = other.first {
		other.remove(w)
		q.push(w)
	}
}
