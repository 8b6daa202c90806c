package alarm

import "time"

// Outcome is how a run of an alarm ended.
type Outcome int

// The outcomes.
const (
	// Internal is a failure that is not the handler's: it is retried without end. It is the zero value, so that a
	// forgotten outcome loses nothing.
	Internal Outcome = iota
	// OK means that the handler returned without an error and that the commit after EndAlarm is done.
	OK
	// Failed means that the handler threw, aborted its object or exceeded a limit: a counted retry follows.
	Failed
	// Stale means that BeginAlarm reported false.
	Stale
	// NoHandler means that the class has no alarm handler: the alarm is dropped. Like workerd: scriptNotFound.
	NoHandler
	// GivenUp means that the handler failed and said that it must not be run again: the alarm is deleted.
	GivenUp
	// Interrupted means that the host is draining: the alarm stays as it is, for the next start.
	Interrupted
)

var outcomeNames = [...]string{"internal", "ok", "failed", "stale", "no handler", "given up", "interrupted"}

// String returns the outcome's name.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

// Like workerd: server/alarm-scheduler.
const (
	// RetryStart is the delay before the first retry; each further one is twice as long.
	RetryStart = 2 * time.Second
	// MaxExponent is the number of times that the delay doubles.
	MaxExponent = 9
	// MaxJitter is the greatest part of the delay that is added at random.
	MaxJitter = 0.25
	// CountedLimit is how many counted retries follow before the alarm is dropped.
	CountedLimit = 6
)

// Decision is what follows a run that failed.
type Decision struct {
	// Drop says that the alarm is deleted; the other fields mean nothing then.
	Drop bool
	// Delay is how long after the failure the next run is due.
	Delay time.Duration
	// Retries and Counted are the counts of the next run.
	Retries, Counted int
}

// Retry decides what follows a run that ended with Failed or Internal. retries and counted are those of the run;
// jitter is a random number in [0, 1).
func Retry(outcome Outcome, retries, counted int, jitter float64) Decision {
	if outcome == Failed {
		if counted >= CountedLimit {
			return Decision{Drop: true}
		}
		counted++
	}
	delay := RetryStart << min(retries, MaxExponent)
	delay += time.Duration(jitter * MaxJitter * float64(delay))
	return Decision{Delay: delay, Retries: retries + 1, Counted: counted}
}
