package script

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// A response that is being streamed is cancelled when its client goes away, though nothing is written to it.
func TestClientGone(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 8)
	s, err := New(t.Context(), Options{
		Bundle: newBundle(t, `export default { fetch() {
			return new Response(new ReadableStream({
				start(c) { c.enqueue(new TextEncoder().encode("first")); },
				pull() { return scheduler.wait(60_000); },
				cancel() { console.log("cancelled"); },
			}));
		} }`),
		Isolates: 1,
		OnLog:    func(e isolate.Entry) { lines <- e.Text },
	}, &room{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 5)
	if _, err := resp.Body.Read(first); err != nil || string(first) != "first" {
		t.Error(string(first), err)
	}
	cancel()
	deadline, stop := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer stop()
	select {
	case line := <-lines:
		if !strings.Contains(line, "cancelled") {
			t.Error(line)
		}
	case <-deadline.Done():
		t.Error("the stream was not cancelled")
	}
}
