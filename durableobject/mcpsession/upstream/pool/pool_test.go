package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/pool"
	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// fakes opens sources that answer when they are told to.
type fakes struct {
	// mu guards the fields below.
	mu             sync.Mutex
	opened, closed int
	running, most  int
	err            error
	// hold, if set, is waited for by each call.
	hold chan struct{}
}

type source struct{ f *fakes }

func (f *fakes) open(context.Context) (upstream.Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	f.opened++
	return source{f}, nil
}

func (f *fakes) count(running int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running += running
	f.most = max(f.most, f.running)
}

func (f *fakes) expect(t *testing.T, opened, closed int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened != opened || f.closed != closed {
		t.Errorf("opened %d, closed %d, want %d and %d", f.opened, f.closed, opened, closed)
	}
}

// Tools implements upstream.Source.
func (source) Tools(context.Context) ([]upstream.Tool, error) { return nil, nil }

// Call implements upstream.Source.
func (s source) Call(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
	s.f.count(1)
	defer s.f.count(-1)
	s.f.mu.Lock()
	hold, err := s.f.hold, s.f.err
	s.f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return json.RawMessage(`1`), err
}

// Close implements upstream.Source.
func (s source) Close() error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.closed++
	return nil
}

func in(t *testing.T, o pool.Options, fn func(t *testing.T, p *pool.Pool, f *fakes)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(o)
		defer p.Close()
		fn(t, p, &fakes{})
	})
}

func key(n int) pool.Key { return pool.Key{Owner: "o", Source: fmt.Sprint("s", n), Revision: 1} }

