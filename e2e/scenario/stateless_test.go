package scenario

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// later sends a request of protocol version 2026-07-28, which stands alone, and returns the answer's result.
func later(t *testing.T, s *harness.Stack, token, method, params string) (result map[string]any, r harness.Response) {
	t.Helper()
	return laterAt(t, s.MustReady(t).MCPURL, token, method, params)
}

// laterAt is later at an address of the endpoint.
func laterAt(t *testing.T, address, token, method, params string) (result map[string]any, r harness.Response) {
	t.Helper()
	headers := mcpHeaders(token)
	headers["Mcp-Protocol-Version"], headers["Mcp-Method"] = "2026-07-28", method
	var named struct{ Name string }
	if err := json.Unmarshal([]byte("{"+params+"}"), &named); err != nil {
		t.Fatal(err)
	}
	if named.Name != "" {
		headers["Mcp-Name"] = named.Name
	}
	if params != "" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}}}`, method, params)
	r = harness.Do(t, "POST", address, headers, []byte(body))
	if r.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%s began a session", method)
	}
	for line := range strings.Lines(r.Body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var message struct{ Result map[string]any }
			if err := json.Unmarshal([]byte(data), &message); err != nil {
				t.Fatalf("%s: %v in %s", method, err, data)
			}
			result = message.Result
		}
	}
	return result, r
}

// laterTool calls a tool that way and returns its structured content.
func laterTool(t *testing.T, s *harness.Stack, token, name, arguments string) (content map[string]any, text string) {
	t.Helper()
	result, r := later(t, s, token, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments))
	content, ok := result["structuredContent"].(map[string]any)
	if r.Status != http.StatusOK || !ok {
		t.Fatalf("%s: %d %s", name, r.Status, r.Body)
	}
	return content, r.Body
}

// Protocol version 2026-07-28 needs no session: a paused execution is resumed by its id alone, by its account alone.
func TestWithoutSession(t *testing.T) {
	t.Parallel()
	s := shared.stack
	token := newGuarded(t, s).opts.Token
	found, r := later(t, s, token, "server/discover", "")
	if !strings.Contains(fmt.Sprint(found["supportedVersions"]), "2026-07-28") {
		t.Errorf("discover: %d %s", r.Status, r.Body)
	}
	if done, _ := laterTool(t, s, token, "execute", `{"code":"return 6 * 7"}`); done["result"] != 42.0 {
		t.Errorf("execute: %v", done)
	}
	code, err := json.Marshal(guardedCode)
	if err != nil {
		t.Fatal(err)
	}
	paused, _ := laterTool(t, s, token, "execute", `{"code":`+string(code)+`}`)
	id, _ := paused["executionId"].(string)
	if paused["status"] != "waiting_for_interaction" || id == "" {
		t.Fatalf("execute of the guarded call: %v", paused)
	}
	answer := fmt.Sprintf(`{"executionId":%q,"action":"accept"}`, id)
	stranger := s.NewIdentity(t).Token
	if got, _ := laterTool(t, s, stranger, "resume", answer); got["status"] != "execution_forbidden" {
		t.Errorf("another account's resume: %v", got)
	}
	for range 2 { // the second time it is replayed
		if got, text := laterTool(t, s, token, "resume", answer); got["status"] != "completed" ||
			!strings.Contains(text, guardedTool) {
			t.Errorf("resume: %v", got)
		}
	}
	headers := mcpHeaders(token)
	headers["Mcp-Protocol-Version"] = "2026-07-28"
	expectRPCError(t, harness.Do(t, "GET", s.MustReady(t).MCPURL, headers, nil), 405, -32001)
}
