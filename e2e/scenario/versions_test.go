package scenario

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// sessionVersions are the protocol versions with sessions, with what differs between them on the wire.
var sessionVersions = []struct {
	version string
	// header: its clients send the version with every request.
	header bool
	// batches: a body may have several messages.
	batches bool
	// primes: a call's stream begins with an event that has an id and no message.
	primes bool
}{
	{version: "2024-11-05", batches: true},
	{version: "2025-03-26", batches: true},
	{version: "2025-06-18", header: true},
	{version: "2025-11-25", header: true, primes: true},
}

// initializeAs returns the message that begins a session of a protocol version.
func initializeAs(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, version)
}

// events returns the messages of an event stream, and how many of its events have none.
func events(t *testing.T, body string) (messages []map[string]any, empty int) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		_, data, _ := strings.Cut(event, "data: ")
		if strings.TrimSpace(data) == "" {
			empty++
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatalf("event %q: %v", event, err)
		}
		messages = append(messages, m)
	}
	return messages, empty
}

// Each protocol version with sessions is spoken as its clients know it.
func TestVersionsWithSessions(t *testing.T) {
	t.Parallel()
	s := shared.stack
	token := s.NewIdentity(t).Token
	for _, v := range sessionVersions {
		t.Run(v.version, func(t *testing.T) {
			t.Parallel()
			r := raw{t: t, url: s.MustReady(t).MCPURL, headers: mcpHeaders(token)}
			created := r.post(initializeAs(v.version))
			messages, empty := events(t, created.Body)
			if created.Status != http.StatusOK || len(messages) != 1 || empty != 0 || messages[0]["id"] != "first" {
				t.Fatalf("initialize: %d %s", created.Status, created.Body)
			}
			result, _ := messages[0]["result"].(map[string]any)
			if result["protocolVersion"] != v.version {
				t.Errorf("initialize agreed on %v", result["protocolVersion"])
			}
			r.headers["Mcp-Session-Id"] = created.Header.Get("Mcp-Session-Id")
			if v.header {
				r.headers["Mcp-Protocol-Version"] = v.version
			}
			if got := r.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.Status != http.StatusAccepted ||
				got.Body != "" {
				t.Errorf("initialized: %d %s", got.Status, got.Body)
			}
			if got := r.post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); !strings.Contains(got.Body, `"result":{}`) {
				t.Errorf("ping: %d %s", got.Status, got.Body)
			}
			got := r.post(executeBody(3, "return 6 * 7"))
			messages, empty = events(t, got.Body)
			if got.Status != http.StatusOK || len(messages) != 1 || messages[0]["id"] != 3.0 ||
				!strings.Contains(got.Body, `"text":"42"`) || (empty == 1) != v.primes {
				t.Errorf("execute: %d %s", got.Status, got.Body)
			}
			batch := "[" + executeBody(4, "return 'four'") + `,{"jsonrpc":"2.0","method":"notifications/progress","params":` +
				`{"progressToken":1,"progress":1}},` + executeBody(5, "return 'five'") + "]"
			got = r.post(batch)
			if !v.batches {
				expectRPCError(t, got, http.StatusBadRequest, -32000)
				return
			}
			messages, _ = events(t, got.Body)
			answers := map[any]string{}
			for _, m := range messages {
				answers[m["id"]] = fmt.Sprint(m["result"])
			}
			if len(answers) != 2 || !strings.Contains(answers[4.0], "four") || !strings.Contains(answers[5.0], "five") {
				t.Errorf("batch: %d %s", got.Status, got.Body)
			}
			if got := r.post(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`); got.Status != http.StatusAccepted {
				t.Errorf("batch of notifications: %d %s", got.Status, got.Body)
			}
		})
	}
}

// A client that asks for a version that has no sessions, or for one that nobody knows, is offered the latest that has.
func TestVersionIsNegotiated(t *testing.T) {
	t.Parallel()
	s := shared.stack
	r := raw{t: t, url: s.MustReady(t).MCPURL, headers: mcpHeaders(s.NewIdentity(t).Token)}
	for _, version := range []string{"1999-01-01", "2026-07-28", "2999-01-01"} {
		got := r.post(initializeAs(version))
		if got.Status != http.StatusOK || !strings.Contains(got.Body, `"protocolVersion":"2025-11-25"`) {
			t.Errorf("initialize as %s: %d %s", version, got.Status, got.Body)
		}
	}
}

// Both eras are served at once, and share the executions of an account.
func TestErasSideBySide(t *testing.T) {
	t.Parallel()
	s := shared.stack
	g := newGuarded(t, s)
	code, err := json.Marshal(guardedCode)
	if err != nil {
		t.Fatal(err)
	}
	inSession := g.pausedExecution(t)
	if got, text := laterTool(t, s, g.opts.Token, "resume",
		fmt.Sprintf(`{"executionId":%q,"action":"accept"}`, inSession)); got["status"] != "completed" {
		t.Errorf("resume without a session: %s", text)
	}
	paused, _ := laterTool(t, s, g.opts.Token, "execute", `{"code":`+string(code)+`}`)
	alone, _ := paused["executionId"].(string)
	expectResumed(t, g.node.Connect(t, g.opts).Resume(t, alone, "accept"))
	unknown := mcpHeaders(g.opts.Token)
	unknown["Mcp-Protocol-Version"] = "2999-01-01"
	got := harness.Do(t, "POST", s.MustReady(t).MCPURL, unknown, []byte(`{"jsonrpc":"2.0","id":7,"method":"server/discover",`+
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01"}}}`))
	if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, `"id":7`) ||
		!strings.Contains(got.Body, "-32022") || !strings.Contains(got.Body, "2025-11-25") {
		t.Errorf("a version of the future: %d %s", got.Status, got.Body)
	}
}
