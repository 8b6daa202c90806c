package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Both eras of the protocol: tools are listed over all pages and called.
func TestListAndCall(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			t.Parallel()
			s := serve(t, &mcp.ServerOptions{PageSize: 7}, modern)
			for i := range 40 {
				s.add(fmt.Sprintf("tool-%02d", i), says(fmt.Sprint("answer ", i)))
			}
			c := dial(t, Options{URL: s.url})
			tools, err := c.Tools(t.Context())
			if err != nil || len(tools) != 40 {
				t.Fatalf("got %d tools (%v), want 40", len(tools), err)
			}
			if got := tools[3]; got.Name != "tool-03" || got.Description != "does tool-03" ||
				string(got.InputSchema) != anyObject {
				t.Errorf("got tool %+v", got)
			}
			result, err := c.Call(t.Context(), "tool-39", json.RawMessage(`{"a":1}`))
			if err != nil || string(result) != `"answer 39"` {
				t.Errorf("got %s (%v)", result, err)
			}
			_, err = c.Call(t.Context(), "no-such-tool", nil)
			if e := wantError(t, err, upstream.CodeFailed); !strings.Contains(e.Message, "no-such-tool") {
				t.Errorf("got %v", e)
			}
			_, err = c.Call(t.Context(), "tool-39", json.RawMessage(`[1]`))
			wantError(t, err, upstream.CodeFailed)
		})
	}
}

// Many goroutines share a client, and each gets its own answer.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, false)
	s.add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	c := dial(t, Options{URL: s.url, ToolsChanged: func() {}})
	var group errgroup.Group
	for i := range 100 {
		group.Go(func() error {
			want := fmt.Sprintf(`{"n":%d}`, i)
			got, err := c.Call(t.Context(), "echo", json.RawMessage(want))
			if err != nil || string(got) != want {
				return fmt.Errorf("got %s (%w), want %s", got, err, want)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// A server that has forgotten its sessions gets a new one, once for all who call; what it had not accepted is repeated.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": "", "text": "gone", "JSON-RPC": `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran, initialized, lost atomic.Int64
			s := serve(t, nil, false)
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				id := r.Header.Get("Mcp-Session-Id")
				if id == "" && r.Method == http.MethodPost {
					initialized.Add(1)
				}
				if id == "" || lost.Load() == 0 {
					return false
				}
				for ss := range s.mcp.Sessions() {
					if ss.ID() == id && lost.Load() == 2 {
						return false
					}
				}
				if body != "" && body[0] == '{' {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, body)
				return true
			}
			s.add("count", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ran.Add(1)
				return &mcp.CallToolResult{}, nil
			})
			c := dial(t, Options{URL: s.url})
			before := initialized.Load()
			for ss := range s.mcp.Sessions() {
				_ = ss.Close()
			}
			lost.Store(2)
			var group errgroup.Group
			for range 8 {
				group.Go(func() error {
					_, err := c.Call(soon(t), "count", nil)
					return err
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			if n := ran.Load(); n != 8 {
				t.Errorf("the tool ran %d times, want 8", n)
			}
			if n := initialized.Load() - before; n < 1 || n > 2*3 {
				t.Errorf("%d requests without a session came, want those of one handshake", n)
			}
			lost.Store(1) // for good: the client does not try without end
			_, err := c.Call(soon(t), "count", nil)
			wantError(t, err, upstream.CodeUnavailable)
		})
	}
}

// A call that may have run is not repeated, and its error says so.
func TestCallCutOff(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	s := serve(t, nil, false)
	cut := make(chan struct{})
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-cut:
		default:
			return false
		}
		if r.Method != http.MethodPost {
			return false
		}
		ran.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	s.add("work", says("done"))
	c := dial(t, Options{URL: s.url})
	close(cut)
	_, err := c.Call(soon(t), "work", nil)
	if e := wantError(t, err, upstream.CodeUnavailable); !strings.Contains(e.Message, "may or may not have run") {
		t.Errorf("got %v", e)
	}
	if ran.Load() != 1 {
		t.Errorf("the call was sent %d times", ran.Load())
	}
}

// A call that the server has begun to answer is not repeated when another finds the session gone.
func TestSessionLostBeside(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	started := make(chan struct{})
	var lost atomic.Bool
	s := serve(t, nil, false)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id, method, body := peek(r)
		switch {
		case method == "tools/call" && strings.Contains(body, `"slow"`):
			if ran.Add(1) > 1 {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			close(started)
			<-r.Context().Done()
			return true
		case lost.Load() && method == "tools/call":
			lost.Store(false)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Session not found"}}`, id)
			return true
		}
		return false
	}
	s.add("slow", says("done"))
	s.add("work", says("done"))
	c := dial(t, Options{URL: s.url})
	slow := make(chan error, 1)
	go func() {
		_, err := c.Call(soon(t), "slow", nil)
		slow <- err
	}()
	<-started
	lost.Store(true)
	if got, err := c.Call(soon(t), "work", nil); err != nil || string(got) != `"done"` {
		t.Errorf("got %s (%v)", got, err)
	}
	if e := wantError(t, <-slow, upstream.CodeUnavailable); !strings.Contains(e.Message, "may or may not have run") {
		t.Errorf("got %v", e)
	}
	if ran.Load() != 1 {
		t.Errorf("the slow call was sent %d times", ran.Load())
	}
}

