package mcpsession

import (
	"context"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// usageTimeout bounds how long an execution waits for its organization's usage object. It runs without, then.
const usageTimeout = time.Second

// outcomeLimited is the outcome of an execution that a limit has refused, on its span.
const outcomeLimited = "limited"

// limited reports whether executions have to ask before they begin.
func (env *environment) limited() bool { return env.Limits.Concurrent > 0 || env.Limits.PerHour > 0 }

// callUsage calls the usage object of an organization, from outside a turn, and waits a little.
func callUsage[R any](
	ctx context.Context, s *durableobject.State, owner props.Identity, method string, arg any,
) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	stub := s.Namespace(props.NamespaceUsage).GetByName(owner.OrganizationID)
	return durableobject.Call[R](ctx, stub.WithProps(owner.Encode()), method, arg)
}

// admit asks whether the organization may run one more program. It returns why not, and whether the execution has got a
// place. One whose usage object does not answer runs without: counting must not keep anybody from working.
func (c *caller) admit(ctx context.Context, span telemetry.Span, id executionID) (refusal string, admitted bool) {
	if !c.env.limited() {
		return "", false
	}
	v, err := callUsage[usageVerdict](ctx, c.state, c.owner, methodUsageBegin, usageBegin{ID: id.String()})
	if err != nil {
		span.SetString(telemetry.AttrUsage, "unavailable")
		c.env.Log.Warn("limits were not checked", "object_id", c.state.ID().String(), "err", err)
		return "", false
	}
	return v.Refusal, true
}

// leave frees the place of an execution that did not begin.
func (c *caller) leave(ctx context.Context, id executionID) {
	ctx = context.WithoutCancel(ctx)
	if _, err := callUsage[bool](ctx, c.state, c.owner, methodUsageEnd, usageEnd{ID: id.String()}); err != nil {
		c.env.Log.Warn("usage was not counted", "object_id", c.state.ID().String(), "err", err)
	}
}

// goOn takes a place again for a program that goes on after it gave its process back.
func (r *run) goOn(ctx context.Context) {
	if !r.restarted || !r.e.env.limited() {
		return
	}
	_, err := callUsage[usageVerdict](ctx, r.e.state, r.owner, methodUsageBegin, usageBegin{ID: r.id.String(), Again: true})
	if err != nil {
		r.e.env.Log.Warn("usage was not counted", "object_id", r.e.state.ID().String(), "err", err)
	}
}

// meter counts what a run of the program has used, once nobody waits for it any more. wall is the time that it ran.
func (r *run) meter(ctx context.Context, end ending, wall time.Duration) {
	in := usageEnd{
		ID: r.id.String(), Uncounted: !r.admitted && !r.restarted, CPUMS: r.cpu.Milliseconds(), WallMS: wall.Milliseconds(),
	}
	if !end.lost || !r.history.replayable() {
		in.Outcome = strings.ToLower(strings.TrimPrefix(end.how, "OUTCOME_"))
	}
	if _, err := callUsage[bool](ctx, r.e.state, r.owner, methodUsageEnd, in); err != nil {
		r.e.env.Log.Warn("usage was not counted", "object_id", r.e.state.ID().String(), "err", err)
	}
}
