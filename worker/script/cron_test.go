package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/bundle"
)

// clerk keeps schedules, once it has failed so many times.
type clerk struct {
	failures, calls int
	told            string
}

// Call implements sidecar.Caller.
func (c *clerk) Call(_ context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	if c.calls++; c.calls <= c.failures {
		return nil, &sidecar.Error{Reason: sidecar.ReasonBroken, Message: "gone", Reset: true}
	}
	var q cron.Set
	if err := v8value.UnmarshalArguments(args, &q); err != nil {
		return nil, err
	}
	c.told = fmt.Sprintf("%s %s %s: %s %q %s", t.Namespace, t.Name, method, q.Worker, q.Crons, q.Address)
	return v8value.Marshal(nil)
}

// Fetch implements sidecar.Caller.
func (c *clerk) Fetch(context.Context, sidecar.Target, *http.Request) (*http.Response, error) {
	return nil, errors.ErrUnsupported
}

func TestTellSchedules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		crons    []string
		failures int
		after    time.Duration
		calls    int
		told     string
		warnings int
	}{
		{"at once", []string{"* * * * *"}, 0, 0, 1, `@tandem-Cron w set: w ["* * * * *"] http://127.0.0.1:1`, 0},
		{"after a start", []string{"0 0 * * *"}, 3, 1750 * time.Millisecond, 4,
			`@tandem-Cron w set: w ["0 0 * * *"] http://127.0.0.1:1`, 0},
		{"long after", []string{"0 0 * * *"}, 9, 91750 * time.Millisecond, 10,
			`@tandem-Cron w set: w ["0 0 * * *"] http://127.0.0.1:1`, 4},
		{"none", nil, 0, 0, 1, `@tandem-Cron w set: w [] http://127.0.0.1:1`, 0},
		{"none, and no host", nil, 100, 7750 * time.Millisecond, 6, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b, err := bundle.New(&bundle.Manifest{
				Name: "w", Format: bundle.FormatModules, Main: "m.js", Crons: tc.crons,
			}, []byte("x"), nil)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				s := &Script{o: Options{Bundle: b}, log: slog.New(slog.NewTextHandler(&log, nil))}
				c, start := &clerk{failures: tc.failures}, time.Now()
				s.tellSchedules(t.Context(), c, "http://127.0.0.1:1")
				if took := time.Since(start); took != tc.after || c.calls != tc.calls || c.told != tc.told {
					t.Errorf("told %q by %d calls in %v", c.told, c.calls, took)
				}
				if got := strings.Count(log.String(), "not told yet"); got != tc.warnings {
					t.Errorf("%d warnings", got)
				}
			})
		})
	}
}

// TestTellSchedulesEnds: it does not outlive its process's context.
func TestTellSchedulesEnds(t *testing.T) {
	t.Parallel()
	b, err := bundle.New(&bundle.Manifest{
		Name: "w", Format: bundle.FormatModules, Main: "m.js", Crons: []string{"* * * * *"},
	}, []byte("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s, start := &Script{o: Options{Bundle: b}, log: slog.New(slog.DiscardHandler)}, time.Now()
		s.tellSchedules(ctx, &clerk{failures: 1000}, "")
		if took := time.Since(start); took != time.Hour {
			t.Errorf("it took %v", took)
		}
	})
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{
		"127.0.0.1": "http://127.0.0.1:7", "::1": "http://[::1]:7", "0.0.0.0": "http://localhost:7", "::": "http://localhost:7",
	} {
		if got := origin(&net.TCPAddr{IP: net.ParseIP(ip), Port: 7}); got != want {
			t.Errorf("%s: got %s, want %s", ip, got, want)
		}
	}
}
