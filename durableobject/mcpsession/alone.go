package mcpsession

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// This file has what only requests that stand alone have, of protocol version 2026-07-28. A call that pauses there may
// end with an input-required result: the client asks its user, and repeats the call with the answer and with the
// requestState that it was given, which is the id of the pause.

// approvalKey names the one input that a paused execution asks for.
const approvalKey = "approval"

// undeclared are the beginnings of the methods of features that the server does not have.
var undeclared = [...]string{"prompts/", "resources/", "completion/", "logging/"}

// onlyDeclared refuses the methods of features that the server does not declare. The SDK would answer some of them with
// empty lists, and a client would take the features to be there.
func onlyDeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		for _, feature := range undeclared {
			if strings.HasPrefix(method, feature) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + method}
			}
		}
		return next(ctx, method, req)
	}
}

// negotiate decides how a call that stands alone asks for approval: by an input-required result if its client can show
// forms, unless the model is to ask, or a page.
func (c *caller) negotiate(req *mcp.CallToolRequest) error {
	forms := showsForms(req.ClientCapabilities())
	if c.mode == props.ElicitationBrowser {
		if c.approvals == "" {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: noApprovalPage}
		}
		return nil
	}
	if c.mode != props.ElicitationNative {
		c.asks = forms && c.mode == ""
		return nil
	}
	if !forms {
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}},
		}})
		return errors.Join(err, &jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Data: data,
			Message: "elicitation_mode=native needs a client with the elicitation capability for forms",
		})
	}
	c.asks = true
	return nil
}

// inputRequired is the result of a call that has paused, for a client that asks its user.
func inputRequired(p *pause) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{approvalKey: approvalForm(p)}, RequestState: p.ID,
	}
}

// repeated goes on with a call that had an input-required result. Without the user's answer the input is asked for
// again. The state is no secret and not trusted: whose execution it is says the execution.
func (c *caller) repeated(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id, err := parseExecutionID(req.Params.RequestState)
	if err != nil || id.Pause() == 0 {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState was not given by this server"}
	}
	var action string
	var content []byte
	if answer, ok := req.Params.InputResponses[approvalKey].(*mcp.ElicitResult); ok {
		action, content = answer.Action, contentOf(answer)
		if !isAction(action) {
			return nil, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: "the action of an input response must be accept, decline or cancel",
			}
		}
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanExecuteResume)
	span.SetString(telemetry.AttrResumeAction, action)
	span.SetString(telemetry.AttrExecutionID, id.String())
	r, err := c.resume(ctx, id, action, content)
	span.SetBool(telemetry.AttrResumeReplayed, r.Replayed)
	span.SetBool(telemetry.AttrResumeJoined, r.Joined)
	return c.finish(span, id.String(), r, err)
}
