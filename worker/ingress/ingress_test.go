package ingress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func newIngress(t *testing.T, o Options) *Ingress {
	t.Helper()
	in, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func answer(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) })
}

func TestGuard(t *testing.T) {
	t.Parallel()
	in := newIngress(t, Options{
		AllowedHosts:   []string{"tandem.example.com", "Alias.example.com:443"},
		AllowedOrigins: []string{"https://app.example.com"},
		Routes: []Route{
			{Path: "/mcp", Handler: answer("mcp")}, {Path: "/x", Handler: answer("x")},
			{Path: "/healthz", Handler: answer("ok"), AnyHost: true},
		},
	})
	for _, tc := range []struct {
		name, path, host, origin string
		want                     int
	}{
		{"loopback address", "/x", "127.0.0.1:8787", "", 200},
		{"other loopback address", "/x", "127.9.9.9", "", 200},
		{"localhost", "/x", "LOCALHOST:1", "", 200},
		{"localhost with a dot", "/x", "localhost.:1", "", 200},
		{"IPv6", "/x", "[::1]:8787", "", 200},
		{"IPv6 without port", "/x", "[::1]", "", 200},
		{"mapped IPv4", "/x", "[::ffff:127.0.0.1]", "", 200},
		{"allowed host", "/x", "tandem.example.com", "", 200},
		{"allowed host with port", "/x", "alias.example.com:8443", "", 200},
		{"rebound name", "/x", "evil.example", "", 403},
		{"rebound name under mcp", "/mcp", "evil.example:8787", "", 403},
		{"name with a loopback prefix", "/x", "127.0.0.1.evil.example", "", 403},
		{"name with localhost", "/x", "localhost.evil.example", "", 403},
		{"other address", "/x", "10.0.0.1:8787", "", 403},
		{"no host", "/x", "", "", 403},
		{"probe", "/healthz", "10.0.0.1", "http://evil.example", 200},
		{"loopback origin", "/x", "localhost", "http://localhost:6274", 200},
		{"own origin", "/x", "localhost", "https://tandem.example.com", 200},
		{"configured origin", "/x", "localhost", "https://App.example.com", 200},
		{"configured name, other scheme", "/x", "localhost", "http://app.example.com", 403},
		{"foreign origin", "/x", "localhost", "https://evil.example", 403},
		{"foreign origin under mcp", "/mcp", "localhost", "https://evil.example", 403},
		{"null origin", "/x", "localhost", "null", 403},
		{"origin of another scheme", "/x", "localhost", "chrome-extension://localhost", 403},
		{"origin that is no URL", "/x", "localhost", "http://%zz", 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, w := httptest.NewRequest("GET", tc.path, nil), httptest.NewRecorder()
			r.Host = tc.host
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			in.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Fatalf("got %d %s, want %d", w.Code, w.Body, tc.want)
			}
			if tc.want == http.StatusForbidden {
				assertErrorForm(t, w, tc.path)
			}
		})
	}
}

// assertErrorForm checks that an error is JSON-RPC under /mcp and JSON elsewhere.
func assertErrorForm(t *testing.T, w *httptest.ResponseRecorder, path string) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("got %s %v, want JSON", w.Body, w.Header())
	}
	if strings.HasPrefix(path, "/mcp") {
		if body["jsonrpc"] != "2.0" || body["id"] != nil || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("got %s %v, want JSON-RPC", w.Body, w.Header())
		}
	} else if body["error"] == "" || body["message"] == "" || body["jsonrpc"] != nil {
		t.Errorf("got %s", w.Body)
	}
}

func TestOptionsNameEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New(Options{AllowedHosts: []string{"a/b", "*"}, AllowedOrigins: []string{"nonsense", "https://x/path"}})
	for _, want := range []string{"a/b", "*", "nonsense", "https://x/path"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %q", err, want)
		}
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	in := newIngress(t, Options{Routes: []Route{
		{Path: "/", Handler: answer("root")}, {Path: "/mcp", Handler: answer("mcp")},
		{Path: "/api/policies", Handler: answer("all")}, {Path: "/api/policies/", Handler: answer("one")},
		{Path: "/api/sources/{id}/tools", Handler: answer("tools")},
	}})
	for path, want := range map[string]string{
		"/": "root", "/mcp": "mcp", "/api/policies": "all", "/api/policies/pol_1": "one",
		"/api/sources/src_1/tools": "tools", "/api/sources//tools": "", "/api/sources/a/b/tools": "", "/api/sources/a": "",
		"/api/sources/src_1/tools/": "", "/api/sources/tools": "", "/api/policies/": "", "/api/policies/a/b": "", "/mcp/": "", "/mcp/x": "", "//mcp": "", "/nope": "", "/MCP": "",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		in.ServeHTTP(w, r)
		if want != "" && (w.Code != 200 || w.Body.String() != want) {
			t.Errorf("%s: got %d %s, want %s", path, w.Code, w.Body, want)
		}
		if want == "" {
			if w.Code != 404 || !strings.Contains(w.Body.String(), "/api/policies/{id}") {
				t.Errorf("%s: got %d %s, want 404 with the known addresses", path, w.Code, w.Body)
			}
			assertErrorForm(t, w, path)
		}
	}
}

func TestInternalHeadersAreRemoved(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	in := newIngress(t, Options{Routes: []Route{{Path: "/", Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { got <- r.Header.Clone() })}}})
	s := httptest.NewServer(in)
	defer s.Close()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL, nil)
	req.Header.Set("tandem-session-intent", "create")
	req.Header.Set("Tandem-Resource", "x")
	req.Header.Set("X-Kept", "y")
	do(t, s.Client(), req)
	h := <-got
	if h.Get("Tandem-Session-Intent") != "" || h.Get("Tandem-Resource") != "" || h.Get("X-Kept") != "y" {
		t.Errorf("got %v", h)
	}
}

func do(t *testing.T, c *http.Client, req *http.Request) (int, string) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	boom := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic("boom: secret detail") })
	late := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x"); panic("boom") })
	in := newIngress(t, Options{
		Routes: []Route{{Path: "/mcp", Handler: boom}, {Path: "/x", Handler: boom}, {Path: "/late", Handler: late}},
		Log:    slog.New(slog.NewTextHandler(&log, nil)),
	})
	for _, path := range []string{"/mcp", "/x"} {
		w := httptest.NewRecorder()
		in.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, nil))
		if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
		assertErrorForm(t, w, path)
	}
	if !strings.Contains(log.String(), "secret detail") {
		t.Errorf("the log lacks the panic: %s", &log)
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("after the header: got panic %v, want the response aborted", p)
		}
	}()
	in.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/late", nil))
}

func TestSpans(t *testing.T) {
	t.Parallel()
	ctx, rec := telemetrytest.Record(t)
	in := newIngress(t, Options{Routes: []Route{
		{Path: "/x", Handler: answer("x")},
		{Path: "/api/", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })},
	}})
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "http://localhost/x", nil), httptest.NewRequest("PATCH", "http://localhost/api/1", nil),
		httptest.NewRequest("BREW", "http://localhost/nope", nil),
	} {
		in.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	}
	spans := rec.Ended()
	for i, want := range []struct{ name, status, code, route string }{
		{"http.server GET", "ok", "200", "/x"}, {"http.server PATCH", "error", "503", "/api/{id}"},
		{"http.server OTHER", "ok", "404", ""},
	} {
		s := spans[i]
		if s.Name != want.name || s.Status != want.status || s.Attributes[telemetry.AttrHTTPStatus] != want.code ||
			s.Attributes[telemetry.AttrHTTPRoute] != want.route {
			t.Errorf("got %+v, want %+v", s, want)
		}
	}
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	const limit = 1000
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(w, r, limit)
		fmt.Fprint(w, len(body), " ", errors.Is(err, ErrBodyTooLarge))
	}))
	defer s.Close()
	for _, size := range []int{0, 1, 511, 512, limit - 1, limit, limit + 1, 100 * limit} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(strings.Repeat("x", size))
			if chunked {
				body = io.MultiReader(body) // hides the length
			}
			req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL, body)
			want := fmt.Sprint(size, " false")
			if size > limit {
				want = "0 true"
			}
			if _, got := do(t, s.Client(), req); got != want {
				t.Errorf("%d bytes, chunked %v: got %s, want %s", size, chunked, got, want)
			}
		}
	}
}

// started runs an ingress and returns its address, and a function that ends it and returns Serve's error.
func started(t *testing.T, in *Ingress) (string, func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- in.Serve(ctx, l) }()
	return l.Addr().String(), func() error { cancel(); return <-done }
}

