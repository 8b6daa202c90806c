package mcpsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// Codes of the errors that a tool call resolves to.
const (
	codeNotFound          = "tool_not_found"
	codeBlocked           = "tool_blocked"
	codeInvalidArguments  = "invalid_tool_arguments"
	codeTooManyApprovals  = "too_many_approvals"
	codePolicyUnavailable = "policy_unavailable"
	codeOutcomeUnknown    = "outcome_unknown"
	codeFailed            = "tool_failed"
)

// toolError is a failure that the program sees as {ok:false,error}.
type toolError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Suggestions are paths of tools that may have been meant.
	Suggestions []string `json:"suggestions,omitempty"`
	// Details are what a source said about its error.
	Details json.RawMessage `json:"details,omitempty"`
}

// Error returns the message.
func (e *toolError) Error() string { return e.Message }

// thrownError is a failure that the call throws in the program.
type thrownError string

// Error returns the message.
func (e thrownError) Error() string { return string(e) }

// errUnanswered ends a call that waits for an approval which can't come in this run of the program.
var errUnanswered = errors.New("the program does not wait for this approval any more")

// serveCall answers one call of the program: with what it came to before, if the program is run again. ctx is for the
// call, asking for the approval that it may need.
func (r *run) serveCall(ctx, asking context.Context, e *entry, id uint64) {
	result, _, _ := r.history.state(e)
	if result == nil {
		r.load.serve(1)
		result = r.runCall(ctx, asking, e, id)
		r.load.serve(-1)
	}
	if result == nil {
		return
	}
	m := &sandboxpb.ToolResult{CallId: id, UnixMs: result.SettledMS}
	if result.Thrown {
		m.Outcome = &sandboxpb.ToolResult_Thrown{Thrown: string(result.Value)}
	} else {
		m.Outcome = &sandboxpb.ToolResult_ValueJson{ValueJson: result.Value}
	}
	// An error means that the sandbox is lost, which the receiver sees.
	_ = r.send(&sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_ToolResult{ToolResult: m}})
}

// runCall runs one call and keeps what it came to. It returns nil for a call that was cut off, of which that is not
// known.
func (r *run) runCall(ctx, asking context.Context, e *entry, id uint64) *resultRecord {
	ctx, span := telemetry.Start(ctx, telemetry.SpanToolExecute)
	span.SetString(telemetry.AttrMCPToolName, e.call.Path)
	data, err := r.call(ctx, asking, e, id)
	if err != nil && (ctx.Err() != nil || errors.Is(err, errUnanswered)) {
		span.SetString(telemetry.AttrOutcome, "canceled")
		span.End(nil)
		return nil
	}
	result := &resultRecord{SettledMS: r.e.state.Clock().Now().UnixMilli()}
	var thrown thrownError
	if errors.As(err, &thrown) {
		result.Value, result.Thrown = []byte(thrown), true
		span.SetString(telemetry.AttrOutcome, "thrown")
		span.End(err)
	} else {
		value, failure := r.encode(e.call.Path, data, err)
		result.Value = value
		span.SetString(telemetry.AttrOutcome, "ok")
		if failure != nil {
			span.SetString(telemetry.AttrOutcome, "error")
			span.SetString(telemetry.AttrErrorCode, failure.Code)
		}
		span.End(err)
	}
	if r.history.settle(e, result) {
		// Nobody waits for this to be on disk: whatever the program does next is stored after it.
		_ = r.record(r.object, false) // an error means that the object is lost, and the program with it
	}
	return result
}

// encode returns what a call resolves to, and the failure in it, if any.
func (r *run) encode(path string, data any, err error) ([]byte, *toolError) {
	var failure *toolError
	if err != nil && !errors.As(err, &failure) {
		r.e.env.Log.Error("tool call failed", "tool", path, "object_id", r.e.state.ID().String(), "err", err)
		failure = &toolError{Code: codeFailed, Message: "the tool failed"}
	}
	value, err := encodeToolResult(data, failure)
	if err != nil {
		r.e.env.Log.Error("tool result is no JSON", "tool", path, "object_id", r.e.state.ID().String(), "err", err)
		failure = &toolError{Code: codeFailed, Message: "the tool's result is no JSON"}
		value, _ = encodeToolResult(nil, failure) // strings always marshal
	}
	return value, failure
}

