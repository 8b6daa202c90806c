package scenario

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// traced sends a message in a trace of its own and returns that trace's id with the answer.
func (r raw) traced(body string) (traceID string, answer harness.Response) {
	r.t.Helper()
	traceparent, traceID := harness.NewTrace()
	headers := map[string]string{"Traceparent": traceparent}
	for k, v := range r.headers {
		headers[k] = v
	}
	return traceID, harness.Do(r.t, "POST", r.url, headers, []byte(body))
}

// resumeBody is the message that answers a pause.
func resumeBody(id int, execution, action string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"resume",`+
		`"arguments":{"executionId":%q,"action":%q}}}`, id, execution, action)
}

// expectTags waits for a span and checks its attributes.
func expectTags(t *testing.T, s *harness.Stack, traceID, operation string, want map[string]string) {
	t.Helper()
	sp := s.WaitSpan(t, traceID, operation)
	for key, value := range want {
		if got := sp.Span.Tags[key]; got != value {
			t.Errorf("%s has %s=%q, want %q: %v", operation, key, got, value, sp.Span.Tags)
		}
	}
}

// TestSpansOfObjects holds what the spans of sessions and executions say, from the first request to the disposal.
func TestSpansOfObjects(t *testing.T) {
	t.Parallel()
	// Long enough for no runtime to be disposed of before the test waits for that.
	const idleMS = 15_000
	s := start(t, harness.Options{Env: []string{fmt.Sprint("MCP_SESSION_TIMEOUT_MS=", idleMS)}})
	g := newGuarded(t, s)
	r := raw{t: t, url: g.opts.URL, headers: mcpHeaders(g.opts.Token)}
	trace, created := r.traced(initialize)
	for _, name := range []string{"mcp.session.load_meta", "mcp.session.save_meta"} {
		expectTags(t, s, trace, name, nil)
	}
	r.headers["Mcp-Session-Id"] = created.Header.Get("Mcp-Session-Id")

	trace, paused := r.traced(executeBody(2, `await tools.no.such.tool();`+
		`const r = await tools.executor.coreTools.policies.list({}); await new Promise(r => setTimeout(r, 5000)); return r`))
	expectTags(t, s, trace, "mcp.execute", map[string]string{"outcome": "waiting_for_interaction"})
	expectTags(t, s, trace, "executor.tool.execute", map[string]string{
		"mcp.tool.name": "no.such.tool", "outcome": "error", "error.code": "tool_not_found",
	})
	_, text, _ := strings.Cut(paused.Body, `executionId: `)
	id, _, _ := strings.Cut(text, `\n`)
	var traces [2]string
	var both sync.WaitGroup
	for i := range traces {
		both.Go(func() { traces[i], _ = r.traced(resumeBody(3+i, id, "accept")) })
	}
	both.Wait()
	var joined []string
	for _, trace := range traces {
		expectTags(t, s, trace, "mcp.execute.resume", map[string]string{
			"mcp.execute.action": "accept", "mcp.execute.replayed": "false", "outcome": "completed",
		})
		joined = append(joined, s.WaitSpan(t, trace, "mcp.execute.resume").Span.Tags["mcp.execute.joined_inflight"])
	}
	if slices.Sort(joined); !slices.Equal(joined, []string{"false", "true"}) {
		t.Errorf("of two resumes at once these joined: %q", joined)
	}
	trace, _ = r.traced(resumeBody(5, id, "decline"))
	expectTags(t, s, trace, "mcp.execute.resume", map[string]string{
		"mcp.execute.action": "decline", "mcp.execute.replayed": "true", "mcp.execute.joined_inflight": "false",
	})

	// The runtime is taken down for idleness, and made again from what is stored.
	waitDisposals(t, s, 1)
	found := s.SearchSpans(t, url.Values{
		"operation": {"mcp.session.idle_runtime_dispose"}, "attr.mcp.session.dispose_reason": {"idle"},
		"attr.mcp.session.paused_count": {"0"},
	})
	if len(found) != 1 {
		t.Fatalf("disposals: %+v", found)
	}
	if ms, err := strconv.Atoi(found[0].Span.Tags["mcp.session.idle_ms"]); err != nil || ms < idleMS {
		t.Errorf("disposal: %+v", found)
	}
	trace, _ = r.traced(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)
	expectTags(t, s, trace, "McpSessionDOSqlite.resolveSessionMeta", map[string]string{"mcp.session.meta_source": "stored"})
}

// TestSpansOfADyingHost holds that what a process has recorded leaves it before it ends.
func TestSpansOfADyingHost(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{})
	ready := s.MustReady(t)
	r := raw{t: t, url: ready.MCPURL, headers: mcpHeaders(s.NewIdentity(t).Token)}
	pids := ready.PIDs
	trace, created := r.traced(initialize)
	for _, process := range []string{"durableobject", "worker"} {
		if err := syscall.Kill(pids[process], syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	if created.Status != http.StatusOK {
		t.Fatalf("initialize: %d %s", created.Status, created.Body)
	}
	expectTags(t, s, trace, "McpSessionDOSqlite.resolveSessionMeta", map[string]string{"mcp.session.meta_source": "props"})
	expectTags(t, s, trace, "mcp.request", map[string]string{"mcp.rpc.method": "initialize"})
}
