package cron

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// worker is a caller whose Worker is absent for the first calls.
type worker struct {
	absent, calls int
	err           error
	event         cron.Event
	target        sidecar.Target
}

// Call implements sidecar.Caller.
func (w *worker) Call(_ context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	if w.calls++; w.calls <= w.absent {
		return nil, &sidecar.Error{Reason: sidecar.ReasonNoSuchWorker, Message: "not found"}
	}
	if w.err != nil {
		return nil, w.err
	}
	w.target = t
	if err := v8value.UnmarshalArguments(args, &w.event); err != nil || method != cron.MethodScheduled {
		return nil, errors.Join(err, errors.New(method))
	}
	return v8value.Marshal(cron.Result{Outcome: "exception", NoRetry: true})
}

// Fetch implements sidecar.Caller.
func (*worker) Fetch(context.Context, sidecar.Target, *http.Request) (*http.Response, error) {
	return nil, errors.ErrUnsupported
}

// TestByRouter: an event goes to the Worker once; one that is not there is waited for, for less than a minute.
func TestByRouter(t *testing.T) {
	t.Parallel()
	lost := &sidecar.Error{Reason: sidecar.ReasonDisconnected, Message: "lost", Retryable: true}
	for _, tc := range []struct {
		name  string
		w     worker
		calls int
		after time.Duration
		err   string
	}{
		{"at once", worker{}, 1, 0, ""},
		{"as it restarts", worker{absent: 5}, 6, 5 * time.Second, ""},
		{"never there", worker{absent: 1000}, 61, time.Minute, "deliver a scheduled event: not found"},
		{"lost on the way", worker{err: lost}, 1, 0, "deliver a scheduled event: lost"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				deliver := Delivery(nil, ByRouter(&tc.w))
				r, err := deliver(t.Context(), cron.Event{Worker: "api", Cron: "0 0 * * *", ScheduledTime: time.UnixMilli(5)})
				if took := time.Since(start); tc.w.calls != tc.calls || took != tc.after {
					t.Errorf("%d calls in %v", tc.w.calls, took)
				}
				if tc.err != "" {
					if err == nil || !strings.Contains(err.Error(), tc.err) {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil || r.Outcome != "exception" || !r.NoRetry {
					t.Errorf("got %+v, %v", r, err)
				}
				e := tc.w.event
				if e.Worker != "api" || e.Cron != "0 0 * * *" || e.ScheduledTime.UnixMilli() != 5 ||
					tc.w.target.Worker != "api" || tc.w.target.Entrypoint != cron.Entrypoint {
					t.Errorf("got %+v at %+v", e, tc.w.target)
				}
			})
		})
	}
}

// TestDelivery: who told an address gets events there.
func TestDelivery(t *testing.T) {
	t.Parallel()
	way := func(name string) cron.Deliver {
		return func(context.Context, cron.Event) (cron.Result, error) { return cron.Result{Outcome: name}, nil }
	}
	d := Delivery(way("http"), way("router"))
	for address, want := range map[string]string{"http://127.0.0.1:1": "http", "": "router"} {
		if r, err := d(t.Context(), cron.Event{Address: address}); err != nil || r.Outcome != want {
			t.Errorf("%q: %+v, %v", address, r, err)
		}
	}
}
