package pool

import "slices"

// queue holds the callers that wait for a child. It serves organizations in turn, and those of one organization in the
// order of their coming: an organization whose programs fill the queue delays another one's by a single turn.
//
// It is a ring of lines, one for each organization that has somebody waiting. A line moves to the end of the ring when
// it was served; a new one begins there.
type queue struct {
	ring []*line
	// lines finds a line of the ring by its organization.
	lines map[string]*line
	// length counts the callers in all lines.
	length int
}

// line is what one organization has waiting; it is never empty.
type line struct {
	organization string
	callers      []*waiter
}

// of returns how many callers of an organization wait.
func (q *queue) of(organization string) int {
	if l := q.lines[organization]; l != nil {
		return len(l.callers)
	}
	return 0
}

// push adds a caller to its organization's line.
func (q *queue) push(w *waiter) {
	l := q.lines[w.organization]
	if l == nil {
		l = &line{organization: w.organization}
		if q.lines == nil {
			q.lines = map[string]*line{}
		}
		q.lines[w.organization] = l
		q.ring = append(q.ring, l)
	}
	l.callers = append(l.callers, w)
	q.length++
}

// pop takes the caller whose turn it is, of those whose organization may have one; nil when there is none. The others
// keep their places.
func (q *queue) pop(may func(organization string) bool) *waiter {
	at := slices.IndexFunc(q.ring, func(l *line) bool { return may(l.organization) })
	if at < 0 {
		return nil
	}
	l := q.ring[at]
	w := l.callers[0]
	l.callers = slices.Delete(l.callers, 0, 1)
	q.length--
	q.ring = slices.Delete(q.ring, at, at+1)
	if len(l.callers) > 0 {
		q.ring = append(q.ring, l)
	} else {
		delete(q.lines, l.organization)
	}
	return w
}

// remove takes a caller out that no longer wants to wait. It reports false when the caller is not there: it was served.
func (q *queue) remove(w *waiter) bool {
	l := q.lines[w.organization]
	if l == nil {
		return false
	}
	at := slices.Index(l.callers, w)
	if at < 0 {
		return false
	}
	l.callers = slices.Delete(l.callers, at, at+1)
	q.length--
	if len(l.callers) == 0 {
		delete(q.lines, l.organization)
		q.ring = slices.DeleteFunc(q.ring, func(other *line) bool { return other == l })
	}
	return true
}
