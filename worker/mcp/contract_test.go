package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
)

// Every row of the contract's table of errors, in its order; then combinations that pin the order of the checks.
func TestErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	ended := f.session()
	if got := f.do(request{method: "DELETE", session: ended}); got.status != 200 {
		t.Fatalf("DELETE: got %d %s", got.status, got.body)
	}
	never := f.ids.NewUnique().String()
	zeros := strings.Repeat("0", 64)
	expired := f.issuer.Token(t, f.url, map[string]any{"exp": 1})
	noOrg := f.issuer.Token(t, f.url, map[string]any{"org_id": nil})
	big := `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"` + strings.Repeat("x", 4<<20) + `"}}`
	batch := "[" + bodyInitialize + "," + bodyList + "]"
	for _, tc := range []struct {
		name   string
		q      request
		status int
		code   int
		text   string // in the message
	}{
		{"no bearer", request{bearer: "-", body: bodyList}, 401, -32001, "bearer"},
		{"cookie", request{bearer: "-", header: http.Header{"Cookie": {"t=1"}}}, 401, -32001, "bearer"},
		{"garbage bearer", request{bearer: "x"}, 401, -32001, "malformed"},
		{"expired bearer", request{bearer: expired}, 401, -32001, "expired"},
		{"directory down", request{account: "user_directory_down", body: bodyList}, 503, -32001, ""},
		{"no organization", request{bearer: noOrg, body: bodyList}, 403, -32001, "No organization"},
		{"not a member", request{account: "user_none", body: bodyList}, 403, -32001, "No organization"},
		{"another's session", request{account: "user_2", session: mine, body: bodyList}, 403, -32003, ""},
		{"64 zeros", request{session: zeros, body: bodyList}, 404, -32001, "Session not found"},
		{"never issued", request{session: never, body: bodyList}, 404, -32001, "Session not found"},
		{"malformed id", request{session: "x", body: bodyList}, 404, -32001, "Session not found"},
		{"upper case id", request{session: strings.ToUpper(mine), body: bodyList}, 404, -32001, "Session not found"},
		{"ended", request{session: ended, body: bodyList}, 404, -32001, "Session timed out, please reconnect"},
		{"ended, GET", request{method: "GET", session: ended}, 404, -32001, "Session timed out, please reconnect"},
		{"ended, DELETE", request{method: "DELETE", session: ended}, 404, -32001, "Session timed out, please reconnect"},
		{"POST without session", request{body: bodyList}, 400, -32000, ""},
		{"notification without session", request{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
			400, -32000, ""},
		{"GET without session", request{method: "GET"}, 400, -32000, ""},
		{"Accept lacks event stream", request{accept: "application/json", body: bodyInitialize}, 406, -32000, ""},
		{"Accept lacks JSON", request{accept: "text/event-stream", body: bodyInitialize}, 406, -32000, ""},
		{"no Accept", request{accept: "-", body: bodyInitialize}, 406, -32000, ""},
		{"GET that lacks event stream", request{method: "GET", session: mine, accept: "application/json"}, 406, -32000, ""},
		{"content type", request{content: "text/plain", body: bodyInitialize}, 415, -32000, ""},
		{"no content type", request{content: "-", body: bodyInitialize}, 415, -32000, ""},
		{"body too large", request{session: mine, body: big}, 413, -32000, ""},
		{"not JSON", request{body: `{"jsonrpc"`}, 400, -32700, ""},
		{"empty body", request{body: ` `}, 400, -32700, ""},
		{"not JSON-RPC", request{body: `{"a":1}`}, 400, -32700, ""},
		{"other JSON-RPC", request{body: `{"jsonrpc":"1.0","id":1,"method":"x"}`}, 400, -32700, ""},
		{"no method", request{body: `{"jsonrpc":"2.0","id":1,"method":""}`}, 400, -32700, ""},
		{"method in other case", request{body: `{"jsonrpc":"2.0","id":1,"Method":"initialize"}`}, 400, -32700, ""},
		{"text after the message", request{body: bodyInitialize + "x"}, 400, -32700, ""},
		{"id that is an object", request{body: `{"jsonrpc":"2.0","id":{},"method":"initialize"}`}, 400, -32700, ""},
		{"id that is a fraction", request{session: mine, body: `{"jsonrpc":"2.0","id":1.5,"method":"x"}`}, 400, -32700, ""},
		{"id that is too large", request{session: mine, body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}`},
			400, -32700, ""},
		{"empty batch", request{body: `[]`}, 400, -32700, ""},
		{"bad batch", request{session: mine, body: `[1]`}, 400, -32700, ""},
		{"huge batch", request{session: mine, body: "[" + strings.Repeat(bodyList+",", 300) + bodyList + "]"},
			400, -32700, ""},
		{"initialize with session", request{session: mine, body: bodyInitialize}, 400, -32600, ""},
		{"initialize in a batch", request{body: batch}, 400, -32600, ""},
		{"initialize in a batch of a session", request{session: mine, body: batch}, 400, -32600, ""},
		{"initialize without id", request{body: `{"jsonrpc":"2.0","method":"initialize"}`}, 400, -32600, ""},
		{"unsupported version", request{version: "1999-01-01", session: mine, body: bodyList}, 400, -32000, "2025-11-25"},
		{"unsupported later version", request{version: "2027-01-01", body: bodyList}, 400, -32000, "2025-11-25"},
		{"PUT", request{method: "PUT", bearer: "-"}, 405, -32001, ""},
		{"PATCH with a bad bearer", request{method: "PATCH", bearer: "x"}, 405, -32001, ""},
		{"elicitation mode", request{query: "?elicitation_mode=psychic", body: bodyInitialize}, 400, -32600, "native"},
		{"two elicitation modes", request{query: "?elicitation_mode=model&elicitation_mode=native", body: bodyInitialize},
			400, -32600, "browser"},
		{"empty elicitation mode", request{query: "?elicitation_mode=", body: bodyInitialize}, 400, -32600, "model"},

		{"order: bearer before body", request{bearer: "-", body: "{"}, 401, -32001, ""},
		{"order: organization before session", request{account: "user_none", session: zeros}, 403, -32001, "No organization"},
		{"order: owner before body", request{account: "user_2", session: mine, body: "{"}, 403, -32003, ""},
		{"order: owner before Accept", request{account: "user_2", session: mine, accept: "-"}, 403, -32003, ""},
		{"order: owner before version", request{account: "user_2", session: mine, version: "x", body: bodyList},
			403, -32003, ""},
		{"order: owner before era", request{account: "user_2", session: mine, version: "2026-07-28"}, 403, -32003, ""},
		{"order: owner before initialize", request{account: "user_2", session: mine, body: bodyInitialize}, 403, -32003, ""},
		{"order: existence before size", request{session: never, body: big}, 404, -32001, "Session not found"},
		{"order: existence before Accept of GET", request{method: "GET", session: ended, accept: "-"},
			404, -32001, "timed out"},
		{"order: existence before content type", request{session: ended, content: "-"}, 404, -32001, "timed out"},
		{"later version has no session", request{version: "2026-07-28", session: mine, body: bodyList}, 400, -32000, ""},
		{"later version has no stream", request{method: "GET", version: "2026-07-28"}, 405, -32001, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := f.do(tc.q)
			assertError(t, got, tc.status, tc.code, tc.text)
			if retry := got.header.Get("Retry-After"); (retry == "2") != (tc.status == 503) {
				t.Errorf("got Retry-After %q", retry)
			}
			challenge := got.header.Get("WWW-Authenticate")
			if (challenge != "") != (tc.status == 401) {
				t.Errorf("got challenge %q", challenge)
			}
			if tc.status == 401 && strings.Contains(challenge, "error=") != (tc.q.bearer != "-") {
				t.Errorf("got challenge %q", challenge)
			}
		})
	}
	if got := f.do(request{session: mine, body: bodyList}); got.status != 200 {
		t.Errorf("the owner's next call: got %d %s", got.status, got.body)
	}
}

// assertError checks the form that every error under /mcp has.
func assertError(t *testing.T, got reply, status, code int, text string) {
	t.Helper()
	var body struct {
		JSONRPC string `json:"jsonrpc"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		ID any `json:"id"`
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		t.Fatalf("got %d %q, want JSON: %v", got.status, got.body, err)
	}
	if got.status != status || body.Error.Code != code || !strings.Contains(body.Error.Message, text) {
		t.Errorf("got %d %s, want %d with code %d and %q", got.status, got.body, status, code, text)
	}
	if body.JSONRPC != "2.0" || body.ID != nil || !strings.Contains(got.body, `"id":null`) || body.Error.Message == "" {
		t.Errorf("got %s, want JSON-RPC with a null id", got.body)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("got headers %v", got.header)
	}
}

// A session ID that was never issued must not wake or create an object.
func TestForgedSessionIDsReachNoHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{strings.Repeat("0", 64), "x", strings.Repeat("f", 64), strings.Repeat("0", 65)} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			assertError(t, f.do(request{method: method, session: id, body: bodyList}), 404, -32001, "Session not found")
		}
	}
	if f.objects.calls != 0 {
		t.Errorf("got %d calls of objects, want none", f.objects.calls)
	}
}

