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

// serveCall answers one call of the program.
func (r *run) serveCall(ctx context.Context, call *sandboxpb.ToolCall) error {
	ctx, span := telemetry.Start(ctx, telemetry.SpanToolExecute)
	span.SetString(telemetry.AttrMCPToolName, call.Path)
	data, err := r.call(ctx, call.Path, call.ArgumentsJson)
	result := &sandboxpb.ToolResult{CallId: call.CallId}
	var thrown thrownError
	var failure *toolError
	switch {
	case err == nil:
		span.SetString(telemetry.AttrOutcome, "ok")
	case errors.As(err, &thrown):
		span.SetString(telemetry.AttrOutcome, "thrown")
		result.Outcome = &sandboxpb.ToolResult_Thrown{Thrown: thrown.Error()}
	case errors.As(err, &failure):
		span.SetString(telemetry.AttrOutcome, "error")
		span.SetString(telemetry.AttrErrorCode, failure.Code)
	default:
		r.e.env.Log.Error("tool call failed", "tool", call.Path, "object_id", r.e.state.ID().String(), "err", err)
		failure = &toolError{Code: codeFailed, Message: "the tool failed"}
		span.SetString(telemetry.AttrOutcome, "error")
		span.SetString(telemetry.AttrErrorCode, codeFailed)
	}
	span.End(err)
	if thrown == "" {
		value, err := encodeToolResult(data, failure)
		if err != nil {
			return err
		}
		result.Outcome = &sandboxpb.ToolResult_ValueJson{ValueJson: value}
	}
	return r.send(&sandboxpb.ExecuteRequest{Message: &sandboxpb.ExecuteRequest_ToolResult{ToolResult: result}})
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
func (r *run) call(ctx context.Context, path string, arguments []byte) (any, error) {
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
	if !t.discovery {
		if err := r.permit(ctx, t, arguments); err != nil {
			return nil, err
		}
	}
	return t.run(ctx, r, arguments)
}

// permit asks the organization's policies, as they are at this moment, and a person where these say so.
func (r *run) permit(ctx context.Context, t *tool, arguments []byte) error {
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
		return r.approve(ctx, t, arguments, d.Policy)
	}
	return &toolError{Code: codeBlocked, Message: fmt.Sprintf("a policy blocks %s", t.Path)}
}

// approve pauses the program until a person has answered. One call asks at a time; the others wait for their turn.
func (r *run) approve(ctx context.Context, t *tool, arguments []byte, policy *props.Policy) error {
	select {
	case r.approvals <- struct{}{}:
		defer func() { <-r.approvals }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p := pause{Tool: t.Path, Arguments: arguments}
	if policy != nil {
		p.PolicyID, p.Pattern, p.Owner = policy.ID, policy.Pattern, policy.Owner
	}
	if err := r.setClock(true); err != nil {
		return err
	}
	var decided <-chan decision
	err := r.e.state.Enter(ctx, func(ctx context.Context) (err error) {
		decided, err = r.e.pauseAt(ctx, r, p)
		return err
	})
	if errors.Is(err, errTooManyPauses) {
		return errors.Join(r.setClock(false), &toolError{Code: codeTooManyApprovals, Message: err.Error()})
	}
	if err != nil {
		return err
	}
	select {
	case d := <-decided:
		return errors.Join(r.setClock(false), refusal(d, t.Path))
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.e.env.Draining:
		return r.expireUnanswered(ctx, decided, t.Path)
	}
}

// expireUnanswered ends a pause that the host's drain cuts short: whoever answers from now on will find another host,
// and not this program. What was decided already counts. It never lets the call run without an approval.
func (r *run) expireUnanswered(ctx context.Context, decided <-chan decision, tool string) error {
	if err := r.e.state.Enter(ctx, r.e.expireRun); err != nil {
		return err
	}
	select {
	case d := <-decided:
		return errors.Join(r.setClock(false), refusal(d, tool))
	default:
		return errExpired
	}
}

// refusal returns what a call throws for an answer that is no approval.
func refusal(d decision, tool string) error {
	switch d.action {
	case actionAccept:
		return nil
	case actionDecline:
		return thrownError(fmt.Sprintf("the call of %s was declined", tool))
	}
	return thrownError(fmt.Sprintf("the call of %s was cancelled", tool))
}

// callPolicies runs a method of the organization's policies object, from outside a turn.
func callPolicies[R any](ctx context.Context, r *run, method string, arg any) (R, error) {
	stub := r.e.state.Namespace(props.NamespacePolicies).GetByName(r.owner.OrganizationID)
	return durableobject.Call[R](ctx, stub.WithProps(r.owner.Encode()), method, arg)
}
