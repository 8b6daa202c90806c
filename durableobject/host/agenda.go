package host

import (
	"container/heap"
	"slices"
	"time"

	"github.com/tandem-do/tandem/durableobject/clock"
)

const (
	// noIndex is the place of an entry that is in no agenda.
	noIndex = -1
	// maxChecks is how many entries are looked at before others get at the shard.
	maxChecks = 256
)

// agenda is when the entries of one shard are to be looked at: a heap by time, and one timer for the first of them. A
// timer for each entry would take more memory than the entry, some of it for ever: the runtime's own heap of timers
// never shrinks. The shard's mu guards it.
type agenda struct {
	entries []*entry
	timer   clock.Timer
	// wakes is when the timer fires; zero when it does not.
	wakes time.Time
}

var _ heap.Interface = (*agenda)(nil)

// Len implements heap.Interface.
func (a *agenda) Len() int { return len(a.entries) }

// Less implements heap.Interface.
func (a *agenda) Less(i, j int) bool { return a.entries[i].at.Before(a.entries[j].at) }

// Swap implements heap.Interface.
func (a *agenda) Swap(i, j int) {
	a.entries[i], a.entries[j] = a.entries[j], a.entries[i]
	a.entries[i].index, a.entries[j].index = i, j
}

// Push implements heap.Interface.
func (a *agenda) Push(x any) {
	e := x.(*entry)
	e.index = len(a.entries)
	a.entries = append(a.entries, e)
}

// Pop implements heap.Interface. It gives room back once little of it is used.
func (a *agenda) Pop() any {
	last := len(a.entries) - 1
	e := a.entries[last]
	a.entries[last], e.index = nil, noIndex
	a.entries = a.entries[:last]
	if cap(a.entries) >= minShrink && last < cap(a.entries)/4 {
		a.entries = slices.Clone(a.entries)
	}
	return e
}

// close drops all that is planned.
func (a *agenda) close() {
	a.entries = nil
	a.timer.Stop()
}

// checkSooner has the entry looked at after d, if that is sooner than planned.
func (e *entry) checkSooner(d time.Duration) {
	s := e.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.index != noIndex && e.at.After(e.table.clock.Now().Add(d)) {
		s.checkLater(e, d)
	}
}

// checkLater has the entry looked at after d. mu is held.
func (s *shard) checkLater(e *entry, d time.Duration) {
	e.at = e.table.clock.Now().Add(d)
	if e.index == noIndex {
		heap.Push(&s.checks, e)
	} else {
		heap.Fix(&s.checks, e.index)
	}
	s.wake()
}

// wake sets the timer for the first check. mu is held.
func (s *shard) wake() {
	a := &s.checks
	if len(a.entries) == 0 || !a.wakes.IsZero() && !a.entries[0].at.Before(a.wakes) {
		return
	}
	first := a.entries[0]
	a.wakes = first.at
	d := max(0, first.table.clock.Until(first.at))
	if a.timer.Made() {
		a.timer.Reset(d)
	} else {
		a.timer = first.table.clock.AfterFunc(d, s.check)
	}
}

// check looks at the entries whose time has come.
func (s *shard) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.checks
	a.wakes = time.Time{}
	for range maxChecks {
		if len(a.entries) == 0 || a.entries[0].at.After(a.entries[0].table.clock.Now()) {
			break
		}
		e := a.entries[0]
		if again := e.checkLocked(); again > 0 {
			e.at = e.table.clock.Now().Add(again)
			heap.Fix(a, e.index)
		} else {
			heap.Pop(a)
		}
	}
	s.wake()
}
