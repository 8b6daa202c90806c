package env_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// lateIsolate is an isolate whose script passes two functions to a service.
func lateIsolate(t *testing.T, k *keeper) *isolate.Isolate {
	t.Helper()
	program, err := isolate.Compile(isolate.Source{Name: "worker.js", Code: `(function () {
		return { default: { async fetch(request, env) {
			if (request.body !== null) { await env.SVC.keep(request.body); return new Response("left"); }
			await env.SVC.keep(() => 5, () => 6); return new Response("left");
		} } };
	})`})
	if err != nil {
		t.Fatal(err)
	}
	return serviceIsolate(t, program, k)
}

// serviceIsolate is an isolate of a script whose env.SVC is s.
func serviceIsolate(t *testing.T, program *isolate.Program, s env.Service) *isolate.Isolate {
	t.Helper()
	o := env.Options{
		Manifest: &bundle.Manifest{
			Name: "w", CompatibilityDate: newDate, Services: []bundle.Service{{Binding: "SVC", Worker: "other"}},
		},
		Service: func(bundle.Service) env.Service { return s },
	}
	i, err := isolate.New(t.Context(), program, o.Isolate(webapi.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// What a script returns when its caller has given up keeps nothing alive.
func TestResultAfterItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := lateIsolate(t, &keeper{})
		defer i.Close()
		var r *env.Received
		err := i.NewContext(isolate.ContextOptions{}).Run(t.Context(), func(*isolate.Event) (goja.Value, error) {
			c, err := env.ClassesOf(webapi.Of(i))
			if err != nil {
				return nil, err
			}
			r = c.Receive(sidecar.Invocation{})
			return i.Runtime().ToValue(func(goja.FunctionCall) goja.Value { return nil }), nil
		}, func(e *isolate.Event, v goja.Value) error {
			if _, err := r.End(errors.New("its caller has gone")); err == nil {
				t.Error("no error")
			}
			return r.Finish(e, v)
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := i.Open(); n != 0 {
			t.Errorf("%d contexts are left, want 0", n)
		}
	})
}

// A reference that is made of one that has just ended ends once more: that is the same as never.
func TestExportEndsTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		i := lateIsolate(t, k)
		defer i.Close()
		if got := ask(t, i, ""); got != "left" {
			t.Fatalf("got %s", got)
		}
		k.kept[0].Drop()
		k.kept[0].Dup().Drop()
		synctest.Wait()
		call := sidecar.Invocation{Args: sidecar.Value{Bytes: []byte{0xff, 0x0f, 'A', 0, '$', 0, 0}}}
		if _, err := k.kept[1].Invoke(t.Context(), call); err != nil {
			t.Errorf("the other function: %v", err)
		}
		k.kept[1].Drop()
		synctest.Wait()
		if n := i.Open(); n != 0 {
			t.Errorf("%d contexts are left, want 0", n)
		}
	})
}

// slowBody is a request's body that closes when the client allows it.
type slowBody struct{ release chan struct{} }

func (b slowBody) Read([]byte) (int, error) {
	<-b.release
	return 0, io.EOF
}

func (b slowBody) Close() error {
	<-b.release
	return nil
}

// Whoever drops a stream does not wait until it is closed: that may be the reader of a link that others use.
func TestDropOfSlowStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		i := lateIsolate(t, k)
		defer i.Close()
		body := slowBody{make(chan struct{})}
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", body)
		if err != nil {
			t.Fatal(err)
		}
		q.ContentLength = -1
		resp, err := webapi.Fetch(t.Context(), i, q, webapi.Call{})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		dropped := make(chan struct{})
		go func() {
			defer close(dropped)
			k.kept[0].Drop()
		}()
		synctest.Wait()
		select {
		case <-dropped:
		default:
			t.Error("the drop waits for the client")
		}
		close(body.release)
		<-dropped
	})
}
