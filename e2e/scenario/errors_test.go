package scenario

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// errorCase is a row of the contract's table of errors.
type errorCase struct {
	name    string
	method  string
	headers map[string]string // added; an empty value removes
	session string            // "own", "unknown", "malformed" or none
	body    string
	status  int
	code    int
	message string // a part of it
}

func errorCases() []errorCase {
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` + strings.Repeat("x", 4<<20) + `"}}`
	bearer := func(v string) map[string]string { return map[string]string{"Authorization": v} }
	return []errorCase{
		{name: "no bearer", method: "POST", headers: bearer(""), body: list, status: 401, code: -32001},
		{name: "a cookie is no bearer", method: "POST",
			headers: map[string]string{"Authorization": "", "Cookie": "session=x"}, body: list, status: 401, code: -32001},
		{name: "bad bearer", method: "POST", headers: bearer("Bearer nonsense"), body: list, status: 401, code: -32001},
		{name: "other verb", method: "PUT", headers: bearer(""), body: list, status: 405, code: -32001},
		{name: "unknown session", method: "POST", session: "unknown", body: list, status: 404, code: -32001,
			message: "Session not found"},
		{name: "malformed session", method: "POST", session: "malformed", body: list, status: 404, code: -32001,
			message: "Session not found"},
		{name: "unknown session before transport rules", method: "POST", session: "unknown",
			headers: map[string]string{"Accept": "text/html"}, body: list, status: 404, code: -32001},
		{name: "POST without a session", method: "POST", body: list, status: 400, code: -32000},
		{name: "GET without a session", method: "GET", status: 400, code: -32000},
		{name: "POST accepts no stream", method: "POST", session: "own",
			headers: map[string]string{"Accept": "application/json"}, body: list, status: 406, code: -32000},
		{name: "GET accepts no stream", method: "GET", session: "own",
			headers: map[string]string{"Accept": "application/json"}, status: 406, code: -32000},
		{name: "content type", method: "POST", session: "own",
			headers: map[string]string{"Content-Type": "text/plain"}, body: list, status: 415, code: -32000},
		{name: "too large", method: "POST", session: "own", body: large, status: 413, code: -32000},
		{name: "not JSON", method: "POST", session: "own", body: "{", status: 400, code: -32700},
		{name: "not JSON-RPC", method: "POST", session: "own", body: `{"hello":1}`, status: 400, code: -32700},
		{name: "initialize in a session", method: "POST", session: "own", body: initialize, status: 400, code: -32600},
		{name: "initialize in a batch", method: "POST", body: "[" + initialize + "]", status: 400, code: -32600},
		{name: "protocol version", method: "POST", session: "own",
			headers: map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, body: list, status: 400, code: -32000},
	}
}

// Every error under /mcp has its status, its code, and a JSON-RPC body.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	token := s.NewIdentity(t).Token
	created := harness.Do(t, "POST", ready.MCPURL, mcpHeaders(token), []byte(initialize))
	sessions := map[string]string{
		"own": created.Header.Get("Mcp-Session-Id"), "unknown": strings.Repeat("0", 64), "malformed": "not-an-id",
	}
	for _, tt := range errorCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			headers := mcpHeaders(token)
			if id := sessions[tt.session]; id != "" {
				headers["Mcp-Session-Id"] = id
			}
			for k, v := range tt.headers {
				if headers[k] = v; v == "" {
					delete(headers, k)
				}
			}
			r := harness.Do(t, tt.method, ready.MCPURL, headers, []byte(tt.body))
			expectRPCError(t, r, tt.status, tt.code)
			if !strings.Contains(r.Body, tt.message) {
				t.Errorf("body is %s, want %q in it", r.Body, tt.message)
			}
		})
	}
	t.Run("DELETE without a session", func(t *testing.T) {
		t.Parallel()
		if r := harness.Do(t, "DELETE", ready.MCPURL, mcpHeaders(token), nil); r.Status != http.StatusOK {
			t.Errorf("got %d %s", r.Status, r.Body)
		}
	})
	t.Run("OPTIONS", func(t *testing.T) {
		t.Parallel()
		r := harness.Do(t, "OPTIONS", ready.MCPURL, nil, nil)
		if r.Status != http.StatusNoContent || r.Header.Get("Access-Control-Allow-Methods") != "GET, POST, DELETE, OPTIONS" ||
			!strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "mcp-session-id") {
			t.Errorf("got %d %v", r.Status, r.Header)
		}
	})
}

