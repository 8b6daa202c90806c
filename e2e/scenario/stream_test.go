package scenario

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// raw is a client that sends what a test says: one account, one session.
type raw struct {
	t       *testing.T
	url     string
	headers map[string]string
}

// newRaw begins a session.
func newRaw(t *testing.T, s *harness.Stack, token string) raw {
	t.Helper()
	r := raw{t: t, url: s.MustReady(t).MCPURL, headers: mcpHeaders(token)}
	created := harness.Do(t, "POST", r.url, r.headers, []byte(initialize))
	id := created.Header.Get("Mcp-Session-Id")
	if created.Status != http.StatusOK || id == "" {
		t.Fatalf("initialize: %d %s", created.Status, created.Body)
	}
	r.headers["Mcp-Session-Id"] = id
	return r
}

// post sends a message and returns the whole answer.
func (r raw) post(body string) harness.Response {
	r.t.Helper()
	return harness.Do(r.t, "POST", r.url, r.headers, []byte(body))
}

// open sends a request and returns the answer with its body still to be read. It ends with ctx.
func (r raw) open(ctx context.Context, method, body string, more map[string]string) *http.Response {
	r.t.Helper()
	resp, err := r.try(ctx, method, body, more)
	if err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// try is open where the connection may break, and the caller closes the body.
func (r raw) try(ctx context.Context, method, body string, more map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, headers := range []map[string]string{r.headers, more} {
		for k, v := range headers {
			req.Header.Set(k, v)
		}
	}
	return http.DefaultClient.Do(req)
}

// executeBody is the message that executes a program.
func executeBody(id int, code string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":"execute","arguments":{"code":%q}}}`, id, code)
}

// within returns a context for what must not hang.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A second event stream takes the place of the first; DELETE ends the second, and the session.
func TestStreamIsSuperseded(t *testing.T) {
	t.Parallel()
	r := newRaw(t, shared.stack, shared.stack.NewIdentity(t).Token)
	ctx := within(t, 2*time.Minute)
	first := r.open(ctx, "GET", "", nil)
	second := r.open(ctx, "GET", "", nil)
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusOK {
		t.Fatalf("GET: %d and %d", first.StatusCode, second.StatusCode)
	}
	if _, err := io.ReadAll(first.Body); err != nil {
		t.Errorf("the first stream: %v", err)
	}
	if got := harness.Do(t, "DELETE", r.url, r.headers, nil); got.Status != http.StatusOK {
		t.Errorf("DELETE: %d %s", got.Status, got.Body)
	}
	if _, err := io.ReadAll(second.Body); err != nil {
		t.Errorf("the second stream: %v", err)
	}
	gone := r.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	expectRPCError(t, gone, 404, -32001)
	if !strings.Contains(gone.Body, "Session timed out, please reconnect") {
		t.Errorf("after DELETE: %s", gone.Body)
	}
}

// DELETE does not wait for a program that runs, and whoever waits for that is not left hanging.
func TestDeleteDuringExecute(t *testing.T) {
	t.Parallel()
	r := newRaw(t, shared.stack, shared.stack.NewIdentity(t).Token)
	ended := make(chan error, 1)
	resp := r.open(within(t, time.Minute), "POST", executeBody(2, "await new Promise(r => setTimeout(r, 25000))"),
		map[string]string{"Mcp-Protocol-Version": "2025-11-25"}) // its stream begins at once
	go func() {
		_, err := io.ReadAll(resp.Body)
		ended <- err
	}()
	began := time.Now()
	if got := harness.Do(t, "DELETE", r.url, r.headers, nil); got.Status != http.StatusOK {
		t.Errorf("DELETE: %d %s", got.Status, got.Body)
	}
	if err := <-ended; err != nil && strings.Contains(err.Error(), "deadline") || time.Since(began) > 20*time.Second {
		t.Errorf("the call's stream: %v after %v", err, time.Since(began))
	}
	expectRPCError(t, r.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), 404, -32001)
}

var eventIDLine = regexp.MustCompile(`^id: (\S+)`)

// A client whose connection breaks in a long call comes back with the id of the last event it saw, and gets the answer.
// Another session does not.
func TestResumeByLastEventID(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Env: []string{keepsSessions}})
	token := s.NewIdentity(t).Token
	r := newRaw(t, s, token)
	ctx, vanish := context.WithCancel(within(t, 2*time.Minute))
	resp := r.open(ctx, "POST", executeBody(2, "await new Promise(r => setTimeout(r, 1000)); return 'late answer'"),
		map[string]string{"Mcp-Protocol-Version": "2025-11-25"})
	var id string
	for lines := bufio.NewScanner(resp.Body); id == "" && lines.Scan(); {
		if m := eventIDLine.FindStringSubmatch(lines.Text()); m != nil {
			id = m[1]
		}
	}
	if id == "" {
		t.Fatal("the stream began without an event id")
	}
	vanish()
	again := map[string]string{"Last-Event-ID": id}
	other := newRaw(t, s, token)
	if got := other.open(within(t, 2*time.Minute), "GET", "", again); got.StatusCode != http.StatusBadRequest {
		t.Errorf("another session's stream was resumed: %d", got.StatusCode)
	}
	resumed := r.open(within(t, 2*time.Minute), "GET", "", again)
	body, err := io.ReadAll(resumed.Body)
	if err != nil || !strings.Contains(string(body), "late answer") {
		t.Errorf("resumed: %d %s, %v", resumed.StatusCode, body, err)
	}
}

// After the runtime was torn down, whatever arrives first restores it, and whatever arrives with that gets through too.
func TestRestoreTogether(t *testing.T) {
	t.Parallel()
	r := newRaw(t, shared.stack, shared.stack.NewIdentity(t).Token)
	pause(t, harness.SessionTimeout+2*time.Second)
	ctx := within(t, 2*time.Minute)
	var g sync.WaitGroup
	for i := range 4 {
		g.Go(func() {
			if resp := r.open(ctx, "GET", "", nil); resp.StatusCode != http.StatusOK {
				t.Errorf("GET: %d", resp.StatusCode)
			}
		})
		g.Go(func() {
			if got := r.post(executeBody(10+i, "return 6 * 7")); got.Status != http.StatusOK || !strings.Contains(got.Body, "42") {
				t.Errorf("POST: %d %s", got.Status, got.Body)
			}
		})
	}
	g.Wait()
}

// A request for what is not there is an error of that request alone.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	r := newRaw(t, shared.stack, shared.stack.NewIdentity(t).Token)
	got := r.post(`{"jsonrpc":"2.0","id":"q","method":"no/such"}`)
	if got.Status != http.StatusOK || !strings.Contains(got.Body, `"id":"q"`) || !strings.Contains(got.Body, "-32601") {
		t.Errorf("request: %d %s", got.Status, got.Body)
	}
	if got := r.post(`{"jsonrpc":"2.0","method":"notifications/nothing"}`); got.Status != http.StatusAccepted || got.Body != "" {
		t.Errorf("notification: %d %s", got.Status, got.Body)
	}
}
