package directory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
)

// fakeDirectory answers Organization by a function and counts the calls.
type fakeDirectory struct {
	Directory
	calls  atomic.Int64
	answer func(ctx context.Context) error
}

func (f *fakeDirectory) Organization(ctx context.Context, account, organization string) (Membership, error) {
	f.calls.Add(1)
	if err := f.answer(ctx); err != nil {
		return Membership{}, err
	}
	return Membership{AccountID: account, OrganizationID: organization}, nil
}

func TestCacheExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeDirectory{answer: func(context.Context) error { return nil }}
		c := Cached(f)
		for _, step := range []struct {
			wait  time.Duration
			calls int64
		}{{0, 1}, {0, 1}, {cacheTTL - time.Millisecond, 1}, {time.Millisecond, 2}} {
			time.Sleep(step.wait) // fake time
			if m, err := c.Organization(t.Context(), "a", "o"); err != nil || m.AccountID != "a" {
				t.Fatalf("got %+v, %v", m, err)
			}
			if got := f.calls.Load(); got != step.calls {
				t.Errorf("after %v: got %d queries, want %d", step.wait, got, step.calls)
			}
		}
	})
}

func TestCacheKeepsNoErrors(t *testing.T) {
	t.Parallel()
	want := ErrNotMember
	f := &fakeDirectory{answer: func(context.Context) error { return want }}
	c := Cached(f)
	for _, want = range []error{ErrNotMember, ErrUnavailable, nil} {
		if _, err := c.Organization(t.Context(), "a", "o"); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestCacheIsSingleFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := &fakeDirectory{answer: func(ctx context.Context) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		c := Cached(f)
		firstCtx, cancelFirst := context.WithCancel(t.Context())
		first, rest := make(chan error, 1), make(chan error, 3)
		go func() { _, err := c.Organization(firstCtx, "a", "o"); first <- err }()
		synctest.Wait()
		for range cap(rest) {
			go func() { _, err := c.Organization(t.Context(), "a", "o"); rest <- err }()
		}
		synctest.Wait()
		cancelFirst() // ends its own wait, not the query that the others share
		if err := <-first; !errors.Is(err, ErrUnavailable) {
			t.Errorf("canceled caller: got %v, want ErrUnavailable", err)
		}
		close(release)
		for range cap(rest) {
			if err := <-rest; err != nil {
				t.Error(err)
			}
		}
		if got := f.calls.Load(); got != 1 {
			t.Errorf("got %d queries, want 1", got)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	f := &fakeDirectory{answer: func(context.Context) error { return nil }}
	c := Cached(f).(*cached)
	for i := range cacheEntries + 10 {
		if _, err := c.Organization(t.Context(), fmt.Sprint(i), "o"); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.entries.Len(); got != cacheEntries {
		t.Errorf("got %d entries, want %d", got, cacheEntries)
	}
}

// Every trace shows how its organization was found, once: the first question, one from the cache, and those that share
// a query. It is there before whatever asked has ended.
func TestCacheIsTraced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := Cached(&fakeDirectory{answer: func(context.Context) error { <-release; return nil }})
		var recorders []*telemetrytest.Recorder
		var g sync.WaitGroup
		ask := func() {
			ctx, rec := telemetrytest.Record(t)
			recorders = append(recorders, rec)
			g.Go(func() {
				ctx, request := telemetry.Start(ctx, telemetry.SpanMCPRequest)
				_, err := c.Organization(ctx, "a", "o")
				request.End(err)
			})
		}
		ask()
		ask()
		synctest.Wait()
		close(release)
		g.Wait()
		ask() // answered from the cache
		g.Wait()
		want := []telemetrytest.Span{
			{Name: telemetry.SpanGetOrganization, Parent: telemetry.SpanMCPRequest, Status: "ok", Attributes: map[string]string{}},
			{Name: telemetry.SpanMCPRequest, Status: "ok", Attributes: map[string]string{}},
		}
		for i, rec := range recorders {
			if d := cmp.Diff(want, rec.Ended()); d != "" {
				t.Errorf("trace %d (-want +got):\n%s", i, d)
			}
		}
	})
}
