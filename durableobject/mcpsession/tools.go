package mcpsession

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// The actions of the resume tool.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// isAction reports whether a client's answer is one of the actions.
func isAction(s string) bool { return s == actionAccept || s == actionDecline || s == actionCancel }

// callTimeout bounds how long a tool of the server waits for its execution: longer than a program may take.
const callTimeout = wallClock + 2*watchdogSlack

const instructions = `Run JavaScript or TypeScript with the execute tool. ` +
	`Inside a program, tools.search({query}) finds callable tools and tools.describe.tool({path}) shows their schema.`

const executeDescription = `Run a JavaScript or TypeScript program and return what it returns.

The code is the body of an async function: use await and return at the top level. There is no network and no file ` +
	`system, and nothing is kept from one call to the next.
- tools.search({query, limit, offset}) finds tools, those of the organization's sources (tools.<source>.<tool>) too; ` +
	`tools.describe.tool({path}) gives a tool's JSON Schemas.
- await tools.<path>(args) calls a tool. It resolves to {ok: true, data} or {ok: false, error: {code, message}}.
- console.log lines come back as logs; emit(value) adds a value to the output, as an image, sound or a file if it is ` +
	`{type: "image" or "audio", data, mimeType} or {type: "file", name, mimeType, data or text}; data is base64.
- Limits: 5 minutes, 30 seconds of processor time, 128 MiB of memory.

If a tool needs approval the result says "Execution paused" with an executionId: `

const (
	pausedByModel  = `ask the user, then call the resume tool with it.`
	pausedByClient = `the client asks the user, and the program goes on by itself.`
	pausedByPage   = `give the user its approvalUrl, then call the resume tool, which waits for their answer.`
)

const resumeDescription = `Answer an execution that is paused for approval, after asking the user, and return what ` +
	`the program comes to next: its result, or the next pause. Sending the same answer again is safe.`

const awaitDescription = `Wait for the user's answer to an execution that is paused for approval, and return what the ` +
	`program comes to next: its result, or the next pause. The user answers on the page at approvalUrl; nobody else can ` +
	`approve. If the answer has not come after a while the result says so: call again. Sending the same call again is safe.`

type executeInput struct {
	Code string `json:"code"`
}

type resumeInput struct {
	ExecutionID string `json:"executionId"`
	Action      string `json:"action"`
	Content     string `json:"content"`
}

// newServer returns the MCP server for one elicitation mode. All sessions of that mode share it.
func (env *environment) newServer(mode string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "executor", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	paused := pausedByModel
	switch mode {
	case props.ElicitationNative:
		paused = pausedByClient
	case props.ElicitationBrowser:
		paused = pausedByPage
	}
	addTool(env, server, &mcp.Tool{
		Name: "execute", Title: "Run a program", Description: executeDescription + paused,
		InputSchema: object(map[string]*jsonschema.Schema{"code": {
			Type: "string", MinLength: jsonschema.Ptr(1),
			Description: "The program: the body of an async function.",
		}}, "code"),
	}, executeTool)
	switch mode {
	case props.ElicitationNative:
		return server
	case props.ElicitationBrowser:
		addTool(env, server, awaitTool(), resumeTool)
		return server
	}
	addTool(env, server, &mcp.Tool{
		Name: "resume", Title: "Answer a paused execution", Description: resumeDescription,
		InputSchema: object(map[string]*jsonschema.Schema{
			"executionId": {Type: "string", Description: "The executionId of the pause."},
			"action": {
				Type: "string", Enum: []any{actionAccept, actionDecline, actionCancel},
				Description: "accept lets the call run; decline and cancel make it throw in the program.",
			},
			"content": {
				Type: "string", Default: json.RawMessage(`"{}"`),
				Description: "What the user filled in, as a JSON object, if a form was asked for.",
			},
		}, "executionId", "action"),
	}, resumeTool)
	return server
}

