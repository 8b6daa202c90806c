package mcpsession

import "time"

// Why a session's runtime was disposed of, as the span says it.
const (
	disposeIdle   = "idle"
	disposePaused = "paused_timeout"
	disposeEnded  = "ended"
)

// sessionTimeouts are the limits by which decideSessionAlarm decides.
type sessionTimeouts struct {
	// idle is how long a runtime outlives its last activity, paused the same while executions are paused.
	idle, paused time.Duration
}

// sessionActivity is what a session's runtime has been doing.
type sessionActivity struct {
	// lastActive is when the last request or call began or ended.
	lastActive time.Time
	// inflight is how many requests and calls run.
	inflight int
	// paused is how many of its executions wait for an approval.
	paused int
}

// sessionDecision is what a session's alarm does: dispose of the runtime for a reason, or ring again.
type sessionDecision struct {
	dispose bool
	reason  string
	again   time.Time
}

// decideSessionAlarm says what a session's alarm that rings at now does. What is in flight keeps the runtime alive
// without a limit of its own: requests have theirs. Paused executions extend its life to the paused timeout, never
// shorten it.
func decideSessionAlarm(a sessionActivity, t sessionTimeouts, now time.Time) sessionDecision {
	limit, reason := t.idle, disposeIdle
	if a.paused > 0 && t.paused > t.idle {
		limit, reason = t.paused, disposePaused
	}
	switch due := a.lastActive.Add(limit); {
	case a.inflight > 0:
		return sessionDecision{again: now.Add(t.idle)}
	case due.After(now):
		return sessionDecision{again: due}
	}
	return sessionDecision{dispose: true, reason: reason}
}
