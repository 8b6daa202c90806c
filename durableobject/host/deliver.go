package host

import (
	"context"
	"errors"
	"net/http"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/alarm"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// maxReplaced is how many actors an event may find broken or evicted before it gives up.
const maxReplaced = 16

var _ sidecar.Handler = (*Host)(nil)

// Fetch implements sidecar.Handler.
func (h *Host) Fetch(ctx context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	h.running.enter()
	defer h.running.leave()
	c, err := h.admit(t)
	if err != nil {
		return err
	}
	return h.fetch(ctx, c, t, w, r)
}

// Call implements sidecar.Handler.
func (h *Host) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	h.running.enter()
	defer h.running.leave()
	c, err := h.admit(t)
	if err != nil {
		return nil, err
	}
	return h.call(ctx, c, t, method, args)
}

// admit says whether a call from outside may go on, and which class it is for.
func (h *Host) admit(t sidecar.Target) (*class, error) {
	if h.draining.Load() {
		return nil, &sidecar.Error{
			Reason: sidecar.ReasonDraining, Message: "The Durable Object's host is draining.", Retryable: true,
		}
	}
	if own := h.epoch.Load(); t.Epoch != own || own == 0 {
		return nil, &sidecar.Error{
			Reason: sidecar.ReasonStaleEpoch, Message: "The Durable Object's host has another epoch.",
			Retryable: true, Epoch: own,
		}
	}
	return h.class(t.Namespace)
}

// class returns the class of a namespace.
func (h *Host) class(namespace string) (*class, error) {
	if c := h.classes.get(namespace); c != nil {
		return c, nil
	}
	return nil, &sidecar.Error{
		Reason: sidecar.ReasonNoSuchClass, Message: "No such Durable Object class: " + namespace + ".",
	}
}

// fetch delivers a request to an object of this host.
func (h *Host) fetch(ctx context.Context, c *class, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	ctx, span := telemetry.Start(ctx, telemetry.SpanObjectFetch)
	err := h.deliver(c, targetOf(c, t), func(a *actor.Actor) error { return a.Fetch(ctx, t.Props, w, r) })
	if span.Sampled() {
		span.SetString(telemetry.AttrHTTPMethod, r.Method)
		h.describe(span, c, t, err)
	}
	span.End(err)
	return err
}

// call delivers a method call to an object of this host.
func (h *Host) call(ctx context.Context, c *class, t sidecar.Target, method string, args []byte) ([]byte, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanObjectCall)
	var value []byte
	err := h.deliver(c, targetOf(c, t), func(a *actor.Actor) (err error) {
		value, err = a.Call(ctx, t.Props, method, args)
		return err
	})
	if span.Sampled() {
		span.SetString(telemetry.AttrRPCMethodName, method)
		h.describe(span, c, t, err)
	}
	span.End(err)
	return value, err
}

// deliverAlarm runs an alarm of an object of this host, bringing it to life if it sleeps.
func (h *Host) deliverAlarm(ctx context.Context, due storage.DueAlarm) alarm.Outcome {
	h.running.enter()
	defer h.running.leave()
	if h.draining.Load() {
		return alarm.Interrupted
	}
	c, err := h.class(due.Namespace)
	if err != nil {
		// The class may come back with the next start; until then the alarm stays and is tried again at long intervals.
		h.log.Warn("alarm of an unknown class", "namespace", due.Namespace, "object_id", due.ID.String())
		return alarm.Internal
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanObjectAlarm)
	var outcome alarm.Outcome
	err = h.deliver(c, target{id: due.ID, name: due.Name, hasName: due.HasName}, func(a *actor.Actor) (err error) {
		outcome, err = a.Alarm(ctx, due)
		return err
	})
	if err != nil && h.draining.Load() && outcome == alarm.Internal {
		outcome = alarm.Interrupted
	}
	if outcome == alarm.NoHandler {
		h.log.Warn("Attempted to run a scheduled alarm without a handler, did you remember to export an alarm() function?",
			"namespace", due.Namespace, "object_id", due.ID.String())
	}
	if span.Sampled() {
		h.describe(span, c, sidecar.Target{ID: due.ID}, err)
	}
	span.End(err)
	return outcome
}

// deliver hands an event to the object's actor. An actor that broke or was evicted just before is replaced.
func (h *Host) deliver(c *class, o target, event func(*actor.Actor) error) error {
	for range maxReplaced {
		a, err := h.table.actor(c, o)
		if err != nil {
			return err
		}
		if err = event(a); err != actor.ErrNotLive { //nolint:errorlint // a class's error may wrap it
			return err
		}
	}
	return &sidecar.Error{
		Reason: sidecar.ReasonBroken, Message: "The Durable Object is reset again and again.", Reset: true, Overloaded: true,
	}
}

// targetOf names the object of an event within its class. A namespace that only leads to the class has other IDs: there it
// is the name that counts.
func targetOf(c *class, t sidecar.Target) target {
	if t.HasName && t.Namespace != c.namespace {
		t.ID = c.ids.FromName(t.Name)
	}
	return target{id: t.ID, name: t.Name, hasName: t.HasName}
}

// describe puts on a span which object an event was for and how it ended.
func (h *Host) describe(span telemetry.Span, c *class, t sidecar.Target, err error) {
	span.SetString(telemetry.AttrNamespace, c.namespace)
	span.SetString(telemetry.AttrObjectID, t.ID.String())
	span.SetInt(telemetry.AttrEpoch, int64(h.epoch.Load()))
	span.SetString(telemetry.AttrOutcome, outcomeOf(err))
	var e *sidecar.Error
	if errors.As(err, &e) {
		span.SetString(telemetry.AttrReason, e.Reason.String())
	}
}

// outcomeOf returns workerd's word for how an event ended.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	var e *sidecar.Error
	if !errors.As(err, &e) {
		return "internalError"
	}
	switch e.Reason {
	case sidecar.ReasonCanceled, sidecar.ReasonDeadline:
		return "canceled"
	case sidecar.ReasonInternal:
		return "internalError"
	case sidecar.ReasonDisconnected:
		return "responseStreamDisconnected"
	}
	return "exception"
}