// awaitTool is the resume tool where a page approves.
func awaitTool() *mcp.Tool {
	return &mcp.Tool{
		Name: "resume", Title: "Wait for an approval", Description: awaitDescription,
		InputSchema: object(map[string]*jsonschema.Schema{
			"executionId": {Type: "string", Description: "The executionId of the pause."},
			"action": {
				Type: "string", Enum: []any{actionDecline, actionCancel},
				Description: "Leave it out to wait. decline and cancel withdraw the call: it throws in the program.",
			},
		}, "executionId"),
	}
}

// serverTool is what a tool of the server does for a caller.
type serverTool[In any] func(context.Context, *caller, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)

// addTool adds a tool whose InputSchema is a *jsonschema.Schema. The schema is written out once: the SDK would do it
// for every tools/list.
func addTool[In any](env *environment, server *mcp.Server, t *mcp.Tool, run serverTool[In]) {
	schema, ok := t.InputSchema.(*jsonschema.Schema)
	if !ok {
		panic("mcpsession: tool " + t.Name + " has no schema") // tools are literals of this package
	}
	arguments := &tool{Path: t.Name, InputSchema: schema}
	arguments.resolve()
	text, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("mcpsession: schema of %s: %v", t.Name, err))
	}
	t.InputSchema = json.RawMessage(text)
	server.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw := argumentsOrEmpty(req.Params.Arguments)
		if err := arguments.check(raw); err != nil {
			return renderOutcome(failed(err.Error())), nil
		}
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return renderOutcome(failed(err.Error())), nil
		}
		return guard(ctx, env, req, func(ctx context.Context, c *caller) (*mcp.CallToolResult, error) {
			return run(ctx, c, req, in)
		})
	})
}

// guard runs a tool of the server for the caller in ctx, within the time and the life of its session. A panic is an
// error of this one call: the SDK runs handlers on goroutines of its own, where a panic would end the host.
func guard(
	ctx context.Context, env *environment, req *mcp.CallToolRequest,
	run func(context.Context, *caller) (*mcp.CallToolResult, error),
) (result *mcp.CallToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			env.Log.Error("tool handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result, err = nil, errors.New("internal error")
		}
	}()
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, errors.New("internal error")
	}
	ctx, cancel := c.state.Clock().WithTimeout(ctx, callTimeout, nil)
	defer cancel()
	if c.rt != nil {
		defer context.AfterFunc(c.rt.ctx, cancel)()
		c.rt.begin()
		defer c.rt.end()
	}
	if req.Extra != nil {
		ctx = telemetry.ExtractHTTP(ctx, req.Extra.Header)
	}
	if c.rt == nil {
		if err := c.negotiate(req); err != nil {
			return nil, err
		}
		if req.Params.RequestState != "" {
			return c.repeated(ctx, req)
		}
	}
	return run(ctx, c)
}

func executeTool(
	ctx context.Context, c *caller, req *mcp.CallToolRequest, in executeInput,
) (*mcp.CallToolResult, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanExecute)
	id := newExecutionID()
	span.SetString(telemetry.AttrExecutionID, id.String())
	if len(in.Code) > maxCodeBytes {
		err := fmt.Errorf("code is longer than %d bytes", maxCodeBytes)
		span.End(err)
		return renderOutcome(failed(err.Error())), nil
	}
	start := executeRequest{ID: id.String(), Code: in.Code, Asker: asker{Client: clientName(req), Session: c.rt != nil}}
	if c.mode == props.ElicitationBrowser {
		start.Asker.Approvals = c.approvals
	}
	refusal, admitted := c.admit(ctx, span, id)
	if refusal != "" {
		span.SetString(telemetry.AttrOutcome, outcomeLimited)
		span.End(errors.New(refusal))
		return renderOutcome(failed(refusal)), nil
	}
	start.Admitted = admitted
	r, err := durableobject.Call[reply](ctx, c.execution(id), methodExecute, start)
	if err != nil && admitted {
		c.leave(ctx, id)
	}
	if err == nil && r.Status == statusWaiting && c.rt != nil && c.mode == props.ElicitationNative {
		r, err = c.elicit(ctx, req.Session, r)
	}
	return c.finish(span, id.String(), r, err)
}