// A server that is away fails calls, and works again when it is back.
func TestServerDies(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, false)
	s.add("work", says("done"))
	var away atomic.Bool
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>secret internals</html>")
		}
		return away.Load()
	}
	c := dial(t, Options{URL: s.url})
	away.Store(true)
	_, err := c.Call(soon(t), "work", nil)
	if e := wantError(t, err, upstream.CodeUnavailable); strings.Contains(e.Message, "secret") ||
		!strings.Contains(e.Message, "502") {
		t.Errorf("got %v", e)
	}
	_, err = c.Tools(soon(t))
	wantError(t, err, upstream.CodeUnavailable)
	away.Store(false)
	if result, err := c.Call(soon(t), "work", nil); err != nil || string(result) != `"done"` {
		t.Errorf("got %s (%v)", result, err)
	}
}

// A call ends with its timeout, with its caller's context and with Close; others go on.
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	started, canceled, over := make(chan struct{}, 3), make(chan struct{}, 3), make(chan struct{})
	s := serve(t, nil, false)
	s.add("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- struct{}{}
		select {
		case <-ctx.Done():
		case <-over:
		}
		canceled <- struct{}{}
		return nil, errors.New("not to be seen")
	})
	s.add("work", says("done"))
	c := dial(t, Options{URL: s.url, CallTimeout: 6 * time.Second})
	_, err := c.Call(soon(t), "wait", nil)
	if e := wantError(t, err, upstream.CodeUnavailable); !strings.Contains(e.Message, "within 6s; the tool may") {
		t.Errorf("timeout: %v", e)
	}
	<-started
	<-canceled // the server was told
	if result, err := c.Call(soon(t), "work", nil); err != nil || string(result) != `"done"` {
		t.Errorf("after the timeout: %s (%v)", result, err)
	}

	patient := dial(t, Options{URL: s.url})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := patient.Call(ctx, "wait", nil)
		wantError(t, err, upstream.CodeUnavailable)
	})
	<-started
	cancel()
	calls.Wait()
	<-canceled
	calls.Go(func() {
		_, err := patient.Call(t.Context(), "wait", nil)
		if e := wantError(t, err, upstream.CodeUnavailable); !strings.Contains(e.Message, "closed") {
			t.Errorf("close: %v", e)
		}
	})
	<-started
	closing := make(chan error)
	go func() { closing <- patient.Close() }()
	calls.Wait()
	close(over) // the server ends a session when its calls are over
	if err := <-closing; err != nil {
		t.Errorf("close: %v", err)
	}
	_, err = patient.Call(t.Context(), "work", nil)
	wantError(t, err, upstream.CodeUnavailable)
}

// Credentials that are refused are an error of their own, with the challenge and without the credentials.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	s := serve(t, nil, false)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer good" && r.Header.Get("X-Tenant") == "t" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="a b"`)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "no ", r.Header.Get("Authorization"))
		return true
	}
	s.add("work", says("done"))
	_, err := Connect(t.Context(), Options{
		URL: s.url, HTTP: ownHTTP(t), Header: http.Header{"Authorization": {"Bearer " + secret}},
	})
	e := wantError(t, err, upstream.CodeUnauthorized)
	if strings.Contains(e.Message, secret) || !strings.Contains(e.Message, `"a b"`) {
		t.Errorf("got %v", e)
	}
	if want := `{"challenge":"Bearer error=\"insufficient_scope\", scope=\"a b\""}`; string(e.Details) != want {
		t.Errorf("got details %s, want %s", e.Details, want)
	}
	c := dial(t, Options{
		URL: s.url, Header: http.Header{"Authorization": {"Bearer good"}, "x-tenant": {"t"}},
	})
	if _, err := c.Call(t.Context(), "work", nil); err != nil {
		t.Error(err)
	}
}

// Redirects to another origin are not followed: they would take arguments and credentials there.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	elsewhere := serve(t, nil, false)
	elsewhere.before = func(http.ResponseWriter, *http.Request) bool {
		reached.Add(1)
		return false
	}
	s := serve(t, nil, false)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.url, http.StatusTemporaryRedirect)
		return true
	}
	_, err := Connect(t.Context(), Options{URL: s.url, HTTP: ownHTTP(t)})
	wantError(t, err, upstream.CodeRefused)
	if reached.Load() != 0 {
		t.Error("a request went to the other origin")
	}
}