func TestBounds(t *testing.T) {
	in(t, pool.Options{MaxConnections: 8, MaxCalls: 3}, func(t *testing.T, p *pool.Pool, f *fakes) {
		f.hold = make(chan struct{})
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() {
				if _, err := p.Call(t.Context(), key(1), f.open, "a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if f.most != 3 {
			t.Errorf("%d calls at once", f.most)
		}
		calls.Go(func() { _, _ = p.Call(t.Context(), key(2), f.open, "a", nil) })
		synctest.Wait()
		_, err := p.Call(t.Context(), key(3), f.open, "a", nil)
		var e *upstream.Error
		if !errors.As(err, &e) || e.Code != upstream.CodeUnavailable || !strings.Contains(e.Message, "2 sources are in use") {
			t.Errorf("a third connection: %v", err)
		}
		close(f.hold)
		calls.Wait()
		f.expect(t, 2, 0)
		// An idle one makes room.
		if _, err := p.Call(t.Context(), key(3), f.open, "a", nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		f.expect(t, 3, 1)
	})
}

// The owners together are bounded as well.
func TestBoundOfAllOwners(t *testing.T) {
	in(t, pool.Options{MaxConnections: 2}, func(t *testing.T, p *pool.Pool, f *fakes) {
		f.hold = make(chan struct{})
		var calls sync.WaitGroup
		for n := range 2 {
			calls.Go(func() { _, _ = p.Call(t.Context(), pool.Key{Owner: fmt.Sprint(n)}, f.open, "a", nil) })
		}
		synctest.Wait()
		if _, err := p.Call(t.Context(), key(3), f.open, "a", nil); err == nil || !strings.Contains(err.Error(), "as can be") {
			t.Errorf("a third connection: %v", err)
		}
		close(f.hold)
		calls.Wait()
		if _, err := p.Call(t.Context(), key(3), f.open, "a", nil); err != nil {
			t.Error(err)
		}
	})
}

// heavy is a source that takes memory.
type heavy struct{ source }

// WeightBytes implements pool.Weighty.
func (heavy) WeightBytes() int { return 4 }

func TestWeight(t *testing.T) {
	in(t, pool.Options{MaxWeightBytes: 9}, func(t *testing.T, p *pool.Pool, f *fakes) {
		open := func(ctx context.Context) (upstream.Source, error) {
			_, err := f.open(ctx)
			return heavy{source{f}}, err
		}
		for n := range 5 {
			if _, err := p.Call(t.Context(), key(n), open, "a", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		f.expect(t, 5, 3) // two are within the bound
		f.hold = make(chan struct{})
		var calls sync.WaitGroup
		for _, n := range []int{3, 4} {
			calls.Go(func() { _, _ = p.Call(t.Context(), key(n), open, "a", nil) })
		}
		synctest.Wait()
		if _, err := p.Call(t.Context(), key(9), open, "a", nil); err == nil || !strings.Contains(err.Error(), "large sources") {
			t.Errorf("a third heavy one: %v", err)
		}
		f.expect(t, 6, 4) // what was too heavy is closed
		close(f.hold)
		calls.Wait()
		if _, err := p.Call(t.Context(), key(9), open, "a", nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		f.expect(t, 7, 5)
	})
}

func TestCallerGoesAway(t *testing.T) {
	in(t, pool.Options{}, func(t *testing.T, p *pool.Pool, f *fakes) {
		f.hold = make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if _, err := p.Call(ctx, key(1), f.open, "a", nil); !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
		close(f.hold)
		if _, err := p.Call(t.Context(), key(1), f.open, "a", nil); err != nil {
			t.Error(err)
		}
		f.expect(t, 1, 0)
	})
}

// What failed is opened anew, by the next call and not by the same.
func TestFailedConnections(t *testing.T) {
	in(t, pool.Options{}, func(t *testing.T, p *pool.Pool, f *fakes) {
		call := func() error { _, err := p.Call(t.Context(), key(1), f.open, "a", nil); return err }
		f.err = upstream.Errorf(upstream.CodeUnavailable, "down")
		if err := call(); err == nil || err.Error() != "down" {
			t.Errorf("got %v", err)
		}
		f.err = nil
		if err := call(); err != nil {
			t.Error(err)
		}
		f.expect(t, 1, 0)
		f.err = upstream.Errorf(upstream.CodeFailed, "no such issue")
		if err := call(); err == nil {
			t.Error("no error")
		}
		f.expect(t, 1, 0) // the source's own error is none of the connection's
		f.err = upstream.Errorf(upstream.CodeUnavailable, "lost")
		if err := call(); err == nil {
			t.Error("no error")
		}
		f.expect(t, 1, 1)
		f.err = nil
		if err := call(); err != nil {
			t.Error(err)
		}
		f.expect(t, 2, 1)
	})
}

func TestDropAndClose(t *testing.T) {
	in(t, pool.Options{}, func(t *testing.T, p *pool.Pool, f *fakes) {
		old, now := key(1), key(1)
		now.Revision = 2
		for _, k := range []pool.Key{old, now, key(2)} {
			if _, err := p.Call(t.Context(), k, f.open, "a", nil); err != nil {
				t.Fatal(err)
			}
		}
		p.Drop("o", "s1", 2)
		f.expect(t, 3, 1)
		f.hold = make(chan struct{})
		var call sync.WaitGroup
		call.Go(func() {
			if _, err := p.Call(t.Context(), key(2), f.open, "a", nil); err != nil {
				t.Errorf("a call under way: %v", err)
			}
		})
		synctest.Wait()
		p.Close()
		f.expect(t, 3, 2)
		close(f.hold)
		call.Wait()
		f.expect(t, 3, 3)
		if _, err := p.Call(t.Context(), key(2), f.open, "a", nil); err == nil {
			t.Error("called after the end")
		}
	})
}

func TestPanicWhileOpening(t *testing.T) {
	in(t, pool.Options{}, func(t *testing.T, p *pool.Pool, f *fakes) {
		_, err := p.Call(t.Context(), key(1), func(context.Context) (upstream.Source, error) { panic("x") }, "a", nil)
		if err == nil || err.Error() != "the source failed" {
			t.Errorf("got %v", err)
		}
		if _, err := p.Call(t.Context(), key(1), f.open, "a", nil); err != nil {
			t.Error(err)
		}
	})
}