// encodeToolResult returns what a call resolves to, as JSON.
func encodeToolResult(data any, failure *toolError) ([]byte, error) {
	if failure != nil {
		return json.Marshal(struct {
			OK    bool       `json:"ok"`
			Error *toolError `json:"error"`
		}{false, failure})
	}
	return json.Marshal(struct {
		OK   bool `json:"ok"`
		Data any  `json:"data"`
	}{true, data})
}

// call runs one tool: arguments first, then the policies, then the approval, then the tool itself.
func (r *run) call(ctx, asking context.Context, e *entry, id uint64) (any, error) {
	path, arguments := e.call.Path, e.call.Arguments
	_, answer, begun := r.history.state(e)
	if begun {
		return nil, outcomeUnknown(path)
	}
	t, err := r.find(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(arguments) > maxArgumentBytes {
		return nil, invalidArguments(path, fmt.Sprintf("more than %d bytes", maxArgumentBytes))
	}
	if err := t.check(arguments); err != nil {
		return nil, err
	}
	switch {
	case t.discovery:
	case answer != "":
		err = refusal(answer, path)
	default:
		err = r.permit(ctx, asking, t, e, id)
	}
	if err != nil {
		return nil, err
	}
	if err := r.begin(ctx, t, e); err != nil {
		return nil, err
	}
	return t.run(ctx, r, arguments)
}

// outcomeUnknown is what a call comes to that had begun when the host was lost. It is not made again, since it may have
// had its effect.
func outcomeUnknown(path string) error {
	return &toolError{Code: codeOutcomeUnknown, Message: fmt.Sprintf("the host was lost while %s ran, so it is not known "+
		"whether the call took effect, and it was not made again; look at what it changes before calling it again", path)}
}

// begin notes, before a call with effects is made, that it is made. From the first pause on that is on disk first.
func (r *run) begin(ctx context.Context, t *tool, e *entry) error {
	if t.discovery || t.readOnly || !r.history.begin(e) {
		return nil
	}
	return r.record(ctx, true)
}

// record stores what is new in the history, and waits for it to be on disk if wanted. It fails when the program is not
// in this run's hands any more.
func (r *run) record(ctx context.Context, wait bool) error {
	return r.e.state.Enter(ctx, func(ctx context.Context) error {
		if r.e.run != r {
			return errUnanswered
		}
		if err := r.e.record(ctx, r.history); err != nil || !wait {
			return err
		}
		return r.e.state.Storage().Sync(ctx)
	})
}

// permit asks the organization's policies, as they are at this moment, and a person where these say so.
func (r *run) permit(ctx, asking context.Context, t *tool, e *entry, id uint64) error {
	d, err := callPolicies[props.PolicyDecision](ctx, r, props.MethodPoliciesDecide,
		props.PolicyDecide{AccountID: r.owner.AccountID, Tool: t.Path})
	if err != nil {
		r.e.env.Log.Warn("policies not available", "object_id", r.e.state.ID().String(), "err", err)
		return &toolError{
			Code: codePolicyUnavailable, Message: "the policies could not be read, so the tool was not called",
		}
	}
	switch d.Action {
	case "", props.ActionApprove:
		return nil
	case props.ActionRequireApproval:
		p := pause{Call: id, Tool: t.Path, Arguments: e.call.Arguments}
		if d.Policy != nil {
			p.PolicyID, p.Pattern, p.Owner = d.Policy.ID, d.Policy.Pattern, d.Policy.Owner
		}
		return r.approve(asking, p)
	}
	return &toolError{Code: codeBlocked, Message: fmt.Sprintf("a policy blocks %s", t.Path)}
}

// callPolicies runs a method of the organization's policies object, from outside a turn.
func callPolicies[R any](ctx context.Context, r *run, method string, arg any) (R, error) {
	stub := r.e.state.Namespace(props.NamespacePolicies).GetByName(r.owner.OrganizationID)
	return durableobject.Call[R](ctx, stub.WithProps(r.owner.Encode()), method, arg)
}