// What a dialer refuses is passed on as it is; what cannot be dialled says no more than that.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	refused := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, upstream.Errorf(upstream.CodeRefused, "not there")
	}}}
	_, err := Connect(t.Context(), Options{URL: "http://10.0.0.1/mcp", HTTP: refused})
	if e := wantError(t, err, upstream.CodeRefused); e.Message != "not there" {
		t.Errorf("got %v", e)
	}
	broken := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("secret detail")
	}}}
	_, err = Connect(t.Context(), Options{URL: "http://source.example/mcp", HTTP: broken})
	if e := wantError(t, err, upstream.CodeUnavailable); strings.Contains(e.Message, "secret") {
		t.Errorf("got %v", e)
	}
	for _, bad := range []string{"", "ftp://a/b", "http://", "http://u:p@a/", "/mcp", "http://a/#f", "http://[::1"} {
		_, err := Connect(t.Context(), Options{URL: bad})
		if e := wantError(t, err, upstream.CodeRefused); strings.Contains(e.Message, "u:p") {
			t.Errorf("got %v", e)
		}
	}
}

// What is no MCP endpoint says so.
func TestNotMCP(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"page":   func(w http.ResponseWriter) { fmt.Fprint(w, "<html></html>") },
		"404":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"broken": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json"); fmt.Fprint(w, "{") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, false)
			s.before = func(w http.ResponseWriter, _ *http.Request) bool { answer(w); return true }
			_, err := Connect(soon(t), Options{URL: s.url, HTTP: ownHTTP(t)})
			if name == "broken" {
				wantError(t, err, upstream.CodeUnavailable)
				return
			}
			if e := wantError(t, err, upstream.CodeFailed); !strings.Contains(e.Message, "MCP endpoint") {
				t.Errorf("got %v", e)
			}
		})
	}
}

// Whatever a call is answered with, it is that call's error, and others go on in the same session.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	var status, initialized atomic.Int64
	var body, mediaType atomic.Value
	s := serve(t, nil, false)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		id, method, sent := peek(r)
		if method == "initialize" {
			initialized.Add(1)
		}
		if method != "tools/call" || !strings.Contains(sent, `"odd"`) {
			return false
		}
		w.Header().Set("Content-Type", mediaType.Load().(string))
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, strings.ReplaceAll(body.Load().(string), "ID", string(id)))
		return true
	}
	s.add("work", says("done"))
	c := dial(t, Options{URL: s.url})
	for _, tt := range []struct {
		status          int64
		mediaType, body string
		code, want      string
		doubt           bool
	}{
		{400, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad a","data":{"b":1}}}`,
			upstream.CodeFailed, "bad a", false},
		{200, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"bad c"}}`,
			upstream.CodeFailed, "bad c", false},
		{400, "application/json", `{"detail":"secret"}`, upstream.CodeFailed, "400", false},
		{404, "text/html", "secret", upstream.CodeUnavailable, "lost the session", false},
		{413, "text/plain", "secret", upstream.CodeFailed, "413", false},
		{403, "text/plain", "secret", upstream.CodeUnauthorized, "403", false},
		{401, "application/json", `{"error":"secret"}`, upstream.CodeUnauthorized, "credentials", false},
		{429, "text/plain", "secret", upstream.CodeUnavailable, "429", false},
		{500, "text/html", "secret", upstream.CodeUnavailable, "500", true},
		{503, "text/html", "secret", upstream.CodeUnavailable, "503", false},
		{504, "application/json", `{"message":"secret"}`, upstream.CodeUnavailable, "504", true},
	} {
		status.Store(tt.status)
		body.Store(tt.body)
		mediaType.Store(tt.mediaType)
		_, err := c.Call(soon(t), "odd", nil)
		e := wantError(t, err, tt.code)
		if !strings.Contains(e.Message, tt.want) || strings.Contains(e.Message, "secret") ||
			strings.Contains(e.Message, "may or may not have run") != tt.doubt {
			t.Errorf("%d %s: got %q", tt.status, tt.body, e.Message)
		}
		if tt.want == "bad a" && string(e.Details) != `{"b":1}` {
			t.Errorf("got details %s", e.Details)
		}
		if tt.status == 404 { // it was asked for a new session, and lost that too
			continue
		}
		before := initialized.Load()
		if got, err := c.Call(soon(t), "work", nil); err != nil || string(got) != `"done"` {
			t.Fatalf("after %d: got %s (%v)", tt.status, got, err)
		}
		if tt.status != 413 && initialized.Load() != before { // the one after the lost session
			t.Errorf("%d %s: the session was given up", tt.status, tt.body)
		}
	}
}
