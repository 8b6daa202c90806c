package pool

import "slices"

// loadSlots is in how many parts the time is looked at for which a child lingers.
const loadSlots = 3

// load remembers how many children were needed at once, over the last loadSlots parts of the lingering time and the one
// that is not over.
type load struct {
	now  int
	past [loadSlots]int
}

// note tells that this many are needed at the moment.
func (l *load) note(n int) { l.now = max(l.now, n) }

// roll begins another part, in which n are needed at first, and returns the peak of those that it remembers.
func (l *load) roll(n int) int {
	peak := l.now
	for _, v := range l.past {
		peak = max(peak, v)
	}
	copy(l.past[1:], l.past[:])
	l.past[0], l.now = l.now, n
	return peak
}

// shrink ends the idle children that the load of the lingering time did not need.
func (p *Pool) shrink() {
	p.mu.Lock()
	peak := p.load.roll(p.running + p.waiting.length)
	keep := max(p.o.Idle, min(peak, p.o.Processes)-p.running)
	var surplus []*child
	if n := len(p.idle) - keep; n > 0 {
		surplus = slices.Clone(p.idle[:n])
		p.idle = slices.Delete(p.idle, 0, n)
	}
	p.mu.Unlock()
	for _, c := range surplus {
		c.close()
	}
	if len(surplus) > 0 {
		p.o.Log.Debug("sandbox children ended, they were not needed", "children", len(surplus))
	}
}
