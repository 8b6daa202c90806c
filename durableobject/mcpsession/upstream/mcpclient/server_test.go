package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// server is a real MCP server behind a handler that can misbehave.
type server struct {
	url string
	mcp *mcp.Server

	handler http.Handler
	// before sees each request first; it answers it if it returns true. Set before the first request.
	before func(w http.ResponseWriter, r *http.Request) bool
}

// serve starts a server. modern makes one of the revision 2026-07-28, without sessions.
func serve(t testing.TB, o *mcp.ServerOptions, modern bool) *server {
	t.Helper()
	s := &server{mcp: mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, o)}
	s.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{Stateless: modern})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.before == nil || !s.before(w, r) {
			s.handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		for ss := range s.mcp.Sessions() {
			_ = ss.Close()
		}
	})
	s.url = web.URL + "/mcp"
	return s
}

// add adds a tool that takes any object.
func (s *server) add(name string, h mcp.ToolHandler) {
	s.mcp.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(anyObject)}, h)
}

// says is a tool that answers with text.
func says(text string) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
}

// dial connects to a server for the time of the test.
func dial(t *testing.T, o Options) upstream.Source {
	t.Helper()
	if o.HTTP == nil {
		o.HTTP = ownHTTP(t)
	}
	c, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ownHTTP is an HTTP client whose connections end with the test.
func ownHTTP(t *testing.T) *http.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// wantError fails the test unless err is an *upstream.Error with the code, and returns it.
func wantError(t *testing.T, err error, code string) *upstream.Error {
	t.Helper()
	e, ok := err.(*upstream.Error) //nolint:errorlint // sources return no other type
	if !ok || e == nil || e.Code != code {
		t.Fatalf("got error %v (%T), want code %s", err, err, code)
	}
	return e
}

// soon bounds a wait of a test.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
