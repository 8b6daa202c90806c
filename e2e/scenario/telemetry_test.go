package scenario

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"raw","version":"9.9"}}}`

// mcpHeaders are those of a client that has a bearer.
func mcpHeaders(token string) map[string]string {
	return map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream",
	}
}

// Scenario 9: raw requests, and the spans of both processes in the client's trace.
func Test09SpansOfTheTrace(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	headers := mcpHeaders(s.NewIdentity(t).Token)
	traceparent, traceID := harness.NewTrace()
	headers["Traceparent"] = traceparent

	created := harness.Do(t, "POST", ready.MCPURL, headers, []byte(initialize))
	if created.Status != http.StatusOK || !strings.HasPrefix(created.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("initialize: %d %v %s", created.Status, created.Header, created.Body)
	}
	if n := countEvents(created.Body); n != 1 {
		t.Errorf("initialize sent %d message events, want 1: %q", n, created.Body)
	}
	delete(headers, "Traceparent")
	headers["Mcp-Session-Id"] = created.Header.Get("Mcp-Session-Id")
	noted := harness.Do(t, "POST", ready.MCPURL, headers, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if noted.Status != http.StatusAccepted || noted.Body != "" {
		t.Errorf("notification: %d %q", noted.Status, noted.Body)
	}
	listed := harness.Do(t, "POST", ready.MCPURL, headers, []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	if listed.Status != http.StatusOK || !strings.Contains(listed.Body, "execute") {
		t.Errorf("tools/list without a version header: %d %s", listed.Status, listed.Body)
	}

	resolve := s.WaitSpan(t, traceID, "McpSessionDOSqlite.resolveSessionMeta")
	if resolve.Span.Status != "ok" || resolve.Span.Tags["mcp.session.meta_source"] != "props" {
		t.Errorf("resolve span is %+v", resolve.Span)
	}
	request := s.WaitSpan(t, traceID, "mcp.request")
	all := s.SearchSpans(t, url.Values{"traceId": {traceID}})
	// A span leaves its process after those below it, perhaps a second later, and each process by itself.
	for deadline := time.Now().Add(time.Minute); len(treeFaults(all)) > 0 && time.Now().Before(deadline); {
		pause(t, 100*time.Millisecond)
		all = s.SearchSpans(t, url.Values{"traceId": {traceID}})
	}
	count := map[string]int{}
	services := map[string]bool{}
	for _, sp := range all {
		count[sp.Span.OperationName]++
		services[sp.Span.ServiceName] = true
		if sp.Span.OperationName == "user_store.getOrganization" && sp.Span.ServiceName != request.Span.ServiceName {
			t.Errorf("the organization was asked for by %s", sp.Span.ServiceName)
		}
	}
	if count["user_store.getOrganization"] != 1 || count["mcp.session.resolve_organization"] != 0 {
		t.Errorf("spans are %v", count)
	}
	if len(services) < 2 {
		t.Errorf("spans come from %v only", services)
	}
	for key, want := range map[string]string{
		"mcp.request.method": "POST", "mcp.request.session_id_present": "false", "mcp.auth.has_bearer": "true",
		"mcp.auth.verified": "true", "mcp.rpc.method": "initialize", "mcp.rpc.id": "1", "mcp.client.name": "raw",
		"mcp.client.version": "9.9",
	} {
		if got := request.Span.Tags[key]; got != want {
			t.Errorf("mcp.request has %s=%q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"mcp.auth.account_id", "mcp.auth.organization_id", "mcp.auth.outcome"} {
		if request.Span.Tags[key] == "" {
			t.Errorf("mcp.request lacks %s", key)
		}
	}
	for _, fault := range treeFaults(all) {
		t.Error(fault)
	}
}

// treeFaults says what is wrong unless every span but those whose parent is the client's hangs below another of the trace.
func treeFaults(all []harness.Span) (faults []string) {
	ids := map[string]bool{}
	for _, sp := range all {
		ids[sp.Span.SpanID] = true
	}
	roots := 0
	for _, sp := range all {
		if !ids[sp.Span.ParentSpanID] {
			roots++
			if sp.Span.OperationName != "http.server POST" {
				faults = append(faults, sp.Span.OperationName+" hangs below no span of the trace")
			}
		}
	}
	if roots != 1 {
		faults = append(faults, fmt.Sprintf("the trace has %d roots, want the one HTTP request", roots))
	}
	return faults
}

func countEvents(body string) int {
	n := 0
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: message") {
			n++
		}
	}
	return n
}

// A refused request has its span too.
func TestSpanOfUnauthorized(t *testing.T) {
	t.Parallel()
	s := shared.stack
	traceparent, traceID := harness.NewTrace()
	r := harness.Do(t, "POST", s.MustReady(t).MCPURL, map[string]string{"Traceparent": traceparent}, []byte("{}"))
	if r.Status != http.StatusUnauthorized {
		t.Fatalf("got %d", r.Status)
	}
	if sp := s.WaitSpan(t, traceID, "mcp.request"); sp.Span.Tags["mcp.auth.has_bearer"] != "false" {
		t.Errorf("span is %+v", sp.Span)
	}
}

// An execution's spans, down to the sandbox, are in the trace of the request that started it.
func TestSpansOfAnExecution(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	headers := mcpHeaders(s.NewIdentity(t).Token)
	created := harness.Do(t, "POST", ready.MCPURL, headers, []byte(initialize))
	headers["Mcp-Session-Id"] = created.Header.Get("Mcp-Session-Id")
	harness.Do(t, "POST", ready.MCPURL, headers, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	traceparent, traceID := harness.NewTrace()
	headers["Traceparent"] = traceparent
	called := harness.Do(t, "POST", ready.MCPURL, headers, []byte(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":`+
		`{"name":"execute","arguments":{"code":"return await tools.executor.coreTools.policies.list({})"}}}`))
	if called.Status != http.StatusOK || !strings.Contains(called.Body, "policies") {
		t.Fatalf("execute: %d %s", called.Status, called.Body)
	}
	if sp := s.WaitSpan(t, traceID, "mcp.request"); sp.Span.Tags["mcp.tool.name"] != "execute" {
		t.Errorf("mcp.request is %+v", sp.Span)
	}
	for _, name := range []string{"mcp.execute", "executor.code.exec", "sandbox.execute"} {
		s.WaitSpan(t, traceID, name)
	}
	sp := s.WaitSpan(t, traceID, "executor.tool.execute")
	if sp.Span.Tags["mcp.tool.name"] != guardedTool || sp.Span.Tags["outcome"] == "" {
		t.Errorf("executor.tool.execute is %+v", sp.Span)
	}
}
