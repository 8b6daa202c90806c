package mcpsession

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPreview is how many characters of a result, and of the logs, the text content shows. structuredContent has all.
const maxPreview = 30_000

// render returns the tool result of a reply. id is the execution as the client knows it.
func render(id string, r reply, now time.Time) *mcp.CallToolResult {
	switch r.Status {
	case statusCompleted, statusError:
		return renderOutcome(r.Outcome)
	case statusWaiting:
		return renderPause(id, r.Pause, now)
	}
	return renderRefusal(id, r.Status)
}

// renderOutcome says how a program ended.
func renderOutcome(o *outcome) *mcp.CallToolResult {
	var text string
	structured := map[string]any{"logs": append([]string{}, o.Logs...)}
	if o.Error != "" {
		text = "Error: " + preview(o.Error)
		structured["status"], structured["error"] = statusError, o.Error
	} else {
		text = resultText(o)
		structured["status"], structured["result"] = statusCompleted, resultJSON(o)
	}
	if len(o.Logs) > 0 {
		text += "\n\nLogs:\n" + preview(strings.Join(o.Logs, "\n"))
	}
	result := &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured, IsError: o.Error != "",
	}
	for _, e := range o.Emitted {
		result.Content = append(result.Content, emittedContent(e))
	}
	return result
}

// resultJSON returns the returned value, null for undefined.
func resultJSON(o *outcome) json.RawMessage {
	if len(o.Result) == 0 {
		return json.RawMessage("null")
	}
	return o.Result
}

// resultText returns the returned value as text, cut if it is too long: a string as it is, nothing as "(no result)", all
// else as JSON.
func resultText(o *outcome) string {
	if value := bytes.TrimSpace(o.Result); len(value) == 0 || string(value) == "null" {
		return "(no result)"
	}
	return valuePreview(o.Result)
}

// preview cuts a text that is too long and says so.
func preview(text string) string {
	if len(text) <= maxPreview {
		return text
	}
	total := utf8.RuneCountInString(text)
	if total <= maxPreview {
		return text
	}
	end := 0
	for range maxPreview {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
	}
	return cutNote(text[:end], total)
}

// renderPause says what the program waits for and how to answer. id is the execution that the client asked for: the
// pause itself where it was asked for already.
func renderPause(id string, p *pause, now time.Time) *mcp.CallToolResult {
	left := p.Deadline.Sub(now).Round(time.Second)
	var b strings.Builder
	if p.ApprovalURL != "" && id == p.ID {
		fmt.Fprintf(&b, "Execution paused: still waiting for the user to approve %s on the page.\n\n", p.Tool)
	} else {
		fmt.Fprintf(&b, "Execution paused: %s needs approval before it is called.\n\n", p.Tool)
	}
	if p.Pattern != "" {
		fmt.Fprintf(&b, "Policy: %s\n", p.Pattern)
	}
	fmt.Fprintf(&b, "Arguments: %s\n", valuePreview(argumentsOrEmpty(p.Arguments)))
	fmt.Fprintf(&b, "executionId: %s\n", p.ID)
	structured := map[string]any{
		"status": statusWaiting, "executionId": p.ID, "deadline": p.Deadline.Format(time.RFC3339Nano),
		"interaction": map[string]any{
			"kind": "approval", "tool": p.Tool, "arguments": json.RawMessage(argumentsOrEmpty(p.Arguments)),
			"policy": map[string]any{"id": p.PolicyID, "pattern": p.Pattern},
		},
	}
	if p.ApprovalURL != "" {
		structured["approvalUrl"] = p.ApprovalURL
		fmt.Fprintf(&b, "approvalUrl: %s\n\nGive the user this address: the page there shows the call and lets them approve "+
			"or decline it. Then call the resume tool with this executionId: it waits for their answer.\n", p.ApprovalURL)
	} else {
		b.WriteString("\nShow the user the call and its arguments and ask whether it may go on. Then call the resume tool " +
			"with this executionId and the action \"accept\", \"decline\" or \"cancel\". Do not accept without asking.\n")
	}
	fmt.Fprintf(&b, "The answer must come within %v, by %s.", left, p.Deadline.Format(time.RFC3339))
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: b.String()}}, StructuredContent: structured,
	}
}

// renderRefusal says why an execution can't be resumed.
func renderRefusal(id, status string) *mcp.CallToolResult {
	var text string
	switch status {
	case statusExpired:
		text = "has expired: it was not answered in time, or its program was lost. " +
			"To do the work, run the execute tool again."
	case statusForbidden:
		text = "belongs to another account or organization."
	case statusAlreadySettled:
		text = "has settled already and its outcome is not kept any longer. If needed, run the execute tool again."
	default:
		status = statusNotFound
		text = "does not exist. Check the executionId, or run the execute tool again."
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: "Error: execution " + shorten(id) + " " + text}},
		StructuredContent: map[string]any{"status": status, "executionId": id, "error": text},
		IsError:           true,
	}
}

// shorten returns what a client sent in a form that is fit for a message.
func shorten(s string) string {
	if len(s) > 64 || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
		return strconv.Quote(s[:min(len(s), 64)])
	}
	return s
}

// quoteJSON returns a string as JSON.
func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // strings always marshal
	}
	return string(b)
}
