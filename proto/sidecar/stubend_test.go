package sidecar_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// A stub whose loan has ended may still be on its way back: then it is one of nothing, and the stream goes on.
func TestWithdrawnStubComesBack(t *testing.T) {
	t.Parallel()
	kept := make(chan sidecar.Stub, 2)
	release := make(chan struct{})
	h := invoker{invoke: func(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		if len(in.Args.Stubs) > 0 {
			kept <- in.Args.Stubs[0].Dup()
		}
		switch in.Path[0] {
		case "hang":
			<-ctx.Done()
			return sidecar.Value{}, ctx.Err()
		case "wait":
			<-release
		}
		return sidecar.Value{Bytes: encoded(t, true)}, nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		release = make(chan struct{}) // of the bubble
		f, g := newFake("f", nil), newFake("g", nil)
		f.invoke = func(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
			return in.Args.Stubs[0].Invoke(ctx, call())
		}
		in := call("keep")
		in.Args.Stubs = []sidecar.Stub{f}
		if _, err := n.link.Invoke(t.Context(), target("x"), in); err != nil {
			t.Fatal(err)
		}
		atHost := <-kept
		ctx, cancel := context.WithCancel(t.Context())
		in = call("hang")
		in.Args.Stubs = []sidecar.Stub{g}
		canceled, other := make(chan error, 1), make(chan error, 1)
		go func() { canceled <- second(n.link.Invoke(ctx, target("x"), in)) }()
		late := <-kept
		go func() { other <- second(n.link.Invoke(t.Context(), target("x"), call("wait"))) }()
		cancel()
		wantReason(t, <-canceled, sidecar.ReasonCanceled)
		in = call()
		in.Args.Stubs = []sidecar.Stub{late}
		if _, err := atHost.Invoke(t.Context(), in); err == nil || err.Error() != "RPC stub used after being disposed." {
			t.Errorf("got %v", err)
		}
		close(release)
		if err := <-other; err != nil {
			t.Errorf("another call on the stream: %v", err)
		}
		late.Drop()
		atHost.Drop()
		synctest.Wait()
		if f.count() != 1 || g.count() != 1 {
			t.Errorf("%d and %d references, want 1", f.count(), g.count())
		}
	})
}

// Calls on a result that is too large for the wire fail with it, and its stubs are dropped.
func TestCallsFollowTooMuch(t *testing.T) {
	t.Parallel()
	g := newFake("g", nil)
	release := make(chan struct{})
	h := invoker{invoke: func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
		<-release
		return sidecar.Value{Bytes: make([]byte, sidecar.MaxValueBytes+1), Stubs: []sidecar.Stub{g.Dup()}}, nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		release = make(chan struct{}) // of the bubble
		in := call("get")
		in.Pending = sidecar.NewPending()
		first, follows := make(chan error, 1), make(chan error, 1)
		go func() {
			v, err := n.link.Invoke(t.Context(), target("x"), in)
			in.Pending.Settle(v, err)
			first <- err
		}()
		synctest.Wait()
		go func() { follows <- second(in.Pending.Invoke(t.Context(), call("g"))) }()
		synctest.Wait()
		close(release)
		wantReason(t, <-first, sidecar.ReasonException)
		synctest.Wait()
		select {
		case err := <-follows:
			wantReason(t, err, sidecar.ReasonException)
		default:
			t.Fatal("the call that follows waits")
		}
		if g.count() != 1 {
			t.Errorf("%d references, want 1", g.count())
		}
	})
}

// Whatever a peer says is an index, only one that is there is used.
func TestIndexOfStub(t *testing.T) {
	t.Parallel()
	v := sidecar.Value{Stubs: make([]sidecar.Stub, 2)}
	for _, said := range []v8value.Value{
		-1.0, 2.0, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, "0", nil, v8value.Undefined{},
	} {
		if n, ok := v.Index(said); ok {
			t.Errorf("%v is %d", said, n)
		}
	}
	if n, ok := v.Index(1.0); n != 1 || !ok {
		t.Errorf("got %d, %v", n, ok)
	}
}

