package actor

import "time"

// Snapshot says what an actor is doing, for operators.
type Snapshot struct {
	// Active is how many events and background functions are under way or wait; Waiting is how many events wait for
	// their first turn.
	Active, Waiting int
	// LastActive is when the last of them ended; it means nothing while there is one.
	LastActive time.Time
	// Reason is why the actor is broken, or NotBroken; Err is what its callers got, or nil.
	Reason BrokenReason
	Err    error
}

// Snapshot returns what the actor is doing.
func (a *Actor) Snapshot() Snapshot {
	waiting := a.in.Waiting()
	a.mu.Lock()
	defer a.mu.Unlock()
	return Snapshot{Active: a.active, Waiting: waiting, LastActive: a.lastActive, Reason: a.reason, Err: a.err}
}
