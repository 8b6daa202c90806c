package projects

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// Who listens to a room hears at once what others post, and is forgotten once gone.
func TestLiveStreams(t *testing.T) {
	p := start(t, "chat", nil)
	room := p.MustReady(t).WorkerURL + "/rooms/lobby"
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var lines []*bufio.Reader
	var stops []context.CancelFunc
	for range 2 {
		listening, stop := context.WithCancel(ctx)
		defer stop()
		r, err := http.NewRequestWithContext(listening, http.MethodGet, room+"/live", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines, stops = append(lines, bufio.NewReader(resp.Body)), append(stops, stop)
	}
	say := func(text string) {
		t.Helper()
		header := map[string]string{"X-User": "ann"}
		if got := harness.Do(t, http.MethodPost, room+"/messages", header, []byte(text)); got.Status != http.StatusCreated {
			t.Errorf("post: %d %s", got.Status, got.Body)
		}
	}
	hear := func(r *bufio.Reader, want string) {
		t.Helper()
		for _, want := range []string{want, ""} {
			if got, err := r.ReadString('\n'); err != nil || strings.TrimSuffix(got, "\n") != want {
				t.Fatalf("heard %q, %v, want %q", got, err, want)
			}
		}
	}
	for _, r := range lines {
		hear(r, ": welcome")
	}
	say("hi")
	for _, r := range lines {
		hear(r, "data: ann: hi")
	}
	stops[0]()
	say("still there?")
	hear(lines[1], "data: ann: still there?")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got := harness.Do(t, http.MethodGet, room+"/listeners", nil, nil).Body
		if got == "1" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s listeners are left, want 1", got)
		case <-tick.C:
		}
	}
}
