package binding_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// FindWorker makes fakeRouter know one Worker, "auth", whose processes are at the names that setWorkers was given.
func (f *fakeRouter) FindWorker(ctx context.Context, r *routerpb.FindWorkerRequest, _ ...grpc.CallOption) (
	*routerpb.FindWorkerResponse, error,
) {
	f.mu.Lock()
	names, err, slow := f.workers, f.err, f.slow
	f.asked++
	f.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if r.GetWorker() != "auth" {
		return nil, noSuchWorker(r.GetWorker())
	}
	out := &routerpb.FindWorkerResponse{}
	for _, name := range names {
		out.Processes = append(out.Processes, &routerpb.WorkerProcess{Worker: "auth", Address: "addr-" + name})
	}
	return out, err
}

func noSuchWorker(name string) error {
	return &sidecar.Error{Reason: sidecar.ReasonNoSuchWorker, Message: fmt.Sprintf("Worker %q not found.", name)}
}

func (f *fakeRouter) setWorkers(err error, names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers, f.err = names, err
}

// auth is a process of the Worker.
type auth struct{ name string }

func (a auth) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	if method == "wait" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return fmt.Append(nil, a.name, " ", t.Worker, " ", t.Entrypoint, " ", string(t.Props), " ", method, string(args)), nil
}

func (a auth) Fetch(_ context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	n, err := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, a.name, " ", n)
	return err
}

func (w *world) service(name string) *binding.Service {
	return binding.NewService(name, "Admin", []byte("{}"), w.r)
}

func (w *world) wantCall(want string) {
	w.t.Helper()
	got, err := w.service("auth").Call(w.t.Context(), "m", []byte("v"))
	if err != nil || string(got) != want+" auth Admin {} mv" {
		w.t.Errorf("got %q, %v, want %s", got, err, want)
	}
}

func TestServiceIsFoundOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		defer w.start("a", auth{"a"})()
		w.router.setWorkers(nil, "a")
		w.router.slow = time.Second
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { w.wantCall("a") })
		}
		wg.Wait()
		if n := w.router.questions(); n != 1 {
			t.Errorf("the router was asked %d times", n)
		}
	})
}

func TestServiceProcessesTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		stop := w.start("a", auth{"a"})
		defer w.start("b", auth{"b"})()
		w.router.setWorkers(nil, "a", "b")
		for _, want := range []string{"a", "b", "a", "b"} {
			w.wantCall(want)
		}
		stop() // the router does not know yet
		for range 4 {
			w.wantCall("b")
		}
	})
}

// A call waits for a Worker that restarts, where it was or elsewhere, and keeps nothing of the process that has gone.
func TestServiceRestarts(t *testing.T) {
	for _, next := range []string{"a", "b"} {
		t.Run(next, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				stop := w.start("a", auth{"a"})
				w.router.setWorkers(nil, "a")
				w.wantCall("a")
				stop()
				w.router.setWorkers(&sidecar.Error{Reason: sidecar.ReasonUnplaced, Message: "gone", Retryable: true})
				var again func()
				time.AfterFunc(2*time.Second, func() {
					again = w.start(next, auth{"new"})
					w.router.setWorkers(nil, next)
				})
				w.wantCall("new")
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", strings.NewReader("body"))
				resp, err := w.service("auth").Fetch(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "new 4" {
					t.Errorf("got %q, %v", got, err)
				}
				time.Sleep(time.Minute)
				synctest.Wait() // the link to the first process is closed by now, or the bubble does not end
				again()
			})
		})
	}
}

func TestServiceIsAbsent(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		began := time.Now()
		_, err := w.service("other").Call(t.Context(), "m", nil)
		if e := wantReason(t, err, sidecar.ReasonNoSuchWorker); e.Message != `Worker "other" not found.` {
			t.Errorf("got %q", e.Message)
		}
		body := &closeCounter{Reader: strings.NewReader("body")}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", body)
		r.ContentLength = -1
		resp, err := w.service("other").Fetch(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || string(got) != `Worker "other" not found.` {
			t.Errorf("got %d %q, %v", resp.StatusCode, got, err)
		}
		if body.count() != 1 {
			t.Errorf("the body was closed %d times", body.count())
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("it took %v", d)
		}
		// One that stays away is given up.
		w.router.setWorkers(nil, "nobody")
		_, err = w.service("auth").Call(t.Context(), "m", nil)
		e := wantReason(t, err, sidecar.ReasonUnplaced)
		if e.Message != `Worker "auth" cannot be reached at present.` || time.Since(began) > 5*time.Second {
			t.Errorf("got %q after %v", e.Message, time.Since(began))
		}
	})
}

// Who calls a process that does not answer can give up; calls of others go on.
func TestServiceIsSilent(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		defer w.start("a", auth{"a"})()
		w.router.setWorkers(nil, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.service("auth").Call(ctx, "wait", nil)
		wantReason(t, err, sidecar.ReasonDeadline)
		w.wantCall("a")
	})
}
