package scenario

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

const guardedTool = "executor.coreTools.policies.list"

// guardedCode calls the tool that needs approval and returns what it gave.
const guardedCode = `const r = await tools.executor.coreTools.policies.list({}); return JSON.stringify(r)`

var executionIDLine = regexp.MustCompile(`(?m)^executionId: (exec_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)

// guarded is an account whose policy demands approval, with a client factory.
type guarded struct {
	stack *harness.Stack
	node  *harness.Node
	opts  harness.ConnectOptions
	email string
}

// newGuarded makes the account and its policy, which is removed at the end of the test.
func newGuarded(t *testing.T, s *harness.Stack) guarded {
	t.Helper()
	g := guarded{stack: s, node: harness.StartNode(t)}
	ready := s.MustReady(t)
	who := s.NewIdentity(t)
	g.email, g.opts = who.Email, harness.ConnectOptions{URL: ready.MCPURL, Token: who.Token}
	headers := map[string]string{"Authorization": "Bearer " + g.opts.Token, "Content-Type": "application/json"}
	created := harness.Do(t, "POST", ready.APIURL+"/api/policies", headers,
		[]byte(`{"owner":"org","pattern":"`+guardedTool+`","action":"require_approval"}`))
	if created.Status/100 != 2 {
		t.Fatalf("create policy: %d %s", created.Status, created.Body)
	}
	var policy struct{ ID, Owner, Pattern string }
	if err := json.Unmarshal([]byte(created.Body), &policy); err != nil || !strings.HasPrefix(policy.ID, "pol_") {
		t.Fatalf("policy is %s, %v", created.Body, err)
	}
	t.Cleanup(func() {
		removed := harness.Do(t, "DELETE", ready.APIURL+"/api/policies/"+policy.ID, headers, []byte(`{"owner":"org"}`))
		if removed.Status != http.StatusOK || !strings.Contains(removed.Body, `"removed":true`) {
			t.Errorf("remove policy: %d %s", removed.Status, removed.Body)
		}
	})
	return g
}

// pausedExecution executes the guarded call on a new client, closes that client, and returns the pause's id.
func (g guarded) pausedExecution(t *testing.T) string {
	t.Helper()
	c := g.node.Connect(t, g.opts)
	r := c.Execute(t, guardedCode)
	id := pauseID(t, r)
	c.Close(t)
	return id
}

func pauseID(t *testing.T, r harness.ToolResult) string {
	t.Helper()
	match := executionIDLine.FindStringSubmatch(r.Text)
	if r.IsError || match == nil || !strings.HasPrefix(r.Text, "Execution paused: ") {
		t.Fatalf("not a pause: %+v", r)
	}
	if r.StructuredContent["status"] != "waiting_for_interaction" || r.StructuredContent["executionId"] != match[1] {
		t.Errorf("structured content is %v, the text names %s", r.StructuredContent, match[1])
	}
	return match[1]
}

func expectResumed(t *testing.T, r harness.ToolResult) {
	t.Helper()
	if r.IsError || !strings.Contains(r.Text, guardedTool) {
		t.Errorf("resume gave %+v, want the policies with %s", r, guardedTool)
	}
}

// Scenario 6: a pause that has expired, and a new one that is accepted.
func Test06PauseExpires(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{Env: []string{"MCP_PAUSED_SESSION_IDLE_TIMEOUT_MS=30000"}}))
	id := g.pausedExecution(t)
	waitDisposals(t, g.stack, 1)
	c := g.node.Connect(t, g.opts)
	r := c.Resume(t, id, "accept")
	status := fmt.Sprint(r.StructuredContent["status"])
	if !r.IsError || !strings.Contains(r.Text, "run the execute tool again") ||
		(status != "execution_expired" && status != "execution_not_found") {
		t.Errorf("resume of an expired pause gave %+v", r)
	}
	again := pauseID(t, c.Execute(t, guardedCode))
	if again == id {
		t.Error("the id of the expired pause was used again")
	}
	expectResumed(t, c.Resume(t, again, "accept"))
}

// Scenario 7: the same resume twice gives the same outcome.
func Test07ResumeTwice(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, shared.stack)
	id := g.pausedExecution(t)
	c := g.node.Connect(t, g.opts)
	first := c.Resume(t, id, "accept")
	expectResumed(t, first)
	second := c.Resume(t, id, "accept")
	expectResumed(t, second)
	if first.Text != second.Text {
		t.Errorf("the replay differs: %q, then %q", first.Text, second.Text)
	}
}

// Scenario 8: another client resumes at once.
func Test08ResumeAtOnce(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, shared.stack)
	id := g.pausedExecution(t)
	expectResumed(t, g.node.Connect(t, g.opts).Resume(t, id, "accept"))
}

// A declined call throws inside the program.
func TestDecline(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, shared.stack)
	c := g.node.Connect(t, g.opts)
	code := `try { await tools.executor.coreTools.policies.list({}); return "went on" } catch (e) { return "threw: " + e.message }`
	r := c.Resume(t, pauseID(t, c.Execute(t, code)), "decline")
	if r.IsError || !strings.HasPrefix(r.Text, "threw: ") {
		t.Errorf("after a decline: %+v", r)
	}
}

// Two pauses in one program: each has an id of its own, and repeating the first resume does not approve the second.
func TestChainedPauses(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, shared.stack)
	c := g.node.Connect(t, g.opts)
	first := pauseID(t, c.Execute(t, `await tools.executor.coreTools.policies.list({});
		const r = await tools.executor.coreTools.policies.list({}); return JSON.stringify(r)`))
	second := pauseID(t, c.Resume(t, first, "accept"))
	if again := pauseID(t, c.Resume(t, first, "accept")); second == first || again != second {
		t.Errorf("pauses are %s, %s, and repeating the first gives %s", first, second, again)
	}
	expectResumed(t, c.Resume(t, second, "accept"))
}

// Scenario 11: another account can use neither the session nor the execution, and does no harm by trying.
func Test11OtherAccount(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, shared.stack)
	owner := g.node.Connect(t, g.opts)
	id := pauseID(t, owner.Execute(t, guardedCode))
	other := g.opts
	other.Token = g.stack.NewIdentity(t).Token
	r := harness.Do(t, "POST", other.URL, map[string]string{
		"Authorization": "Bearer " + other.Token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Session-Id": owner.SessionID,
	}, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if r.Status != http.StatusForbidden || !strings.Contains(r.Body, "-32003") {
		t.Errorf("another's session: %d %s", r.Status, r.Body)
	}
	stranger := g.node.Connect(t, other)
	if r := stranger.Resume(t, id, "accept"); !r.IsError || r.StructuredContent["status"] != "execution_forbidden" {
		t.Errorf("another's execution: %+v", r)
	}
	expectResumed(t, owner.Resume(t, id, "accept"))
}
