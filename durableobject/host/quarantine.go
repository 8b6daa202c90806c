package host

import (
	"fmt"
	"time"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// An object whose actors crash again and again takes no events for a while: each crash costs the host seconds of
// computing, or an isolate that other objects live on.
const (
	// crashLimit is how many crashes within crashWindow quarantine an object.
	crashLimit  = 5
	crashWindow = time.Minute
	// firstQuarantine is how long the first quarantine lasts. Each one that follows a crash after the one before lasts
	// twice as long, up to maxQuarantine.
	firstQuarantine = 10 * time.Second
	maxQuarantine   = 5 * time.Minute
	// probation is how long after a quarantine a single crash begins the next one.
	probation = 10 * time.Minute
)

// crashes are what the host remembers of an object's crashes. It is forgotten when the host ends.
type crashes struct {
	// recent are the times of the last ones, oldest first, and last is the newest one's reason.
	recent []time.Time
	last   actor.BrokenReason
	// until is the end of the last quarantine, and rounds is how many there were.
	until  time.Time
	rounds int
}

// note notes a crash, and reports whether it quarantines the object.
func (c *crashes) note(now time.Time, reason actor.BrokenReason) bool {
	c.last = reason
	if c.rounds > 0 && now.Sub(c.until) > probation {
		c.rounds = 0
	}
	for len(c.recent) > 0 && (now.Sub(c.recent[0]) > crashWindow || len(c.recent) >= crashLimit) {
		c.recent = c.recent[1:]
	}
	c.recent = append(c.recent, now)
	if c.rounds == 0 && len(c.recent) < crashLimit {
		return false
	}
	c.until = now.Add(min(firstQuarantine<<min(c.rounds, 10), maxQuarantine))
	c.rounds++
	return true
}

// over reports whether there is nothing to remember any more.
func (c *crashes) over(now time.Time) bool {
	return now.Sub(c.recent[len(c.recent)-1]) > crashWindow && (c.rounds == 0 || now.Sub(c.until) > probation)
}

// refusal is what an event gets now, or nil if it may go on.
func (c *crashes) refusal(now time.Time) error {
	rest := c.until.Sub(now)
	if rest <= 0 {
		return nil
	}
	return &sidecar.Error{
		Reason: sidecar.ReasonBroken, Name: "Error", Remote: true,
		Message: fmt.Sprintf("The Durable Object is quarantined: it crashed again and again, the last time because it %s. It "+
			"takes no events for another %s.", crashText(c.last), max(rest.Round(time.Second), time.Second)),
	}
}

func crashText(r actor.BrokenReason) string {
	switch r {
	case actor.ReasonExceededCPU:
		return "exceeded its CPU time limit"
	case actor.ReasonExceededMemory:
		return "exceeded its memory limit"
	}
	return "brought its JavaScript engine or its class down"
}

// crashed notes that the object's actor has crashed, and reports whether the object is quarantined for that.
func (t *table) crashed(c *class, id objectid.ID, reason actor.BrokenReason) bool {
	e := t.find(tableKey{class: c, id: id})
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.crashes == nil {
		e.crashes = &crashes{}
	}
	return e.crashes.note(t.clock.Now(), reason)
}

// quarantined is what events of the object get, or nil while they are taken. mu is held.
func (e *entry) quarantinedLocked() error {
	if e.crashes == nil {
		return nil
	}
	return e.crashes.refusal(e.table.clock.Now())
}

// pardon forgets the object's crashes, and reports whether it was quarantined.
func (e *entry) pardon() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	quarantined := e.quarantinedLocked() != nil
	e.crashes = nil
	return quarantined
}

// snapshot says what the object's actor is doing, and that it is quarantined where it is.
func (e *entry) snapshot() (actor.Snapshot, bool) {
	e.mu.Lock()
	a, refusal := e.actor, e.quarantinedLocked()
	e.mu.Unlock()
	var s actor.Snapshot
	if a != nil {
		s = a.Snapshot()
	}
	if refusal != nil && (a == nil || s.Reason != actor.NotBroken) {
		s.Reason, s.Err = actor.ReasonQuarantined, refusal
		return s, true
	}
	return s, a != nil
}
