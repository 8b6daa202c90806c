package admin

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/durableobject/alarm"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// What callers of an object get when an operator has ended its actor.
const (
	textAborted  = "The Durable Object was reset by an operator."
	textDeleted  = "The Durable Object was deleted by an operator."
	textImported = "The Durable Object's state was replaced by an operator."
)

// EvictObject implements dopb.AdminServiceServer.
func (s *Service) EvictObject(ctx context.Context, r *dopb.EvictObjectRequest) (*dopb.EvictObjectResponse, error) {
	if err := s.act(ctx); err != nil {
		return nil, err
	}
	o, err := objectOf(r.GetObject())
	if err != nil {
		return nil, err
	}
	wait, err := waitOf(r.GetWait())
	if err != nil {
		return nil, err
	}
	if err := s.host.Evict(ctx, o.namespace, o.id, wait); err != nil {
		return nil, outcome(err)
	}
	return &dopb.EvictObjectResponse{}, nil
}

// AbortObject implements dopb.AdminServiceServer.
func (s *Service) AbortObject(ctx context.Context, r *dopb.AbortObjectRequest) (*dopb.AbortObjectResponse, error) {
	if err := s.act(ctx); err != nil {
		return nil, err
	}
	o, err := objectOf(r.GetObject())
	if err != nil {
		return nil, err
	}
	message := r.GetMessage()
	if len(message) > maxMessageBytes {
		return nil, invalid("message", "it has %d bytes, want at most %d", len(message), maxMessageBytes)
	}
	if message == "" {
		message = textAborted
	}
	if err := s.host.Abort(o.namespace, o.id, message); err != nil {
		return nil, outcome(err)
	}
	return &dopb.AbortObjectResponse{}, nil
}

// DeleteObject implements dopb.AdminServiceServer.
func (s *Service) DeleteObject(ctx context.Context, r *dopb.DeleteObjectRequest) (*dopb.DeleteObjectResponse, error) {
	if err := s.act(ctx); err != nil {
		return nil, err
	}
	o, err := objectOf(r.GetObject())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, actTimeout)
	defer cancel()
	found := false
	live, err := s.host.Replace(o.namespace, o.id, textDeleted, func() error {
		if found, err = s.exists(ctx, o); err != nil || !found {
			return err
		}
		return s.store.Remove(ctx, o.namespace, o.id)
	})
	switch {
	case err != nil:
		return nil, outcome(err)
	case !found && !live:
		return nil, notFound(o)
	}
	return &dopb.DeleteObjectResponse{WasLive: live}, nil
}

// exists reports whether the object has durable state.
func (s *Service) exists(ctx context.Context, o object) (bool, error) {
	_, ok, err := s.store.Summary(ctx, o.namespace, o.id, 0)
	return ok, err
}

// RunAlarm implements dopb.AdminServiceServer.
func (s *Service) RunAlarm(ctx context.Context, r *dopb.RunAlarmRequest) (*dopb.RunAlarmResponse, error) {
	if err := s.act(ctx); err != nil {
		return nil, err
	}
	o, err := objectOf(r.GetObject())
	if err != nil {
		return nil, err
	}
	ctx, cancel := waiting(ctx)
	defer cancel()
	before, _, err := s.store.Summary(ctx, o.namespace, o.id, 0)
	switch {
	case err != nil:
		return nil, err
	case before.Alarm == nil:
		return nil, status.Errorf(codes.NotFound, "object %s of namespace %q has no alarm", o.id, o.namespace)
	case before.Alarm.ScheduledTime.After(s.store.Clock().Now()) && !r.GetEarly():
		return nil, status.Errorf(codes.FailedPrecondition,
			"early: the alarm is set for %s, which has not come, and early is not set",
			before.Alarm.ScheduledTime.UTC().Format(time.RFC3339))
	}
	ended, err := s.host.RunAlarm(ctx, o.namespace, o.id)
	out := &dopb.RunAlarmResponse{Outcome: outcomeOf(ended)}
	if errors.Is(err, ErrPending) {
		out.Outcome, err = dopb.AlarmOutcome_ALARM_OUTCOME_PENDING, nil
	}
	if err != nil {
		return nil, outcome(err)
	}
	rest, cancelRest := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancelRest()
	after, _, err := s.store.Summary(rest, o.namespace, o.id, 0)
	if err != nil {
		return nil, err
	}
	out.Alarm = alarmInfo(after.Alarm)
	return out, nil
}

// waiting returns a context that ends MaxWait from now, and a little before the caller's own deadline, so that a reply
// still arrives.
func waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := MaxWait
	if deadline, ok := ctx.Deadline(); ok {
		rest := time.Until(deadline)
		limit = min(limit, rest-rest/10)
	}
	return context.WithTimeout(ctx, limit)
}

func outcomeOf(o alarm.Outcome) dopb.AlarmOutcome {
	switch o {
	case alarm.OK:
		return dopb.AlarmOutcome_ALARM_OUTCOME_OK
	case alarm.Failed:
		return dopb.AlarmOutcome_ALARM_OUTCOME_FAILED
	case alarm.Stale:
		return dopb.AlarmOutcome_ALARM_OUTCOME_REPLACED
	case alarm.NoHandler:
		return dopb.AlarmOutcome_ALARM_OUTCOME_NO_HANDLER
	}
	return dopb.AlarmOutcome_ALARM_OUTCOME_INTERNAL
}
