package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// state is what an object has stored.
type state struct {
	values map[string]string
	alarm  alarmSetting
}

// alarmSetting is an alarm that was set; the zero one is none.
type alarmSetting struct {
	at      time.Time
	program program
	// failing says that the handler's first run fails.
	failing bool
	// id tells settings apart, also of the same time.
	id int
}

func (s state) equal(o state) bool {
	return s.alarm.at.Equal(o.alarm.at) && maps.Equal(s.values, o.values)
}

func (s state) String() string {
	text := fmt.Sprint(s.values)
	if !s.alarm.at.IsZero() {
		text += " alarm " + s.alarm.at.Format("15:04:05.000")
	}
	return text
}

// commit is the state after a turn that wrote.
type commit struct {
	state
	id        int
	made      time.Time
	confirmed bool
	// doubtful says that the instance may have been broken already, and the commit never made.
	doubtful bool
}

// layer is what was written and not committed: by the turn, or by an open transaction on top of it.
type layer struct {
	values    map[string]*string // nil means deleted
	cleared   bool
	alarm     *alarmSetting
	confirmed bool
}

func newLayer() *layer { return &layer{values: map[string]*string{}} }

// object is the model of one object. The world's mu guards it.
type object struct {
	w    *world
	name string
	// commits are the states that the object went through, oldest first; the last is what it should have now.
	commits []commit
	// pending is empty, or what the present turn wrote and the transactions open on top of it.
	pending []*layer
	// acked is the newest commit that anybody outside knows of, by its ID.
	acked int
	// instance is the live one, or nil before the first; generation is the host's.
	instance *instance
	// mayBreak is true when something was done that may break the instance, mayHaveBroken when that was so since the
	// host was started.
	mayBreak, mayHaveBroken bool
	// crashed is true from a crash until the next instance has read what was left.
	crashed bool
	// arrived counts events in the order in which they came, started is the last one that got a turn.
	arrived, started int
	// retryAt is when the alarm retryOf may run again, at the earliest.
	retryAt time.Time
	retryOf int
	// kept and lost are when the newest commit was made that has surely survived the last crash, and the oldest one that
	// has surely not.
	kept, lost time.Time
}

// instance is the model of one live actor.
type instance struct {
	object     *object
	generation int
	// holder is the event that has the turn, or nil.
	holder *event
	// sections are the open critical sections, innermost last.
	sections []*section
	// inAlarm is the ID of the alarm whose handler runs, or zero.
	inAlarm int
	// dead is true once the instance has surely broken.
	dead bool
}

// section is one open critical section. It has a field, so that each has an address of its own.
type section struct{ _ byte }

// event is one piece of an object's code that takes turns: a call, an alarm or background work.
type event struct {
	name     string
	instance *instance
	// sections are those that it runs within.
	sections []*section
	// unsure is true once its object may have broken: sections hold nobody up then.
	unsure bool
}

// last is the newest commit.
func (o *object) last() commit { return o.commits[len(o.commits)-1] }

// rest returns the ID of the newest commit that what leaves the object now has to wait for.
func (o *object) rest() int {
	for _, c := range slices.Backward(o.commits) {
		if c.confirmed {
			return c.id
		}
	}
	return o.commits[0].id
}

// ack notes that somebody outside knows of a commit.
func (o *object) ack(id int, who string) {
	if id >= o.acked && !slices.ContainsFunc(o.commits, func(c commit) bool { return c.id == id }) {
		o.w.failf("%s: %s knows of commit %d, which is lost; the newest one is %d", o.name, who, id, o.last().id)
	}
	o.acked = max(o.acked, id)
}

func (o *object) top() *layer {
	if len(o.pending) == 0 {
		o.pending = append(o.pending, newLayer())
	}
	return o.pending[len(o.pending)-1]
}

// get returns what a read of a key should give.
func (o *object) get(key string) (string, bool) {
	for _, l := range slices.Backward(o.pending) {
		if v, ok := l.values[key]; ok {
			if v == nil {
				return "", false
			}
			return *v, true
		}
		if l.cleared {
			return "", false
		}
	}
	v, ok := o.last().values[key]
	return v, ok
}

// visible returns all that reads should give.
func (o *object) visible() map[string]string {
	all := map[string]string{}
	for i := range keyCount {
		key := fmt.Sprint("k", i)
		if v, ok := o.get(key); ok {
			all[key] = v
		}
	}
	return all
}

// visibleAlarm returns the alarm that the instance should see.
func (o *object) visibleAlarm(i *instance) alarmSetting {
	for _, l := range slices.Backward(o.pending) {
		if l.alarm != nil {
			return *l.alarm
		}
	}
	if a := o.last().alarm; a.id != i.inAlarm {
		return a
	}
	return alarmSetting{}
}

