package scenario

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// restless is a client that goes on whatever happens to the stack, and notes what must not happen.
type restless struct {
	t        *testing.T
	url      string
	token    string
	requests int
	// sessions are those that an initialize was answered with.
	sessions []string
}

// send sends a message. What a killed process excuses is a broken connection, a cut body, or 503 with Retry-After.
func (w *restless) send(ctx context.Context, session, body string) (answer string, header http.Header) {
	w.requests++
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range mcpHeaders(w.token) {
		r.Header.Set(k, v)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.hangs(ctx, body)
		return "", nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		w.hangs(ctx, body)
		return "", nil
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return "", nil
	case resp.StatusCode != http.StatusOK:
		w.t.Errorf("%s: %d %s", body, resp.StatusCode, data)
		return "", nil
	}
	return string(data), resp.Header
}

func (w *restless) hangs(ctx context.Context, body string) {
	if ctx.Err() != nil {
		w.t.Errorf("no answer in two minutes: %s", body)
	}
}

// work begins sessions and executes in them until stop is closed and there is one, for two minutes more at most.
func (w *restless) work(stop <-chan struct{}) {
	var last time.Time
	for n := 0; ; n++ {
		select {
		case <-stop:
			if last.IsZero() {
				last = time.Now().Add(2 * time.Minute)
			}
			if len(w.sessions) > 0 || time.Now().After(last) {
				return
			}
		default:
		}
		_, header := w.send(w.t.Context(), "", initialize)
		id := header.Get("Mcp-Session-Id")
		if id == "" {
			continue
		}
		w.sessions = append(w.sessions, id)
		for i := range 3 {
			answer, _ := w.send(w.t.Context(), id, executeBody(i, fmt.Sprintf("return 'r' + %d", n)))
			if answer != "" && !strings.Contains(answer, fmt.Sprintf("r%d", n)) && !strings.Contains(answer, `"isError":true`) &&
				!strings.Contains(answer, `"code":-32001`) {
				w.t.Errorf("execute gave %s", answer)
			}
		}
	}
}

// Each process is killed while clients are at work: nothing hangs, nothing but what is excused is answered, and every
// session whose initialize was answered is there afterwards.
func TestKillDuringWork(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{})
	url := s.MustReady(t).MCPURL
	stop := make(chan struct{})
	var g sync.WaitGroup
	var clients []*restless
	for range 3 {
		w := &restless{t: t, url: url, token: s.NewIdentity(t).Token}
		clients = append(clients, w)
		g.Go(func() { w.work(stop) })
	}
	for _, process := range []string{"durableobject", "worker", "router", "sandbox", "traces", "auth", "durableobject"} {
		pause(t, 300*time.Millisecond)
		s.Kill(t, process)
	}
	pause(t, 300*time.Millisecond)
	close(stop)
	g.Wait()
	for _, w := range clients {
		if len(w.sessions) == 0 {
			t.Errorf("a client got no session in %d requests", w.requests)
		}
		for _, id := range w.sessions {
			headers := mcpHeaders(w.token)
			headers["Mcp-Session-Id"] = id
			r := harness.Do(t, "POST", url, headers, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if r.Status != http.StatusOK || !strings.Contains(r.Body, "execute") {
				t.Fatalf("session %s afterwards: %d %s", id, r.Status, r.Body)
			}
		}
	}
}

// Two stacks beside each other know nothing of each other: neither's tokens nor sessions count at the other.
func TestTwoStacks(t *testing.T) {
	t.Parallel()
	one, two := shared.stack, start(t, harness.Options{})
	token := two.NewIdentity(t).Token
	there := newRaw(t, two, token)
	here := harness.Do(t, "POST", one.MustReady(t).MCPURL, there.headers, []byte(initialize))
	expectRPCError(t, here, 401, -32001)
	headers := mcpHeaders(one.NewIdentity(t).Token)
	headers["Mcp-Session-Id"] = there.headers["Mcp-Session-Id"]
	foreign := harness.Do(t, "POST", one.MustReady(t).MCPURL, headers, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	expectRPCError(t, foreign, 404, -32001)
	if got := there.post(executeBody(2, "return 6 * 7")); !strings.Contains(got.Body, "42") {
		t.Errorf("execute: %d %s", got.Status, got.Body)
	}
}
