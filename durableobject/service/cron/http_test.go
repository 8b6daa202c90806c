package cron_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/durableobject/service/cron"
	protocron "github.com/tandem-do/tandem/proto/cron"
)

// roundTrip is a network with one answer.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestByHTTP(t *testing.T) {
	t.Parallel()
	event := protocron.Event{
		Worker: "w", Address: "http://127.0.0.1:1", Cron: "*/5 * * * *", ScheduledTime: time.UnixMilli(1000),
	}
	const want = "http://127.0.0.1:1/cdn-cgi/local/scheduled?cron=%2A%2F5+%2A+%2A+%2A+%2A&format=json&time=1000"
	for _, tc := range []struct {
		name   string
		event  protocron.Event
		status int
		body   string
		err    error
		want   string
	}{
		{"ok", event, 200, `{"outcome":"ok","noRetry":false}`, nil, "ok"},
		{"exception", event, 500, `{"outcome":"exception","noRetry":true}`, nil, "exception no retry"},
		{"other server", event, 404, `<html>`, nil, "the Worker answered a scheduled event with status 404 and no outcome"},
		{"empty object", event, 200, `{}`, nil, "the Worker answered a scheduled event with status 200 and no outcome"},
		{"unreachable", event, 0, "", errors.New("refused"), "deliver a scheduled event: refused"},
		{"no address", protocron.Event{}, 0, "", nil, "the Worker told no address to deliver events to"},
	} {
		deliver := cron.ByHTTP(roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.String() != want || r.Method != http.MethodPost {
				t.Errorf("%s: asked for %s %s", tc.name, r.Method, r.URL)
			}
			return &http.Response{StatusCode: tc.status, Body: io.NopCloser(strings.NewReader(tc.body))}, tc.err
		}))
		r, err := deliver(context.Background(), tc.event)
		got := r.Outcome
		if r.NoRetry {
			got += " no retry"
		}
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}