func expectRPCError(t *testing.T, r harness.Response, status, code int) {
	t.Helper()
	if r.Status != status {
		t.Errorf("status is %d, want %d: %s", r.Status, status, r.Body)
	}
	if ct := r.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		t.Errorf("content type is %q", ct)
	}
	if r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("the error is not readable across origins")
	}
	var body struct {
		JSONRPC string
		Error   struct {
			Code    int
			Message string
		}
		ID any
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatalf("body is not JSON: %q", r.Body)
	}
	if body.JSONRPC != "2.0" || body.Error.Code != code || body.Error.Message == "" || body.ID != nil {
		t.Errorf("body is %s, want code %d", r.Body, code)
	}
}

// The challenge names the metadata, and tells a missing bearer from a bad one.
func TestChallenge(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	missing := harness.Do(t, "POST", ready.MCPURL, nil, []byte("{}")).Header.Get("Www-Authenticate")
	if want := regexp.MustCompile(`^Bearer resource_metadata="[^"]+"$`); !want.MatchString(missing) {
		t.Errorf("without a bearer: %s", missing)
	}
	bad := harness.Do(t, "POST", ready.MCPURL, map[string]string{"Authorization": "Bearer x"}, []byte("{}")).Header.Get("Www-Authenticate")
	if !strings.Contains(bad, `error="invalid_token"`) || !strings.Contains(bad, "error_description=") {
		t.Errorf("with a bad bearer: %s", bad)
	}
}

// A page on another site, or a name that was made to resolve to loopback, cannot reach the endpoint.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	for name, headers := range map[string]map[string]string{
		"host": {"Host": "evil.example.com"}, "origin": {"Origin": "https://evil.example.com"},
	} {
		if r := harness.Do(t, "POST", ready.MCPURL, headers, []byte("{}")); r.Status != http.StatusForbidden {
			t.Errorf("foreign %s: got %d %s", name, r.Status, r.Body)
		}
		for _, address := range []string{ready.DashboardURL + "/api/spans/search", ready.AuthURL + "/authorize"} {
			if name == "host" {
				if r := harness.Do(t, "GET", address, headers, nil); r.Status != http.StatusForbidden {
					t.Errorf("foreign host at %s: got %d", address, r.Status)
				}
			}
		}
	}
}

// The policies API says what is wrong.
func TestPoliciesRefuseBadInput(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready := s.MustReady(t)
	headers := map[string]string{"Authorization": "Bearer " + s.NewIdentity(t).Token, "Content-Type": "application/json"}
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
	}{
		"bad pattern": {"POST", "", `{"owner":"org","pattern":"a..b","action":"block"}`, 400},
		"bad action":  {"POST", "", `{"owner":"org","pattern":"*","action":"maybe"}`, 400},
		"bad owner":   {"POST", "", `{"owner":"them","pattern":"*","action":"block"}`, 400},
		"not JSON":    {"POST", "", `{`, 400},
		"unknown id":  {"DELETE", "/pol_nothing", `{"owner":"org"}`, 404},
		"unknown too": {"PATCH", "/pol_nothing", `{"action":"block"}`, 404},
		"other verb":  {"PUT", "", `{}`, 405},
	} {
		r := harness.Do(t, tt.method, ready.APIURL+"/api/policies"+tt.path, headers, []byte(tt.body))
		if r.Status != tt.status || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: got %d %s, want %d", name, r.Status, r.Body, tt.status)
		}
	}
	if r := harness.Do(t, "GET", ready.APIURL+"/api/policies", nil, nil); r.Status != http.StatusUnauthorized {
		t.Errorf("without a bearer: got %d", r.Status)
	}
}
