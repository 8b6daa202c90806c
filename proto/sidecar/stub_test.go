package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// fakeStub is something exported whose calls a function takes, and that counts its references.
type fakeStub struct {
	name   string
	invoke func(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error)

	mu   sync.Mutex // guards refs
	refs int
}

func newFake(name string, invoke func(context.Context, sidecar.Invocation) (sidecar.Value, error)) *fakeStub {
	return &fakeStub{name: name, invoke: invoke, refs: 1}
}

func (f *fakeStub) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	return f.invoke(ctx, in)
}

func (f *fakeStub) Dup() sidecar.Stub {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refs++
	return f
}

func (f *fakeStub) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refs--
}

func (f *fakeStub) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refs
}

// invoker is a handler of calls with stubs.
type invoker struct {
	handlerFuncs
	invoke func(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error)
}

func (i invoker) Invoke(ctx context.Context, _ sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	return i.invoke(ctx, in)
}

// giving gives whoever calls it a stub.
func giving(t *testing.T, g sidecar.Stub) invoker {
	return invoker{invoke: func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
		return sidecar.Value{Bytes: encoded(t, stubAt(0)), Stubs: []sidecar.Stub{g.Dup()}}, nil
	}}
}

func encoded(t testing.TB, v v8value.Value) []byte {
	t.Helper()
	b, err := v8value.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func object(name string, v v8value.Value) *v8value.Object {
	return &v8value.Object{Properties: []v8value.Property{{Key: name, Value: v}}}
}

// stubAt is the n-th stub of a value.
func stubAt(n int) v8value.Value { return &v8value.Host{Kind: sidecar.HostStub, Value: float64(n)} }

func text(t testing.TB, v sidecar.Value) string {
	t.Helper()
	got, err := v8value.Decode(v.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(got)
}

func call(path ...string) sidecar.Invocation {
	return sidecar.Invocation{Path: path, Args: sidecar.Value{Bytes: []byte{0xff, 0x0f, 'A', 0, '$', 0, 0}}}
}

// Arguments are lent for the call; what the host keeps of them it can call afterwards, until it drops it.
func TestStubsOfArguments(t *testing.T) {
	t.Parallel()
	kept := make(chan sidecar.Stub, 1)
	h := invoker{invoke: func(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		if in.Path[0] == "keep" {
			kept <- in.Args.Stubs[0].Dup()
		}
		return in.Args.Stubs[0].Invoke(ctx, call("f"))
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		f := newFake("f", func(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
			return sidecar.Value{Bytes: encoded(t, in.Path[0])}, nil
		})
		for _, method := range []string{"use", "keep"} {
			in := call(method)
			in.Args.Stubs = []sidecar.Stub{f}
			v, err := n.link.Invoke(t.Context(), target("x"), in)
			if err != nil || text(t, v) != "f" {
				t.Fatalf("%s: got %v, %v", method, v, err)
			}
			synctest.Wait()
			if want := map[string]int{"use": 1, "keep": 2}[method]; f.count() != want {
				t.Errorf("%s: %d references, want %d", method, f.count(), want)
			}
		}
		s := <-kept
		if v, err := s.Invoke(t.Context(), call("again")); err != nil || text(t, v) != "again" {
			t.Errorf("got %v, %v", v, err)
		}
		s.Drop()
		synctest.Wait()
		if f.count() != 1 {
			t.Errorf("%d references, want 1", f.count())
		}
		if _, err := s.Invoke(t.Context(), call("late")); err == nil || err.Error() != "RPC stub used after being disposed." {
			t.Errorf("after the drop: got %v", err)
		}
	})
}

// Results' stubs are the caller's. One that returns home is what it was, and takes no detour.
func TestStubsOfResults(t *testing.T) {
	t.Parallel()
	g := newFake("g", nil)
	home := make(chan sidecar.Stub, 1)
	h := invoker{invoke: func(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		if in.Path[0] == "back" {
			home <- in.Args.Stubs[0].Dup()
			return sidecar.Value{Bytes: encoded(t, true)}, nil
		}
		return sidecar.Value{Bytes: encoded(t, stubAt(0)), Stubs: []sidecar.Stub{g.Dup()}}, nil
	}}
	g.invoke = func(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		return sidecar.Value{Bytes: encoded(t, len(in.Path) == 0 && in.Read)}, nil
	}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		v, err := n.link.Invoke(t.Context(), target("x"), call("get"))
		if err != nil || len(v.Stubs) != 1 {
			t.Fatalf("got %v, %v", v, err)
		}
		if got, err := v.Stubs[0].Invoke(t.Context(), sidecar.Invocation{Read: true}); err != nil || text(t, got) != "true" {
			t.Errorf("got %v, %v", got, err)
		}
		in := call("back")
		in.Args.Stubs = v.Stubs
		if _, err := n.link.Invoke(t.Context(), target("x"), in); err != nil {
			t.Fatal(err)
		}
		if s := <-home; s != sidecar.Stub(g) {
			t.Errorf("got %v home, want what was exported", s)
		}
		g.Drop()
		v.Drop()
		synctest.Wait()
		if g.count() != 1 {
			t.Errorf("%d references, want 1", g.count())
		}
		n.cut()
		synctest.Wait()
		wantReason(t, second(v.Stubs[0].Invoke(t.Context(), call("late"))), sidecar.ReasonDisconnected)
	})
}

func second[T any](_ T, err error) error { return err }