// Many errors of scripts at once are more than a message holds; they are sent as several.
func TestErrorsOfStubsAreWeighed(t *testing.T) {
	t.Parallel()
	big := &sidecar.Error{
		Reason: sidecar.ReasonException, Name: strings.Repeat("n", 16<<10), Message: strings.Repeat("m", 16<<10), Remote: true,
		Properties: strings.Repeat("p", sidecar.MaxErrorPropertiesBytes),
	}
	release := make(chan struct{})
	g := newFake("g", func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
		<-release
		return sidecar.Value{}, big
	})
	h := giving(t, g)
	bubble(t, handler(h), func(t *testing.T, n *network) {
		release = make(chan struct{}) // of the bubble
		v, err := n.link.Invoke(t.Context(), target("x"), call("get"))
		if err != nil {
			t.Fatal(err)
		}
		defer v.Drop()
		_, err = v.Stubs[0].Invoke(t.Context(), call(""))
		if e := wantReason(t, err, sidecar.ReasonNoSuchMethod); !strings.Contains(e.Message, `method ""`) {
			t.Errorf("got %v", err)
		}
		const calls = 1000
		failed := make(chan error, calls)
		for range calls {
			go func() { failed <- second(v.Stubs[0].Invoke(t.Context(), call("m"))) }()
		}
		synctest.Wait()
		close(release)
		for range calls {
			if err := <-failed; err.Error() != big.Message {
				t.Fatalf("got %.100v", err)
			}
		}
	})
}

// A host that drains ends the stream when its own last call of a stub has ended.
func TestDrainAfterCallback(t *testing.T) {
	t.Parallel()
	kept := make(chan sidecar.Stub, 1)
	h := invoker{invoke: func(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		kept <- in.Args.Stubs[0].Dup()
		return sidecar.Value{Bytes: encoded(t, true)}, nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		release := make(chan struct{})
		f := newFake("f", func(context.Context, sidecar.Invocation) (sidecar.Value, error) {
			<-release
			return sidecar.Value{Bytes: encoded(t, true)}, nil
		})
		in := call("keep")
		in.Args.Stubs = []sidecar.Stub{f}
		if _, err := n.link.Invoke(t.Context(), target("x"), in); err != nil {
			t.Fatal(err)
		}
		s, called := <-kept, make(chan error, 1)
		go func() { called <- second(s.Invoke(t.Context(), call())) }()
		synctest.Wait()
		n.server.Drain()
		synctest.Wait()
		if f.count() != 2 {
			t.Errorf("%d references while it is called, want 2", f.count())
		}
		close(release)
		if err := <-called; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if f.count() != 1 {
			t.Errorf("%d references, want 1: the stream goes on", f.count())
		}
	})
}

// A call that is given up while it waits for its turn lets none behind it overtake those before.
func TestCanceledCallKeepsOrder(t *testing.T) {
	t.Parallel()
	var entered chan string
	var release chan struct{}
	g := newFake("g", func(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
		if in.Path[0] == "first" {
			<-release
		}
		entered <- in.Path[0]
		sidecar.Entered(ctx)
		return sidecar.Value{Bytes: encoded(t, in.Path[0])}, nil
	})
	bubble(t, handler(giving(t, g)), func(t *testing.T, n *network) {
		entered, release = make(chan string, 9), make(chan struct{})
		v, err := n.link.Invoke(t.Context(), target("x"), call("get"))
		if err != nil {
			t.Fatal(err)
		}
		defer v.Drop()
		var calls sync.WaitGroup
		start := func(ctx context.Context, name string) {
			calls.Go(func() { _, _ = v.Stubs[0].Invoke(ctx, call(name)) })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		start(t.Context(), "first")
		start(ctx, "second")
		start(t.Context(), "third")
		cancel()
		synctest.Wait()
		start(t.Context(), "fourth")
		if len(entered) > 0 {
			t.Errorf("%s overtakes", <-entered)
		}
		close(release)
		calls.Wait()
		for _, want := range []string{"first", "third", "fourth"} {
			if got := <-entered; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}
