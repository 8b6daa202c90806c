package actor

import (
	"context"
	"errors"

	"github.com/tandem-do/tandem/durableobject/alarm"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// Alarm runs the handler of an alarm that is due, and returns what became of it once that is on disk. The error is for
// the log and the span; it is ErrNotLive, with which the run belongs to a new actor, or a *sidecar.Error.
func (a *Actor) Alarm(ctx context.Context, due storage.DueAlarm) (alarm.Outcome, error) {
	stale, noHandler := false, false
	err := a.run(ctx, nil, func(t *turn) error {
		ok, err := a.storage.BeginAlarm(due)
		if err != nil || !ok {
			stale = err == nil
			return err
		}
		err = a.instance.Alarm(t, AlarmInfo{
			ScheduledTime: due.ScheduledTime, RetryCount: due.Retries, IsRetry: due.Retries > 0,
		})
		noHandler = errors.Is(err, ErrNoAlarmHandler)
		if end := a.storage.EndAlarm(err == nil); end != nil && err == nil {
			return end
		}
		return err
	})
	switch {
	case err == ErrNotLive: //nolint:errorlint // a class's error may wrap it
		return alarm.Internal, err
	case err == nil && stale:
		return alarm.Stale, nil
	case err == nil:
		return alarm.OK, nil
	case noHandler:
		return alarm.NoHandler, err
	}
	return a.failedAlarm(ctx, err), err
}

// textNoAlarmHandler is what SetAlarm says to a class that handles no alarms. Like workerd.
const textNoAlarmHandler = "Your Durable Object class must have an alarm() handler in order to call setAlarm()"

// handlesAlarms is the storage's question whether an alarm may be set, within a turn. The constructor's may: there is no
// instance yet that could be asked.
func (a *Actor) handlesAlarms() error {
	if h, ok := a.instance.(AlarmHandler); ok && !h.HandlesAlarms() {
		return &storage.Error{Class: "TypeError", Message: textNoAlarmHandler}
	}
	return nil
}

// alarmGivenUp reports whether the object was aborted with the word that its alarm is not to be run again.
func (a *Actor) alarmGivenUp() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.noRetry
}

// failedAlarm says whether a run that failed counts against the object's code. Like workerd: errors of the code,
// aborts and limits do; faults of the system do not.
func (a *Actor) failedAlarm(ctx context.Context, err error) alarm.Outcome {
	switch a.Reason() {
	case ReasonAborted:
		if a.alarmGivenUp() {
			return alarm.GivenUp
		}
	case ReasonOutputGate, ReasonOperator, ReasonUpdated:
		return alarm.Internal
	case ReasonShutdown:
		return alarm.Interrupted
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, alarm.ErrTimeout) {
		return alarm.Interrupted // the scheduler is closed
	}
	var e *sidecar.Error
	if errors.As(err, &e) && e.Reason == sidecar.ReasonOverloaded {
		return alarm.Internal // it never got its turn
	}
	return alarm.Failed
}