// The end of the connection drops what is exported, and fails what waits.
func TestStubsEndWithTheStream(t *testing.T) {
	t.Parallel()
	g := newFake("g", func(ctx context.Context, _ sidecar.Invocation) (sidecar.Value, error) {
		<-ctx.Done()
		return sidecar.Value{}, ctx.Err()
	})
	h := giving(t, g)
	bubble(t, handler(h), func(t *testing.T, n *network) {
		v, err := n.link.Invoke(t.Context(), target("x"), call("get"))
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- second(v.Stubs[0].Invoke(t.Context(), call("wait"))) }()
		synctest.Wait()
		if g.count() != 2 { // its own and the export's
			t.Errorf("%d references, want 2", g.count())
		}
		n.cut()
		wantReason(t, <-failed, sidecar.ReasonDisconnected)
		synctest.Wait()
		if g.count() != 1 {
			t.Errorf("%d references, want 1", g.count())
		}
	})
}

// Calls on a result that is not there yet are on their way before it is: they reach the host while the first call runs.
func TestCallsFollowACall(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	var seen []string
	var mu sync.Mutex // guards seen
	g := newFake("g", func(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, in.Path[0])
		return sidecar.Value{Bytes: encoded(t, in.Path[0])}, nil
	})
	h := invoker{invoke: func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
		<-release
		return sidecar.Value{Bytes: encoded(t, object("g", stubAt(0))), Stubs: []sidecar.Stub{g.Dup()}}, nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		release = make(chan struct{}) // of the bubble
		p := sidecar.NewPending()
		in := call("get")
		in.Pending = p
		var first sidecar.Value
		done := make(chan struct{})
		go func() {
			defer close(done)
			var err error
			first, err = n.link.Invoke(t.Context(), target("x"), in)
			p.Settle(first, err)
		}()
		synctest.Wait()
		const calls = 20
		got := make(chan string, calls)
		for k := range calls {
			go func() {
				v, err := p.Invoke(t.Context(), call("g", fmt.Sprint(k)))
				if err != nil {
					got <- err.Error()
					return
				}
				got <- text(t, v)
			}()
			synctest.Wait() // they are sent in this order
		}
		if len(got) > 0 {
			t.Error("a call was answered before the first one")
		}
		n.server.Drain() // no new call gets through from here: those that follow are at the host
		close(release)
		<-done
		for range calls {
			<-got
		}
		mu.Lock()
		defer mu.Unlock()
		var want []string
		for k := range calls {
			want = append(want, fmt.Sprint(k))
		}
		if !slices.Equal(seen, want) {
			t.Errorf("the calls came as %v", seen)
		}
		if v, err := p.Invoke(t.Context(), sidecar.Invocation{Path: []string{"g"}, Read: true}); err != nil || len(v.Stubs) != 1 {
			t.Errorf("read: got %v, %v", v, err)
		} else {
			v.Drop()
		}
		first.Drop()
	})
}

// What follows a call that gives plain data finds it with the caller.
func TestCallsFollowData(t *testing.T) {
	t.Parallel()
	h := invoker{invoke: func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
		return sidecar.Value{Bytes: encoded(t, object("a", object("b", 5.0)))}, nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		p := sidecar.NewPending()
		in := call("get")
		in.Pending = p
		v, err := n.link.Invoke(t.Context(), target("x"), in)
		p.Settle(v, err)
		for _, c := range []struct {
			in   sidecar.Invocation
			want string
		}{
			{sidecar.Invocation{Path: []string{"a", "b"}, Read: true}, "5"},
			{sidecar.Invocation{Path: []string{"a", "c"}, Read: true}, `The RPC receiver does not implement the method "c".`},
			{sidecar.Invocation{Path: []string{"a", "b", "c"}, Read: true}, `The RPC receiver does not implement the method "c".`},
			{call("a", "b"), `"b" is not a function.`},
			{call(), `"(this)" is not a function.`},
		} {
			v, err := p.Invoke(t.Context(), c.in)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = text(t, v)
			}
			if got != c.want {
				t.Errorf("%v: got %s, want %s", c.in.Path, got, c.want)
			}
		}
	})
}

// Whoever gives up a call of a stub ends it, and its arguments are its own again.
func TestStubCallIsCanceled(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	g := newFake("g", func(ctx context.Context, _ sidecar.Invocation) (sidecar.Value, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return sidecar.Value{}, ctx.Err()
	})
	h := giving(t, g)
	bubble(t, handler(h), func(t *testing.T, n *network) {
		v, err := n.link.Invoke(t.Context(), target("x"), call("get"))
		if err != nil {
			t.Fatal(err)
		}
		defer v.Drop()
		f := newFake("f", nil)
		in := call("wait")
		in.Args.Stubs = []sidecar.Stub{f}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantReason(t, second(v.Stubs[0].Invoke(ctx, in)), sidecar.ReasonDeadline)
		if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v", err)
		}
		synctest.Wait()
		if f.count() != 1 {
			t.Errorf("%d references of the argument, want 1", f.count())
		}
	})
}

// Limits of stubs hold on both ends.
func TestStubLimits(t *testing.T) {
	t.Parallel()
	g := newFake("g", nil)
	h := invoker{invoke: func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
		v := sidecar.Value{Bytes: encoded(t, true)}
		for range sidecar.MaxStubs + 1 {
			v.Stubs = append(v.Stubs, g.Dup())
		}
		return v, nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		in := call("m")
		for range sidecar.MaxStubs + 1 {
			in.Args.Stubs = append(in.Args.Stubs, g)
		}
		wantReason(t, second(n.link.Invoke(t.Context(), target("x"), in)), sidecar.ReasonOverloaded)
		wantReason(t, second(n.link.Invoke(t.Context(), target("x"), call("m"))), sidecar.ReasonOverloaded)
		wantReason(t, second(n.link.Invoke(t.Context(), target("x"), call(make([]string, 100)...))), sidecar.ReasonInvalid)
		synctest.Wait()
		if g.count() != 1 {
			t.Errorf("%d references, want 1", g.count())
		}
	})
}
