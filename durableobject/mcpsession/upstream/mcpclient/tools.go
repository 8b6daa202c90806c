package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

const (
	// maxPages is how many pages a listing may have.
	maxPages = 200
	// maxNameBytes bounds the name of a tool; tools with longer ones are left out, and those with the name of another.
	maxNameBytes = 256
)

// anyObject is the schema of a tool whose own cannot be used: the server judges the arguments.
const anyObject = `{"type":"object"}`

// list asks for all pages of a session's tools.
func list(ctx context.Context, s *mcp.ClientSession) ([]upstream.Tool, error) {
	tools, seen := []upstream.Tool{}, map[string]bool{}
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := s.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if t.Name == "" || len(t.Name) > maxNameBytes || seen[t.Name] {
				continue
			}
			seen[t.Name] = true
			tools = append(tools, tool(t))
		}
		if len(tools) > upstream.MaxTools {
			return nil, upstream.Errorf(upstream.CodeTooLarge, "the source has more than %d tools", upstream.MaxTools)
		}
		if page.NextCursor == "" {
			return tools, nil
		}
		if page.NextCursor == params.Cursor {
			return nil, upstream.Errorf(upstream.CodeFailed, "the source lists the same page of tools again and again")
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, upstream.Errorf(upstream.CodeTooLarge, "the source lists its tools on more than %d pages", maxPages)
}

// tool is a tool as the catalogue has it. A schema that is too large is left to the server.
func tool(t *mcp.Tool) upstream.Tool {
	description := t.Description
	if description == "" {
		description = t.Title
	}
	result := upstream.Tool{
		Name:         t.Name,
		Description:  clip(description, upstream.MaxDescriptionBytes),
		InputSchema:  schema(t.InputSchema),
		OutputSchema: schema(t.OutputSchema),
	}
	if result.InputSchema == nil {
		result.InputSchema = json.RawMessage(anyObject)
	}
	return result
}

// schema returns the JSON of a schema, or nil if there is none that can be used.
func schema(from any) json.RawMessage {
	if from == nil {
		return nil
	}
	data, err := json.Marshal(from)
	if err != nil || len(data) > upstream.MaxSchemaBytes || !isObject(data) {
		return nil
	}
	return data
}

// isObject tells whether data is a JSON object.
func isObject(data json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) && json.Valid(data)
}

// clip cuts s to n bytes, between characters, and says so.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