// flush commits what the turn wrote. Transactions that are open stay.
func (o *object) flush() {
	if len(o.pending) == 0 {
		return
	}
	base := o.pending[0]
	if len(o.pending) == 1 {
		o.pending = nil
	} else {
		o.pending[0] = newLayer()
	}
	next := state{values: map[string]string{}, alarm: o.last().alarm}
	if !base.cleared {
		maps.Copy(next.values, o.last().values)
	}
	for k, v := range base.values {
		if v == nil {
			delete(next.values, k)
		} else {
			next.values[k] = *v
		}
	}
	if base.alarm != nil {
		next.alarm = *base.alarm
	}
	if next.equal(o.last().state) && next.alarm.id == o.last().alarm.id {
		return
	}
	o.commits = append(o.commits, commit{
		state: next, id: o.w.nextID(), made: time.Now(), confirmed: base.confirmed, doubtful: o.mayBreak,
	})
	o.w.tracef("%s commit %d: %v", o.name, o.last().id, next)
}

// popTransaction ends the innermost transaction.
func (o *object) popTransaction(keep bool) {
	n := len(o.pending)
	if n < 2 {
		return // dropped meanwhile
	}
	top, below := o.pending[n-1], o.pending[n-2]
	o.pending = o.pending[:n-1]
	if !keep {
		return
	}
	maps.Copy(below.values, top.values)
	if top.alarm != nil {
		below.alarm = top.alarm
	}
	below.confirmed = below.confirmed || top.confirmed
}

// live reports whether what the instance does still counts.
func (i *instance) live() bool {
	return i.object.instance == i && i.object.w.generation == i.generation
}

// enter notes that an event has got a turn.
func (e *event) enter() {
	i := e.instance
	if !i.live() {
		return
	}
	o := i.object
	if i.holder != nil {
		o.w.failf("%s: %s got a turn while %s has one", o.name, e.name, i.holder.name)
	}
	i.holder = e
	if n := len(i.sections); n > 0 && !e.unsure && !i.dead && !slices.Contains(e.sections, i.sections[n-1]) {
		o.w.failf("%s: %s got a turn within a critical section of other code", o.name, e.name)
	}
}

// leave notes that the event's turn ends, and returns what leaves the object then rests on.
func (e *event) leave() int {
	i := e.instance
	if !i.live() {
		return 0
	}
	if i.holder == e {
		i.holder = nil
	}
	i.object.flush()
	return i.object.rest()
}

// die notes that the instance breaks in this very turn: what was not committed is gone.
func (e *event) die() {
	i := e.instance
	if !i.live() {
		return
	}
	i.dead = true
	if i.holder == e {
		i.holder = nil // it may panic, and not come to leave
	}
	i.object.pending = nil
	i.object.risk()
}

// risk notes that the instance may break.
func (o *object) risk() { o.mayBreak, o.mayHaveBroken = true, true }

// begin opens a section, end ends it.
func (e *event) begin() *section {
	s := &section{}
	e.sections = append(e.sections, s)
	e.instance.sections = append(e.instance.sections, s)
	return s
}

func (e *event) end(s *section) {
	e.sections = slices.DeleteFunc(e.sections, func(x *section) bool { return x == s })
	i := e.instance
	i.sections = slices.DeleteFunc(i.sections, func(x *section) bool { return x == s })
}

// reopen compares what a new instance finds with what it may, and goes on from there.
func (o *object) reopen(found state) {
	last := len(o.commits) - 1
	least := slices.IndexFunc(o.commits, func(c commit) bool { return c.id >= o.acked })
	switch {
	case o.crashed:
	case o.mayBreak:
		least = max(least, last-1) // what was under way in the turn that broke
	default:
		least = last
	}
	first, newest := -1, -1
	for j := least; j <= last; j++ {
		if !o.commits[j].equal(found) {
			continue
		}
		if first < 0 {
			first = j
		}
		newest = j
	}
	if newest < 0 {
		o.w.failf("%s: found %v, want the state of a commit from %d on:%s", o.name, found, o.commits[least].id,
			o.describe(max(0, least-2)))
		newest, first = last, last
	}
	if o.crashed {
		o.kept, o.lost = o.commits[first].made, time.Time{}
		for _, c := range slices.Backward(o.commits[newest+1:]) {
			if !c.doubtful {
				o.lost = c.made
			}
		}
	}
	if newest < last && !o.crashed && o.acked > o.commits[newest].id {
		o.w.failf("%s: commit %d is lost though known outside", o.name, o.acked)
	}
	o.commits = o.commits[:newest+1]
	o.commits[newest].confirmed = true // it was on disk
	o.pending, o.mayBreak, o.crashed = nil, false, false
	o.w.tracef("%s is at commit %d", o.name, o.last().id)
}

func (o *object) describe(from int) string {
	text := ""
	for _, c := range o.commits[from:] {
		text += fmt.Sprintf("\n  commit %d: %v", c.id, c.state)
	}
	return text
}
