package projects

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// The npm MCP client works with a server of the npm SDK that lives in an object.
func TestMCPClient(t *testing.T) {
	modules, err := filepath.Abs(modulesDir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tryStart(t, "mcp-sessions", nil, modules, harness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: p.MustReady(t).WorkerURL + "/mcp"})
	if len(client.SessionID) != 64 || client.ServerName != "sessions" {
		t.Errorf("session %q of server %q", client.SessionID, client.ServerName)
	}
	tools, err := client.ListTools(time.Minute)
	if err != nil || !slices.Equal(tools, []string{"remember", "count"}) {
		t.Errorf("tools: %v, %v", tools, err)
	}
	for _, want := range []string{"1 facts", "2 facts"} {
		r, err := client.CallTool("remember", map[string]any{"fact": want})
		if err != nil || r.Text != want {
			t.Errorf("got %+v, %v, want %q", r, err, want)
		}
	}
	if err := client.Terminate(); err != nil {
		t.Error(err)
	}
}
