package scenario

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

var sessionIDs = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Scenario 1: connect, list the tools, execute.
func Test01ConnectAndExecute(t *testing.T) {
	t.Parallel()
	s := shared.stack
	c := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token})
	if !sessionIDs.MatchString(c.SessionID) {
		t.Errorf("session id %q is not 64 lower-case hex digits", c.SessionID)
	}
	if c.ServerName != "executor" || c.ServerVersion != "1.0.0" {
		t.Errorf("server is %s %s, want executor 1.0.0", c.ServerName, c.ServerVersion)
	}
	tools, err := c.ListTools(time.Minute)
	if err != nil || !slices.Contains(tools, "execute") || !slices.Contains(tools, "resume") {
		t.Errorf("tools are %q, %v", tools, err)
	}
	if r := c.Execute(t, "return 6 * 7;"); r.IsError || !strings.Contains(r.Text, "42") {
		t.Errorf("execute gave %+v", r)
	}
}

// Scenario 2: a new client with only the session id goes on.
func Test02ResumeSession(t *testing.T) {
	t.Parallel()
	s, node := shared.stack, harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	first.Close(t)
	opts.SessionID = first.SessionID
	expectWorking(t, node.Connect(t, opts), first.SessionID)
}

// Scenario 3: the same after the session's runtime was torn down for idleness.
func Test03ResumeAfterIdle(t *testing.T) {
	t.Parallel()
	s, node := shared.stack, harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	first.Close(t)
	pause(t, harness.SessionTimeout+2*time.Second)
	opts.SessionID = first.SessionID
	expectWorking(t, node.Connect(t, opts), first.SessionID)
}

// expectWorking checks that a client that was given a session id lists tools, executes, and keeps the id.
func expectWorking(t *testing.T, c *harness.Client, sessionID string) {
	t.Helper()
	if c.SessionID != sessionID {
		t.Errorf("session id became %q, want %q", c.SessionID, sessionID)
	}
	if tools, err := c.ListTools(time.Minute); err != nil || !slices.Contains(tools, "execute") {
		t.Fatalf("tools are %q, %v", tools, err)
	}
	if r := c.Execute(t, "return 6 * 7"); r.IsError || !strings.Contains(r.Text, "42") {
		t.Errorf("execute gave %+v", r)
	}
}

// Scenario 4: a session id that was never issued.
func Test04UnknownSession(t *testing.T) {
	t.Parallel()
	s, node := shared.stack, harness.StartNode(t)
	c, err := node.TryConnect(harness.ConnectOptions{
		URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token, SessionID: strings.Repeat("0", 64),
	})
	if err != nil {
		t.Fatalf("connect sends nothing and so succeeds; got %v", err)
	}
	if _, err = c.ListTools(time.Minute); err == nil || !strings.Contains(err.Error(), "jsonrpc") {
		t.Errorf("list tools: got %v, want an error that shows the JSON-RPC body", err)
	}
}

// Scenario 5: two clients of one account, at once.
func Test05TwoClients(t *testing.T) {
	t.Parallel()
	s, node := shared.stack, harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	a, b := node.Connect(t, opts), node.Connect(t, opts)
	if a.SessionID == b.SessionID {
		t.Fatal("both clients got one session")
	}
	var wg sync.WaitGroup
	var slow, fast harness.ToolResult
	wg.Go(func() {
		slow, _ = a.CallTool("execute", map[string]any{
			"code": "await new Promise(r => setTimeout(r, 300)); return 'from a'",
		})
	})
	wg.Go(func() { fast, _ = b.CallTool("execute", map[string]any{"code": "return 'from b'"}) })
	wg.Wait()
	if slow.Text != "from a" || fast.Text != "from b" {
		t.Errorf("answers are %q and %q", slow.Text, fast.Text)
	}
}

// Scenario 12: the session outlives a kill -9 of the object host.
func Test12HostKilled(t *testing.T) {
	t.Parallel()
	s, node := start(t, harness.Options{}), harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	first.Close(t)
	s.Kill(t, "durableobject")
	opts.SessionID = first.SessionID
	expectWorking(t, node.Connect(t, opts), first.SessionID)
}

// A session that was ended by DELETE is gone at once and for ever.
func TestTerminatedSession(t *testing.T) {
	t.Parallel()
	s, node := shared.stack, harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	c := node.Connect(t, opts)
	if err := c.Terminate(); err != nil {
		t.Fatalf("terminate: %v", err)
	}
	opts.SessionID = c.SessionID
	for range 2 {
		_, err := node.Connect(t, opts).ListTools(time.Minute)
		if err == nil || !strings.Contains(err.Error(), "Session timed out, please reconnect") {
			t.Errorf("after DELETE: got %v", err)
		}
	}
}