// An issuer that is down says nothing about the client: 503, never 401.
func TestIssuerDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.issuer.SetDown(true)
	got := f.do(request{body: bodyInitialize})
	assertError(t, got, 503, -32001, "")
	if got.header.Get("Retry-After") != "2" || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("got %v", got.header)
	}
}

// Only who is told that a session is another's has lost it: a bearer that cannot be checked, or is out of date, ends none.
func TestOutagesEndNoSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	token := func(claims map[string]any) string { return f.issuer.Token(t, f.url, claims) }
	good, expired := token(nil), token(map[string]any{"exp": 1})
	noDirectory, noMember := token(map[string]any{"sub": "user_directory_down"}), token(map[string]any{"sub": "user_none"})
	f.issuer.SetDown(true)
	f.issuer.AddRSA(t, "new", 2048) // a key that can't be fetched now
	newKey, before := token(nil), f.objects.calls
	for _, method := range []string{"POST", "GET", "DELETE"} {
		for _, tc := range []struct {
			bearer string
			status int
		}{{"-", 401}, {expired, 401}, {newKey, 503}, {noDirectory, 503}, {noMember, 403}} {
			got := f.do(request{method: method, session: mine, bearer: tc.bearer, body: bodyList})
			assertError(t, got, tc.status, -32001, "")
		}
	}
	if f.objects.calls != before {
		t.Errorf("the session's object heard of %d of these requests", f.objects.calls-before)
	}
	if got := f.do(request{session: mine, bearer: good, body: bodyList}); got.status != 200 {
		t.Errorf("the owner's next call: got %d %s", got.status, got.body)
	}
}

func TestObjectErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	for _, tc := range []struct {
		reason sidecar.Reason
		status int
		code   int
	}{
		{sidecar.ReasonUnplaced, 503, -32001}, {sidecar.ReasonDisconnected, 503, -32001},
		{sidecar.ReasonDraining, 503, -32001}, {sidecar.ReasonOverloaded, 503, -32001},
		{sidecar.ReasonBroken, 503, -32001}, {sidecar.ReasonStaleEpoch, 503, -32001},
		{sidecar.ReasonDeadline, 503, -32001}, {sidecar.ReasonCanceled, 503, -32001},
		{sidecar.ReasonInternal, 500, -32603}, {sidecar.ReasonException, 500, -32603},
		{sidecar.ReasonNoSuchClass, 500, -32603}, {sidecar.ReasonInvalid, 500, -32603},
		{sidecar.ReasonStorage, 500, -32603},
	} {
		t.Run(tc.reason.String(), func(t *testing.T) {
			f.objects.set(func(o *objects) { o.err = &sidecar.Error{Reason: tc.reason, Message: "secret detail"} })
			defer f.objects.set(func(o *objects) { o.err = nil })
			for _, q := range []request{
				{body: bodyInitialize}, {session: mine, body: bodyList}, {session: mine, body: "not JSON"},
				{method: "GET", session: mine}, {method: "DELETE", session: mine},
			} {
				got := f.do(q)
				assertError(t, got, tc.status, tc.code, "")
				if strings.Contains(got.body, "secret") {
					t.Errorf("the detail got out: %s", got.body)
				}
				if (got.header.Get("Retry-After") == "2") != (tc.status == 503) {
					t.Errorf("got %v", got.header)
				}
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.do(request{method: "OPTIONS", bearer: "-", header: http.Header{"Origin": {"http://localhost:6274"}}})
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":   "*",
		"Access-Control-Allow-Methods":  "GET, POST, DELETE, OPTIONS",
		"Access-Control-Allow-Headers":  "content-type, authorization, mcp-session-id, accept, mcp-protocol-version",
		"Access-Control-Expose-Headers": "mcp-session-id, WWW-Authenticate",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: got %q, want %q", name, got.header.Get(name), want)
		}
	}
	if got.status != 204 || got.body != "" {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

func TestDeleteWithoutSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.do(request{method: "DELETE"}); got.status != 200 || f.objects.calls != 0 {
		t.Errorf("got %d %s and %d calls", got.status, got.body, f.objects.calls)
	}
}

// What the objects answer in plain text, as the SDK's transport does, still reaches the client as JSON-RPC.
func TestPlainErrorsOfObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	for _, tc := range []struct {
		status, want, code int
		text               string
	}{{400, 400, props.CodeTransport, "malformed payload"}, {404, 404, props.CodeUnauthorized, "malformed payload"},
		{500, 500, props.CodeInternal, "Internal server error"}} {
		f.objects.set(func(o *objects) { o.reply = plain(tc.status, "malformed payload\n") })
		assertError(t, f.do(request{session: mine, body: bodyList}), tc.want, tc.code, tc.text)
	}
}

// The protocol version of the header is the one that counts, whether or not the request is traced.
func TestHeaderVersionCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, _ := telemetrytest.Record(t)
	q := request{version: "2025-11-25", body: `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`}
	for name, ctx := range map[string]context.Context{"traced": ctx, "not traced": t.Context()} {
		w := httptest.NewRecorder()
		f.handler.ServeHTTP(w, f.build(ctx, q))
		if w.Code != 400 || !strings.Contains(w.Body.String(), "-32000") {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
}

// A request that stands alone is told which versions there are, in an error of its own.
func TestUnsupportedVersionOfLaterEra(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := `{"jsonrpc":"2.0","id":"q","method":"server/discover","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}}`
	got := f.do(request{version: "2027-01-01", body: body})
	for _, part := range []string{`"id":"q"`, `"code":-32022`, `"requested":"2027-01-01"`, `"2026-07-28"`, `"2024-11-05"`} {
		if !strings.Contains(got.body, part) {
			t.Errorf("got %s, want %s in it", got.body, part)
		}
	}
	if got.status != 400 || got.header.Get("Content-Type") != "application/json" || f.objects.calls != 0 {
		t.Errorf("got %d %v and %d calls", got.status, got.header, f.objects.calls)
	}
}
