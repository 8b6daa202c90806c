package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
	"github.com/tandem-do/tandem/worker/ingress"
)

func plain(status int, text string) func(context.Context) (*http.Response, error) {
	return func(context.Context) (*http.Response, error) {
		return response(status, "text/plain; charset=utf-8", strings.NewReader(text)), nil
	}
}

func TestForwarding(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	const meta = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"new","version":"1"}}}}`
	for _, tc := range []struct {
		name        string
		q           request
		intent      string
		elicitation string
	}{
		{"initialize", request{body: bodyInitialize}, props.IntentCreate, "model"},
		{"initialize with mode", request{body: bodyInitialize, query: "?elicitation_mode=browser"}, props.IntentCreate,
			"browser"},
		{"use", request{session: mine, body: bodyCall}, props.IntentUse, ""},
		{"use with the version of the session", request{session: mine, body: bodyCall, version: "2025-06-18"},
			props.IntentUse, ""},
		{"use with mode", request{session: mine, body: bodyCall, query: "?elicitation_mode=native"}, props.IntentUse,
			"native"},
		{"a response", request{session: mine, body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, props.IntentUse, ""},
		{"a batch", request{session: mine, body: "[" + bodyList + "," + bodyCall + "]"}, props.IntentUse, ""},
		{"GET", request{method: "GET", session: mine, accept: "text/event-stream"}, props.IntentUse, ""},
		{"stateless by header", request{version: "2026-07-28", body: bodyCall}, props.IntentStateless, ""},
		{"stateless by meta", request{body: meta}, props.IntentStateless, ""},
		{"stateless, by the client", request{version: "2026-07-28", query: "?elicitation_mode=native", body: bodyCall},
			props.IntentStateless, "native"},
		{"stateless, by a page", request{version: "2026-07-28", query: "?elicitation_mode=browser", body: bodyCall},
			props.IntentStateless, "browser"},
		{"loose Accept", request{accept: "*/*", session: mine, body: bodyList}, props.IntentUse, ""},
		{"Accept in two parts", request{accept: "TEXT/*;q=0.5, application/*", session: mine, body: bodyList},
			props.IntentUse, ""},
		{"content type with charset", request{content: "application/json; charset=utf-8", session: mine, body: bodyList},
			props.IntentUse, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.q.header = http.Header{
				"Cookie": {"a=b"}, "Last-Event-Id": {"7"}, "Mcp-Method": {"m"}, "X-Other": {"x"}, "Traceparent": {"t"},
				"Tandem-Session-Intent": {"forged"}, "Tandem-Elicitation-Mode": {"forged"}, "Tandem-Approvals": {"forged"},
			}
			got := f.do(tc.q)
			if got.status != 200 || !strings.Contains(got.body, tc.intent) ||
				got.header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("got %d %s %v", got.status, got.body, got.header)
			}
			for _, name := range []string{"Tandem-Secret", "Set-Cookie"} {
				if got.header.Get(name) != "" {
					t.Errorf("the object's %s reached the client", name)
				}
			}
			h := f.objects.last.Header
			want := http.Header{
				"Accept": h["Accept"], "Content-Type": h["Content-Type"], "User-Agent": h["User-Agent"],
				"Last-Event-Id": {"7"}, "Mcp-Method": {"m"},
				props.HeaderIntent: {tc.intent}, props.HeaderResource: {f.url},
			}
			if tc.elicitation != "" {
				want[props.HeaderElicitationMode] = []string{tc.elicitation}
			}
			if tc.elicitation == props.ElicitationBrowser {
				want[props.HeaderApprovals] = []string{approvalPage}
			}
			if tc.q.session != "" {
				want[props.HeaderSessionID] = []string{tc.q.session}
			}
			if tc.q.version != "" {
				want[props.HeaderProtocolVersion] = []string{tc.q.version}
			}
			if d := cmp.Diff(want, h); d != "" {
				t.Error(d)
			}
			if f.objects.lastBody != tc.q.body {
				t.Errorf("got body %q", f.objects.lastBody)
			}
			session := got.header.Get("Mcp-Session-Id")
			if want := f.objects.lastID.String(); (tc.intent != props.IntentStateless) != (session == want) {
				t.Errorf("got session %q for object %s", session, want)
			}
		})
	}
}

// Without an approval page nobody waits for one in vain: the mode is refused where it is chosen.
func TestNoApprovalPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	f.noPage = &props.HTTPError{Status: 400, Code: props.CodeInvalid, Message: "Invalid Request: not set up"}
	before := f.objects.calls
	for _, q := range []request{{body: bodyInitialize}, {body: bodyCall, version: "2026-07-28"}} {
		q.query = "?elicitation_mode=browser"
		if got := f.do(q); got.status != 400 || !strings.Contains(got.body, "not set up") || f.objects.calls != before {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
	if got := f.do(request{session: mine, body: bodyCall, query: "?elicitation_mode=browser"}); got.status != 200 {
		t.Errorf("in a session: %d %s", got.status, got.body)
	}
	if got := f.do(request{body: bodyInitialize}); got.status != 200 {
		t.Errorf("another mode: %d %s", got.status, got.body)
	}
}

func TestSessionIDsAreUnique(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.session(), f.session()
	if _, err := f.ids.Parse(a); err != nil || a == b {
		t.Errorf("got %s and %s, %v", a, b, err)
	}
}

func TestNotificationIsAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.do(request{session: f.session(), body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
	if got.status != 202 || got.body != "" {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

// streamed makes the objects answer with what the test writes into the pipe, and returns the call's context.
func (f *fixture) streamed(contentType string) (*io.PipeWriter, <-chan context.Context) {
	pr, pw := io.Pipe()
	called := make(chan context.Context, 1)
	f.objects.set(func(o *objects) {
		o.reply = func(ctx context.Context) (*http.Response, error) {
			context.AfterFunc(ctx, func() { pr.CloseWithError(context.Cause(ctx)) })
			called <- ctx
			return response(200, contentType, pr), nil
		}
	})
	return pw, called
}

func TestStreaming(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			mine := f.session()
			pw, called := f.streamed("text/event-stream")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go pw.Write([]byte("data: 1\n\n"))
			resp, err := f.client.Do(f.build(ctx, request{method: method, session: mine, body: bodyCall}))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			in := bufio.NewReader(resp.Body)
			for _, want := range []string{"data: 1\n", "data: 2\n"} {
				line, err := in.ReadString('\n')
				if err != nil || line != want { // each piece arrives while the next one is not written yet
					t.Fatalf("got %q, %v; want %q", line, err, want)
				}
				in.ReadString('\n')
				if want == "data: 1\n" {
					pw.Write([]byte("data: 2\n\n"))
				}
			}
			cancel() // the client goes away
			<-(<-called).Done()
		})
	}
}

// A stream that is open for no request ends when the worker drains, cleanly; one that serves a request goes on.
func TestDrain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	_, called := f.streamed("text/event-stream")
	resp, err := f.client.Do(f.build(t.Context(), request{method: "GET", session: mine}))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	<-called
	f.drain()
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) != 0 {
		t.Errorf("got %q, %v", body, err)
	}
	pw, _ := f.streamed("text/event-stream")
	go func() { pw.Write([]byte("data: done\n\n")); pw.Close() }()
	if got := f.do(request{session: mine, body: bodyCall}); got.body != "data: done\n\n" {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

// A request that the worker cuts off as it stops is answered, before its response has begun and within it.
func TestStopping(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	for name, begun := range map[string]bool{"waiting": false, "streaming": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cut := context.WithCancelCause(t.Context())
			f.objects.set(func(o *objects) {
				o.reply = func(ctx context.Context) (*http.Response, error) {
					defer cut(ingress.ErrStopping)
					canceled := &sidecar.Error{Reason: sidecar.ReasonCanceled}
					if !begun {
						cut(ingress.ErrStopping)
						return nil, canceled
					}
					r, w := io.Pipe()
					context.AfterFunc(ctx, func() { w.CloseWithError(canceled) })
					return response(200, "text/event-stream", r), nil
				}
			})
			w := httptest.NewRecorder()
			f.handler.ServeHTTP(w, f.build(ctx, request{session: mine, body: bodyCall}))
			if !strings.Contains(w.Body.String(), `"code":-32001`) || begun != (w.Code == 200) ||
				begun != strings.Contains(w.Body.String(), `"id":"call-3"`) || begun == (w.Header().Get("Retry-After") == "2") {
				t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
			}
		})
	}
}

// A host that dies within a response: the request that waits on the stream gets an error of its own.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	for _, tc := range []struct {
		name, content, body, want string
		cause                     error
		aborted                   bool
	}{
		{"disconnected", "text/event-stream", bodyCall, "data: {\"x\n\nevent: message\ndata: " +
			`{"error":{"code":-32001,"message":"The session is restarting, please try again"},"id":"call-3","jsonrpc":"2.0"}` +
			"\n\n", &sidecar.Error{Reason: sidecar.ReasonDisconnected}, false},
		{"defect", "text/event-stream", bodyList, "data: {\"x\n\nevent: message\ndata: " +
			`{"error":{"code":-32603,"message":"Internal server error"},"id":2,"jsonrpc":"2.0"}` + "\n\n",
			errors.New("secret"), false},
		{"no request waits", "text/event-stream", `{"jsonrpc":"2.0","id":1,"result":{}}`, "data: {\"x",
			errors.New("secret"), false},
		{"JSON", "application/json", bodyCall, "", errors.New("secret"), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pw, _ := f.streamed(tc.content)
			go func() {
				pw.Write([]byte("data: {\"x"))
				pw.CloseWithError(tc.cause)
			}()
			resp, err := f.client.Do(f.build(t.Context(), request{session: mine, body: tc.body}))
			if tc.aborted && err != nil {
				return // aborted before the header left
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if (err != nil) != tc.aborted || (!tc.aborted && string(body) != tc.want) {
				t.Errorf("got %q, %v; want %q", body, err, tc.want)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.session()
	const k = "mcp."
	for _, tc := range []struct {
		name   string
		q      request
		status string
		want   map[string]string
	}{
		{"401", request{bearer: "-", session: mine, body: bodyCall}, "error", map[string]string{
			"request.method": "POST", "request.session_id": mine, "request.session_id_present": "true",
			"auth.has_bearer": "false", "auth.verified": "false", "auth.outcome": "no_bearer"}},
		{"invalid", request{bearer: "x"}, "error", map[string]string{
			"request.method": "POST", "request.session_id_present": "false",
			"auth.has_bearer": "true", "auth.verified": "false", "auth.outcome": "invalid_token"}},
		{"403", request{account: "user_none"}, "error", map[string]string{
			"request.method": "POST", "request.session_id_present": "false", "auth.has_bearer": "true",
			"auth.verified": "true", "auth.outcome": "no_organization", "auth.account_id": "user_none",
			"auth.organization_id": "org_1"}},
		{"initialize", request{body: bodyInitialize}, "ok", map[string]string{
			"request.method": "POST", "request.session_id": "NEW", "request.session_id_present": "false",
			"auth.has_bearer": "true", "auth.verified": "true", "auth.outcome": "verified", "auth.account_id": "user_1",
			"auth.organization_id": "org_1", "rpc.method": "initialize", "rpc.id": "1", "client.name": "tester",
			"client.version": "9.1"}},
		{"call", request{session: mine, body: bodyCall}, "ok", map[string]string{
			"request.method": "POST", "request.session_id": mine, "request.session_id_present": "true",
			"auth.has_bearer": "true", "auth.verified": "true", "auth.outcome": "verified", "auth.account_id": "user_1",
			"auth.organization_id": "org_1", "rpc.method": "tools/call", "rpc.id": "call-3", "tool.name": "execute"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, rec := telemetrytest.Record(t)
			r := f.build(ctx, tc.q)
			r.Host = strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), "/mcp")
			w := httptest.NewRecorder()
			f.handler.ServeHTTP(w, r)
			spans := rec.Ended()
			if len(spans) != 1 || spans[0].Name != telemetry.SpanMCPRequest || spans[0].Status != tc.status {
				t.Fatalf("got %+v", spans)
			}
			want := map[string]string{}
			for name, v := range tc.want {
				if v == "NEW" {
					v = w.Header().Get("Mcp-Session-Id")
				}
				want[k+name] = v
			}
			if d := cmp.Diff(want, spans[0].Attributes); d != "" {
				t.Error(d)
			}
			if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); len(token) > 8 &&
				strings.Contains(spans[0].Error, token) {
				t.Errorf("the token is in the span: %s", spans[0].Error)
			}
		})
	}
}

func TestDefectIsInTheSpanOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.objects.set(func(o *objects) { o.err = &sidecar.Error{Reason: sidecar.ReasonException, Message: "secret detail"} })
	ctx, rec := telemetrytest.Record(t)
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, f.build(ctx, request{body: bodyInitialize}))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") ||
		!strings.Contains(rec.Ended()[0].Error, "secret detail") {
		t.Errorf("got %d %s, span %+v", w.Code, w.Body, rec.Ended())
	}
}
