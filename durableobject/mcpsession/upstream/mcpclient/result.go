package mcpclient

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// value makes JSON of a tool's result, or an *upstream.Error; the package's comment says how.
func value(tool string, r *mcp.CallToolResult) (json.RawMessage, error) {
	if r.NeedsInput() {
		return nil, upstream.Errorf(upstream.CodeFailed,
			"%s asks for input (sampling, elicitation or roots), which cannot be given here", clip(tool, maxNameBytes))
	}
	if r.IsError {
		return nil, resultError(tool, r)
	}
	data, err := plain(r)
	if err != nil {
		return nil, upstream.Errorf(upstream.CodeFailed, "the result of %s cannot be read", clip(tool, maxNameBytes))
	}
	if len(data) > upstream.MaxResultBytes {
		return nil, upstream.Errorf(upstream.CodeTooLarge, "the result of %s is larger than %d bytes",
			clip(tool, maxNameBytes), upstream.MaxResultBytes)
	}
	return data, nil
}

func plain(r *mcp.CallToolResult) (json.RawMessage, error) {
	if r.StructuredContent != nil {
		return encode(r.StructuredContent)
	}
	if len(r.Content) == 0 {
		return json.RawMessage("null"), nil
	}
	text, ok := text(r.Content)
	if !ok {
		return encode(map[string]any{"content": r.Content})
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if json.Valid([]byte(trimmed)) {
			return json.RawMessage(trimmed), nil
		}
	}
	return encode(text)
}

// text joins blocks of text; ok says that there are no others.
func text(blocks []mcp.Content) (joined string, ok bool) {
	texts := make([]string, len(blocks))
	for i, block := range blocks {
		t, ok := block.(*mcp.TextContent)
		if !ok {
			return "", false
		}
		texts[i] = t.Text
	}
	return strings.Join(texts, "\n"), true
}

// encode encodes without escaping what only HTML needs escaped.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// resultError is a failure that the tool itself reports. Blocks that are not text are left out of it.
func resultError(tool string, r *mcp.CallToolResult) *upstream.Error {
	var texts []string
	for _, block := range r.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	message := strings.TrimSpace(strings.Join(texts, "\n"))
	if message == "" {
		message = clip(tool, maxNameBytes) + " failed and did not say why"
	}
	e := upstream.Errorf(upstream.CodeFailed, "%s", clip(message, maxMessageBytes))
	if r.StructuredContent != nil {
		if data, err := encode(r.StructuredContent); err == nil && len(data) <= maxDetailsBytes {
			e.Details = data
		}
	}
	return e
}
