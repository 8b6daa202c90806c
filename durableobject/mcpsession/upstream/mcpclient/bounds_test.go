package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// An answer that is too large ends its own call only, whether it comes as JSON, as an event, or as events without end.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", callLimit+1)
	for name, flood := range map[string]func(http.ResponseWriter, *http.Request, json.RawMessage){
		"JSON": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"ignored":"%s"}}`, id, huge)
		},
		"event": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":\"%s\"}}\n\n", id, huge)
		},
		"events": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := 0; r.Context().Err() == nil; i++ {
				_, err := fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"+
					"{\"level\":\"info\",\"data\":\"%s\"}}\n\n", i, huge[:1<<20])
				if err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, over := make(chan struct{}), make(chan struct{})
			s := serve(t, nil, false)
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				id, method, body := peek(r)
				if !strings.Contains(body, `"flood"`) || method != "tools/call" {
					return false
				}
				flood(w, r, id)
				return true
			}
			s.add("wait", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				close(started)
				<-over
				return &mcp.CallToolResult{}, nil
			})
			c := dial(t, Options{URL: s.url})
			other := make(chan error, 1)
			go func() {
				_, err := c.Call(soon(t), "wait", nil)
				other <- err
			}()
			<-started
			_, err := c.Call(soon(t), "flood", nil)
			wantError(t, err, upstream.CodeTooLarge)
			close(over)
			if err := <-other; err != nil {
				t.Errorf("the call beside it: %v", err)
			}
		})
	}
}

// What a listing may hold is bounded.
func TestListBounds(t *testing.T) {
	t.Parallel()
	big := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", upstream.MaxSchemaBytes) + `"}`)
	s := serve(t, nil, false)
	s.mcp.AddTool(&mcp.Tool{
		Name: "a", Description: strings.Repeat("ä", upstream.MaxDescriptionBytes), InputSchema: big, OutputSchema: big,
	}, says(""))
	s.mcp.AddTool(&mcp.Tool{Name: "b", Title: "titled", InputSchema: json.RawMessage(anyObject)}, says(""))
	c := dial(t, Options{URL: s.url})
	tools, err := c.Tools(t.Context())
	if err != nil || len(tools) != 2 {
		t.Fatalf("got %d tools (%v)", len(tools), err)
	}
	a := tools[0]
	if len(a.Description) > upstream.MaxDescriptionBytes || !strings.HasSuffix(a.Description, "ä…") {
		t.Errorf("the description has %d bytes", len(a.Description))
	}
	if string(a.InputSchema) != anyObject || a.OutputSchema != nil {
		t.Errorf("got schemas of %d and %d bytes", len(a.InputSchema), len(a.OutputSchema))
	}
	if tools[1].Description != "titled" {
		t.Errorf("got %q, want the title", tools[1].Description)
	}

	pages := 0
	for name, tt := range map[string]struct {
		page func(id json.RawMessage, cursor string) string
		code string
	}{
		"too many tools": {func(id json.RawMessage, cursor string) string {
			var tools []string
			for i := range 500 {
				tools = append(tools, fmt.Sprintf(`{"name":"t%s%d","inputSchema":{"type":"object"}}`, cursor, i))
			}
			return page(id, tools, cursor+"x")
		}, upstream.CodeTooLarge},
		"pages without end": {func(id json.RawMessage, cursor string) string {
			pages++
			return page(id, nil, fmt.Sprint("c", pages))
		}, upstream.CodeTooLarge},
		"one page again": {func(id json.RawMessage, _ string) string { return page(id, nil, "c") }, upstream.CodeFailed},
		"bytes": {func(id json.RawMessage, cursor string) string {
			return page(id, []string{fmt.Sprintf(`{"name":"t%d","inputSchema":%s,"description":"%s"}`, len(cursor), big,
				strings.Repeat("x", 1<<20))}, cursor+"x")
		}, upstream.CodeTooLarge},
	} {
		s := serve(t, nil, false)
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			id, method, body := peek(r)
			if method != "tools/list" {
				return false
			}
			var req struct{ Params struct{ Cursor string } }
			_ = json.Unmarshal([]byte(body), &req)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, tt.page(id, req.Params.Cursor))
			return true
		}
		_, err := dial(t, Options{URL: s.url}).Tools(soon(t))
		if e := wantError(t, err, tt.code); name == "one page again" && !strings.Contains(e.Message, "again") {
			t.Errorf("%s: got %v", name, e)
		}
	}
}

func page(id json.RawMessage, tools []string, next string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"%s"}}`, id,
		strings.Join(tools, ","), next)
}

// A result becomes what a program would work with.
func TestValue(t *testing.T) {
	t.Parallel()
	text := func(s ...string) (blocks []mcp.Content) {
		for _, s := range s {
			blocks = append(blocks, &mcp.TextContent{Text: s})
		}
		return blocks
	}
	image := &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}
	for _, tt := range []struct {
		name   string
		result mcp.CallToolResult
		want   string
		code   string
	}{
		{"structured", mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}, Content: text(`{"b":2}`)}, `{"a":1}`, ""},
		{"structured array", mcp.CallToolResult{StructuredContent: []any{"<b>"}}, `["<b>"]`, ""},
		{"text", mcp.CallToolResult{Content: text("hello")}, `"hello"`, ""},
		{"texts", mcp.CallToolResult{Content: text("a", "b")}, `"a\nb"`, ""},
		{"object", mcp.CallToolResult{Content: text(" {\"a\": 1}\n")}, `{"a": 1}`, ""},
		{"array", mcp.CallToolResult{Content: text("[1,2]")}, `[1,2]`, ""},
		{"number", mcp.CallToolResult{Content: text("42")}, `"42"`, ""},
		{"no JSON", mcp.CallToolResult{Content: text("{a}")}, `"{a}"`, ""},
		{"empty", mcp.CallToolResult{}, `null`, ""},
		{"empty text", mcp.CallToolResult{Content: text("")}, `""`, ""},
		{
			"mixed", mcp.CallToolResult{Content: append(text("see"), image)},
			`{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"cG5n"}]}`, "",
		},
		{"error", mcp.CallToolResult{IsError: true, Content: text("no", "way")}, "no\nway", upstream.CodeFailed},
		{"error with image", mcp.CallToolResult{IsError: true, Content: append(text("no"), image)}, "no", upstream.CodeFailed},
		{"error without words", mcp.CallToolResult{IsError: true}, "tool failed and did not say why", upstream.CodeFailed},
		{
			"large", mcp.CallToolResult{Content: text(strings.Repeat("x", upstream.MaxResultBytes))},
			"the result of tool is larger than 1048576 bytes", upstream.CodeTooLarge,
		},
	} {
		got, err := value("tool", &tt.result)
		if tt.code != "" {
			if e := wantError(t, err, tt.code); e.Message != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, e.Message, tt.want)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s (%v), want %s", tt.name, got, err, tt.want)
		}
	}
	_, err := value("tool", &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"why": 1}})
	if e := wantError(t, err, upstream.CodeFailed); string(e.Details) != `{"why":1}` {
		t.Errorf("got details %s", e.Details)
	}
}

// clip cuts between characters.
func TestClip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcdef", 5, "ab…"}, {"aäöü", 6, "aä…"}, {"\xff", 9, "\uFFFD"}} {
		if got := clip(tt.in, tt.n); got != tt.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
