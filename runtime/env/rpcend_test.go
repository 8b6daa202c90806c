package env_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// keeper is a service that keeps what it is given.
type keeper struct{ kept []sidecar.Stub }

func (k *keeper) Fetch(context.Context, *http.Request) (*http.Response, error) { return nil, nil }

func (k *keeper) Call(context.Context, string, []byte) ([]byte, error) { return nil, nil }

func (k *keeper) Invoke(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	for _, s := range in.Args.Stubs {
		k.kept = append(k.kept, s.Dup())
	}
	return sidecar.Value{Bytes: []byte{0xff, 0x0f, '_'}}, nil
}

// A function that somebody keeps keeps its event's context, but not for ever.
func TestExportOutlivesItsEvent(t *testing.T) {
	t.Parallel()
	program, err := isolate.Compile(isolate.Source{Name: "worker.js", Code: `(function () {
		return { default: { async fetch(request, env) { await env.SVC.keep(() => 5); return new Response("left"); } } };
	})`})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		i := serviceIsolate(t, program, k)
		defer i.Close()
		for range 2 {
			if got := ask(t, i, ""); got != "left" {
				t.Fatalf("got %s", got)
			}
		}
		call := sidecar.Invocation{Args: sidecar.Value{Bytes: []byte{0xff, 0x0f, 'A', 0, '$', 0, 0}}}
		time.Sleep(10 * time.Second)
		if v, err := k.kept[0].Invoke(t.Context(), call); err != nil || string(v.Bytes) != "\xff\x0fI\x0a" {
			t.Errorf("got %q, %v", v.Bytes, err)
		}
		k.kept[0].Drop()
		time.Sleep(30 * time.Second)
		const want = "The execution context which hosts this callback is no longer running."
		for _, s := range k.kept {
			if _, err := s.Invoke(t.Context(), call); err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		}
		k.kept[1].Drop()
	})
}

// lender answers with the stubs that it is given, as its own.
type lender struct {
	keeper
	lent, dropped chan struct{}
}

func (l *lender) Invoke(_ context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	out := sidecar.Value{Bytes: in.Args.Bytes}
	for _, s := range in.Args.Stubs {
		out.Stubs = append(out.Stubs, lentStub{s.Dup(), l})
	}
	close(l.lent)
	return out, nil
}

type lentStub struct {
	sidecar.Stub
	by *lender
}

func (s lentStub) Drop() {
	s.Stub.Drop()
	s.by.dropped <- struct{}{}
}

// What a script holds of others is let go with its isolate, whether that is closed or fails.
func TestStubsEndWithTheIsolate(t *testing.T) {
	t.Parallel()
	program, err := isolate.Compile(isolate.Source{Name: "worker.js", Code: `(function () {
		return { default: { async fetch(request, env) {
			const [f] = await env.SVC.lend(() => 5);
			await scheduler.wait(1e6);
			f();
		} } };
	})`})
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(*isolate.Isolate){
		"close": (*isolate.Isolate).Close,
		"fault": func(i *isolate.Isolate) {
			_ = i.NewContext(isolate.ContextOptions{}).Run(t.Context(), func(*isolate.Event) (goja.Value, error) {
				panic("a fault of the engine")
			}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &lender{lent: make(chan struct{}), dropped: make(chan struct{}, 9)}
				i := serviceIsolate(t, program, l)
				q := httptest.NewRequest(http.MethodGet, "http://x/", http.NoBody)
				go func() { _, _ = webapi.Fetch(t.Context(), i, q, webapi.Call{}) }() //nolint:bodyclose // it fails
				<-l.lent
				synctest.Wait()
				end(i)
				synctest.Wait()
				if n := len(l.dropped); n != 1 {
					t.Errorf("the stub was dropped %d times, want once", n)
				}
				i.Close()
			})
		})
	}
}

// What the engine has forgotten is dropped though its event goes on, and once.
func TestForgottenStub(t *testing.T) {
	t.Parallel()
	program, err := isolate.Compile(isolate.Source{Name: "worker.js", Code: `(function () {
		return { default: { async fetch(request, env) {
			await (async () => { await env.SVC.lend(() => 5); })();
			await scheduler.wait(1e6);
			return new Response();
		} } };
	})`})
	if err != nil {
		t.Fatal(err)
	}
	l := &lender{lent: make(chan struct{}), dropped: make(chan struct{}, 9)}
	i := serviceIsolate(t, program, l)
	defer i.Close()
	q := httptest.NewRequest(http.MethodGet, "http://x/", http.NoBody)
	go func() { _, _ = webapi.Fetch(t.Context(), i, q, webapi.Call{}) }() //nolint:bodyclose // it fails
	<-l.lent
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		runtime.GC()
		select {
		case <-l.dropped:
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}
