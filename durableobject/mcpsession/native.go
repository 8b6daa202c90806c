package mcpsession

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// elicit has the client's user answer every pause of an execution, until the program ends. A client that can't be asked
// cancels the call.
func (c *caller) elicit(ctx context.Context, session *mcp.ServerSession, r reply) (reply, error) {
	for r.Status == statusWaiting {
		id, err := parseExecutionID(r.Pause.ID)
		if err != nil {
			return reply{}, err
		}
		if c.rt != nil {
			c.rt.notePaused(r.Pause)
		}
		action, content := c.ask(ctx, session, r.Pause)
		if r, err = c.resume(ctx, id, action, content); err != nil {
			return reply{}, err
		}
	}
	return r, nil
}

// ask shows one pause to the client's user, for as long as it may be answered, and returns the answer.
func (c *caller) ask(ctx context.Context, session *mcp.ServerSession, p *pause) (action string, content []byte) {
	ctx, cancel := c.state.Clock().WithTimeout(ctx, c.state.Clock().Until(p.Deadline), nil)
	defer cancel()
	answer, err := session.Elicit(ctx, approvalForm(p))
	if err != nil {
		c.env.Log.Warn("elicitation failed", "object_id", c.state.ID().String(), "err", err)
		return actionCancel, nil
	}
	if !isAction(answer.Action) {
		return actionCancel, nil
	}
	return answer.Action, contentOf(answer)
}

// approvalForm asks a user whether a paused call may go on.
func approvalForm(p *pause) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: fmt.Sprintf("Allow this call?\n\n%s\n%s", p.Tool, valuePreview(argumentsOrEmpty(p.Arguments))),
		RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{},
		},
	}
}

// contentOf returns what a person filled in, as a JSON object; nil when there is none.
func contentOf(answer *mcp.ElicitResult) []byte {
	if len(answer.Content) == 0 {
		return nil
	}
	content, err := json.Marshal(answer.Content)
	if err != nil {
		return nil
	}
	return content
}