func resumeTool(
	ctx context.Context, c *caller, _ *mcp.CallToolRequest, in resumeInput,
) (*mcp.CallToolResult, error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanExecuteResume)
	span.SetString(telemetry.AttrResumeAction, in.Action)
	span.SetString(telemetry.AttrExecutionID, shorten(in.ExecutionID))
	id, err := parseExecutionID(in.ExecutionID)
	if err != nil {
		return c.finish(span, in.ExecutionID, reply{Status: statusNotFound}, nil)
	}
	r, err := c.resume(ctx, id, in.Action, parseContent(in.Content))
	span.SetBool(telemetry.AttrResumeReplayed, r.Replayed)
	span.SetBool(telemetry.AttrResumeJoined, r.Joined)
	return c.finish(span, in.ExecutionID, r, err)
}

// parseContent returns the JSON object that a client sent as content; nil for {}, for anything that is not an object,
// and for what is not JSON.
func parseContent(content string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &fields) != nil || len(fields) == 0 {
		return nil
	}
	return []byte(content)
}

// execution returns the stub of an execution's object.
func (c *caller) execution(id executionID) *durableobject.Stub {
	return c.state.Namespace(props.NamespaceExecution).GetByName(id.Base()).WithProps(c.owner.Encode())
}

func (c *caller) resume(ctx context.Context, id executionID, action string, content []byte) (reply, error) {
	var r reply
	var err error
	if c.mode == props.ElicitationBrowser && action == "" {
		r, err = durableobject.Call[reply](ctx, c.execution(id), methodAwait, awaitRequest{ID: id.String()})
	} else {
		r, err = durableobject.Call[reply](ctx, c.execution(id), methodResume,
			resumeRequest{ID: id.String(), Action: action, Content: content})
	}
	if err == nil && c.rt != nil && r.Status != statusForbidden && r.Status != statusNotFound {
		c.rt.noteAnswered(id)
	}
	return r, err
}

// expire ends a paused execution, if it still is paused.
func (c *caller) expire(ctx context.Context, id executionID) error {
	_, err := durableobject.Call[bool](ctx, c.execution(id), methodExpire, expireRequest{ID: id.String()})
	return err
}

// afterLoss tells what to do when the host was lost while a call ran. A pause can be answered again: if it was answered
// already, that answer counts, and no call is made twice.
func afterLoss(id string) string {
	if parsed, err := parseExecutionID(id); err == nil && parsed.Pause() > 0 {
		return "wait a moment and call the resume tool again, with the same executionId"
	}
	return "run the execute tool again"
}

// finish ends the span of a call and returns its result. A failure of the execution's object is a result too: the model
// can do something about it.
func (c *caller) finish(span telemetry.Span, id string, r reply, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		span.SetString(telemetry.AttrOutcome, "failed")
		span.End(err)
		var failure *durableobject.Error
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return renderOutcome(failed("the execution took too long")), nil
		case errors.As(err, &failure) && failure.Reason == sidecar.ReasonOverloaded:
			return renderOutcome(failed("the host is overloaded; wait a moment and try again")), nil
		case errors.As(err, &failure) && failure.Reason != sidecar.ReasonException:
			return renderOutcome(failed("the execution's host is restarting; " + afterLoss(id))), nil
		}
		c.env.Log.Error("execution failed", "object_id", c.state.ID().String(), "err", err)
		return renderOutcome(failed("internal error")), nil
	}
	if r.Status == statusWaiting && c.rt != nil {
		c.rt.notePaused(r.Pause)
	}
	span.SetString(telemetry.AttrOutcome, r.Status)
	span.End(nil)
	if r.Status == statusWaiting && c.asks && r.Pause.ApprovalURL == "" {
		return inputRequired(r.Pause), nil
	}
	return render(id, r, c.state.Clock().Now()), nil
}
