package mcpsession

import "time"

const (
	// journalKey is where an execution's journal is stored.
	journalKey = "execution"
	// maxStoredBytes is the largest outcome that is kept for replay. A larger one is delivered to whoever waits for it.
	maxStoredBytes = 1 << 20
	// replayWindow is how long the outcome of an execution that had paused is kept for resent resumes.
	replayWindow = 10 * time.Minute
	// retention is how long it is known that an execution has settled or expired.
	retention = 24 * time.Hour
)

// The phases of an execution.
//
//	         pause          approval          end
//	(none) ────────► paused ─────────► running ───► settled
//	                  │  ▲      pause   │ │
//	                  │  └──────────────┘ │
//	                  └───────────────────┴─► expired: no approval in time, nobody has come back for the outcome, or
//	                                          the program is gone and can't be run again
const (
	phasePaused  = "paused"
	phaseRunning = "running"
	phaseSettled = "settled"
	phaseExpired = "expired"
)

// journal is what an execution keeps from its first pause on, beside the program and its history.
type journal struct {
	// Phase is one of the phases.
	Phase string `json:"phase"`
	// AccountID and OrganizationID own the execution.
	AccountID      string `json:"accountId"`
	OrganizationID string `json:"organizationId"`
	// Pauses is how many pauses there were: the number of the last one.
	Pauses uint64 `json:"pauses"`
	// Pause is the last pause.
	Pause *pause `json:"pause"`
	// Asker says who asks for approvals.
	Asker asker `json:"asker"`
	// Replayable is true while the program and its history are stored: it can be run again to where it is.
	Replayable bool `json:"replayable,omitempty"`
	// Used is the wall clock time that the program had taken at its last pause.
	Used time.Duration `json:"used,omitempty"`
	// Until is the deadline of the pause, and for how long, once it is answered, the program can be run again if it is
	// lost.
	Until time.Time `json:"until,omitzero"`
	// Incarnation is the start of the host in which it paused. After another one the session's runtime is gone, and with it
	// what would end the pause: it ends at Ceiling then, if that is set, as it would have without any use of the session.
	Incarnation uint64    `json:"incarnation,omitempty"`
	Ceiling     time.Time `json:"ceiling,omitzero"`
	// Outcome is how the program ended, while it is kept.
	Outcome *outcome `json:"outcome"`
	// EndedAt is when it settled or expired.
	EndedAt time.Time `json:"endedAt"`
}

// executionAlarm is what an execution's alarm does.
type executionAlarm int

const (
	alarmNothing executionAlarm = iota
	// alarmWait: ring again, at the time that is given along.
	alarmWait
	// alarmExpire: the approval window has passed.
	alarmExpire
	// alarmForget: drop the outcome, keep that it settled, ring again.
	alarmForget
	// alarmDelete: delete everything.
	alarmDelete
)

// runningCheck is how often it is looked whether a program that has paused still runs.
const runningCheck = time.Minute

// decideExecutionAlarm says what an execution's alarm that rings at now does. live is whether the program is in this
// process's hands.
func decideExecutionAlarm(j *journal, live bool, now time.Time) (executionAlarm, time.Time) {
	if j == nil {
		return alarmDelete, time.Time{}
	}
	switch j.Phase {
	case phasePaused:
		if j.Pause.Deadline.After(now) {
			return alarmWait, j.Pause.Deadline
		}
		return alarmExpire, time.Time{}
	case phaseRunning:
		switch {
		case j.Until.After(now):
			return alarmWait, j.Until
		case live:
			return alarmWait, now.Add(runningCheck)
		}
		return alarmExpire, time.Time{}
	case phaseSettled, phaseExpired:
		end := j.EndedAt.Add(retention)
		if !end.After(now) {
			return alarmDelete, time.Time{}
		}
		if forget := j.EndedAt.Add(replayWindow); j.Outcome != nil && forget.After(now) {
			return alarmWait, forget
		}
		return alarmForget, end
	}
	return alarmNothing, time.Time{}
}

// overdue reports whether the execution is paused and its approval window has passed, or in another incarnation of the
// host its ceiling: an answer counts no more then, whether or not the alarm has rung.
func (j *journal) overdue(now time.Time, incarnation uint64) bool {
	if j == nil || j.Phase != phasePaused {
		return false
	}
	end := j.Pause.Deadline
	if j.Incarnation != incarnation && !j.Ceiling.IsZero() && j.Ceiling.Before(end) {
		end = j.Ceiling
	}
	return !end.After(now)
}

// resumeVerdict is what a resume of one pause comes to.
type resumeVerdict int

const (
	// resumeUnknown: there never was such a pause.
	resumeUnknown resumeVerdict = iota
	// resumeForbidden: it is another's.
	resumeForbidden
	// resumeDecides: the pause is pending; this resume answers it.
	resumeDecides
	// resumeJoins: an earlier resume has answered it and waits for what comes of it.
	resumeJoins
	// resumeRestarts: an earlier resume has answered it, but the program was lost. It is to be run again.
	resumeRestarts
	// resumeReplaysPause: what came of it is the pause that is pending.
	resumeReplaysPause
	// resumeReplaysOutcome: what came of it is the outcome.
	resumeReplaysOutcome
	// resumeSettled: what came of it is not kept.
	resumeSettled
	// resumeExpired: the execution has expired.
	resumeExpired
	// resumeLost: the journal says that the program lives, but it is gone and can't be run again. The execution has expired.
	resumeLost
)

// decideResume says what a resume of pause number n by an account of an organization comes to. live is whether the
// program is in this process's hands.
func decideResume(j *journal, n uint64, account, organization string, live bool) resumeVerdict {
	switch {
	case j == nil || n == 0 || n > j.Pauses:
		return resumeUnknown
	case j.AccountID != account || j.OrganizationID != organization:
		return resumeForbidden
	case j.Phase == phaseExpired:
		return resumeExpired
	case j.Phase == phaseSettled && n == j.Pauses && j.Outcome != nil:
		return resumeReplaysOutcome
	case j.Phase == phaseSettled:
		return resumeSettled
	case !live && !j.Replayable:
		return resumeLost
	case n == j.Pauses && j.Phase == phasePaused:
		return resumeDecides
	case n == j.Pauses && live:
		return resumeJoins
	case n == j.Pauses:
		return resumeRestarts
	case n+1 == j.Pauses && j.Phase == phasePaused:
		return resumeReplaysPause
	}
	return resumeSettled
}