func TestServeDrains(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	in := newIngress(t, Options{Routes: []Route{{Path: "/slow", Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-release
			if r.Context().Err() != nil {
				t.Error("the request was canceled by the drain")
			}
			io.WriteString(w, "done")
		})}}})
	addr, stop := started(t, in)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	got := make(chan string, 1)
	go func() {
		resp, err := client.Get("http://" + addr + "/slow")
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		got <- string(body)
	}()
	<-entered
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	refused := func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	}
	for !refused() { // until the drain has begun
	}
	close(release)
	if body := <-got; body != "done" {
		t.Errorf("got %q, want the request finished", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeBoundsHeaders(t *testing.T) {
	t.Parallel()
	addr, stop := started(t, newIngress(t, Options{Routes: []Route{{Path: "/", Handler: answer("x")}}}))
	defer stop()
	for size, want := range map[int]string{32 << 10: "200", 80 << 10: "431"} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		go fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", size))
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%d bytes: got %q, %v; want %s", size, line, err, want)
		}
		c.Close()
	}
}

// firstRead is a body that notes how much its first reader was ready for, and then breaks off.
type firstRead struct{ ready int }

func (b *firstRead) Read(p []byte) (int, error) {
	b.ready = len(p)
	return 0, io.ErrUnexpectedEOF
}

// The length that a client says costs nothing until the body comes.
func TestReadBodyBelievesNoLength(t *testing.T) {
	t.Parallel()
	body := &firstRead{}
	r := httptest.NewRequest("POST", "/", body)
	r.ContentLength = 4 << 20
	if _, err := ReadBody(httptest.NewRecorder(), r, 4<<20); err == nil {
		t.Error("a broken body was taken")
	}
	if body.ready == 0 || body.ready > 64<<10 {
		t.Errorf("%d bytes were made ready", body.ready)
	}
}

// pipes is a listener whose connections are in memory, and hold nothing between writer and reader.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// A client that stops reading is cut off; one that reads may take as long as the response is written.
func TestServeBoundsWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		in := newIngress(t, Options{Routes: []Route{
			{Path: "/large", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(make([]byte, 1<<20))
				failed <- err
			})},
			{Path: "/slow", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				flush := http.NewResponseController(w)
				for range 20 {
					time.Sleep(25 * time.Second)
					io.WriteString(w, "x")
					if err := flush.Flush(); err != nil {
						t.Errorf("flush: %v", err)
					}
				}
			})},
			{Path: "/late", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(10 * time.Minute)
				w.WriteHeader(http.StatusAccepted)
			})},
		}})
		l := make(pipes)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- in.Serve(ctx, l) }()
		dial := func() net.Conn {
			client, server := net.Pipe()
			l <- server
			return client
		}

		stalled := dial()
		began := time.Now()
		io.WriteString(stalled, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err := <-failed; err == nil {
			t.Error("a response that nobody takes was written")
		}
		if waited := time.Since(began); waited > 2*writeTimeout {
			t.Errorf("the client was cut off after %v", waited)
		}
		stalled.Close()

		reading := dial()
		answers := bufio.NewReader(reading)
		for _, want := range []struct {
			path, body string
			status     int
		}{{"/slow", strings.Repeat("x", 20), 200}, {"/late", "", 202}, {"/slow", strings.Repeat("x", 20), 200}} {
			fmt.Fprintf(reading, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", want.path)
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%s: %v", want.path, err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != want.status || string(body) != want.body {
				t.Errorf("%s: got %d %q, %v", want.path, resp.StatusCode, body, err)
			}
			time.Sleep(time.Second)
		}
		reading.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A request that a drain cuts off is told so, and may still answer.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered := make(chan struct{})
		in := newIngress(t, Options{Routes: []Route{{Path: "/stuck", Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				<-r.Context().Done()
				fmt.Fprint(w, errors.Is(context.Cause(r.Context()), ErrStopping))
			})}}})
		l := make(pipes)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- in.Serve(ctx, l) }()
		client, server := net.Pipe()
		l <- server
		fmt.Fprint(client, "GET /stuck HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		<-entered
		began := time.Now()
		cancel()
		answer, err := io.ReadAll(client)
		if err != nil || !strings.HasSuffix(string(answer), "true") {
			t.Errorf("got %q, %v", answer, err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > DrainTimeout+cutTimeout {
			t.Errorf("the drain took %v", took)
		}
	})
}
