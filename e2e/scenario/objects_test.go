package scenario

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// runObjects runs `tandem objects` on a state directory and returns its output; ok says whether it must succeed.
func runObjects(t *testing.T, stateDir string, ok bool, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args = append(append([]string{"objects"}, args...), "--state-dir", stateDir)
	out, err := exec.CommandContext(ctx, shared.binary, args...).CombinedOutput()
	if (err == nil) != ok {
		t.Fatalf("tandem %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// An operator finds a session among the objects, looks at it, takes it away and brings it back.
func TestOperateOnSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, node := start(t, harness.Options{StateDir: dir}), harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	first.Close(t)
	id, opened := first.SessionID, opts
	opts.SessionID = id

	if out := runObjects(t, dir, true, "namespaces"); !strings.Contains(out, "mcp-Session") {
		t.Errorf("namespaces:\n%s", out)
	}
	var listed struct {
		ObjectID string          `json:"object_id"`
		Actor    json.RawMessage `json:"actor"`
		Alarm    json.RawMessage `json:"alarm"`
	}
	out := runObjects(t, dir, true, "list", "mcp-Session", "--json")
	err := json.Unmarshal([]byte(out), &listed)
	if err != nil || listed.ObjectID != id || listed.Actor == nil || listed.Alarm == nil {
		t.Errorf("list: %v\n%s", err, out)
	}
	out = runObjects(t, dir, true, "show", "mcp-Session", id)
	if !strings.Contains(out, "meta") || !strings.Contains(out, "accountId") {
		t.Errorf("show:\n%s", out)
	}
	file := filepath.Join(t.TempDir(), "session.obj")
	runObjects(t, dir, true, "export", "mcp-Session", id, "--output", file)
	runObjects(t, dir, true, "delete", "mcp-Session", id, "--yes")
	if _, err := node.Connect(t, opts).ListTools(time.Minute); err == nil {
		t.Error("the deleted session answers")
	}
	opened.SessionID = ""
	node.Connect(t, opened).Execute(t, "return 2") // others go on
	runObjects(t, dir, true, "import", file)
	expectWorking(t, node.Connect(t, opts), id)

	// It can be broken under its clients, and goes on from what is on disk.
	runObjects(t, dir, true, "abort", "mcp-Session", id)
	expectWorking(t, node.Connect(t, opts), id)
	runObjects(t, dir, false, "import", file)
	s.Stop()
	if out := runObjects(t, dir, true, "show", "mcp-Session", id); !strings.Contains(out, "at rest") {
		t.Errorf("at rest:\n%s", out)
	}
}
