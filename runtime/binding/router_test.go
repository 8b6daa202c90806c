package binding_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tandem-do/tandem/proto/leaktest"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// fakeRouter is a router process of one answer, which tests change.
type fakeRouter struct {
	routerpb.RouterServiceClient

	mu    sync.Mutex // guards all below
	found *routerpb.LocateResponse
	err   error
	asked int
	slow  time.Duration
	// workers are where the Worker of tests of services is.
	workers []string
}

func (f *fakeRouter) Locate(ctx context.Context, _ *routerpb.LocateRequest, _ ...grpc.CallOption) (
	*routerpb.LocateResponse, error,
) {
	f.mu.Lock()
	found, err, slow := f.found, f.err, f.slow
	f.asked++
	f.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return found, err
}

func (f *fakeRouter) set(host string, epoch uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found, f.err = &routerpb.LocateResponse{HostId: host, Address: "addr-" + host, Epoch: epoch}, err
}

func (f *fakeRouter) questions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// host is a host of one epoch that notes what runs.
type host struct {
	mu    sync.Mutex // guards all below
	epoch uint64
	err   error
	calls []string
}

func (h *host) enter(t sidecar.Target, what string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.Epoch != h.epoch {
		return &sidecar.Error{Reason: sidecar.ReasonStaleEpoch, Message: "stale", Epoch: h.epoch}
	}
	h.calls = append(h.calls, what)
	return h.err
}

func (h *host) ran() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.calls)
}

func (h *host) set(epoch uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epoch, h.err = epoch, err
}

func (h *host) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	if err := h.enter(t, method); err != nil {
		return nil, err
	}
	if method == "wait" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return args, nil
}

func (h *host) Fetch(_ context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	if err := h.enter(t, r.Method); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, r.Body)
	fmt.Fprint(w, n)
	return err
}

// world is a fake router, hosts by address, and the Router under test.
type world struct {
	t      *testing.T
	router *fakeRouter
	r      *binding.Router

	mu        sync.Mutex // guards listeners
	listeners map[string]*bufconn.Listener
}

func (w *world) dial(target string) (*grpc.ClientConn, error) {
	return sidecar.Dial("passthrough:///"+target, grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			w.mu.Lock()
			l := w.listeners[target]
			w.mu.Unlock()
			if l == nil {
				return nil, errors.New("nobody listens")
			}
			return l.DialContext(ctx)
		}))
}

// start runs a host, and returns what ends it.
func (w *world) start(name string, h sidecar.Handler) (stop func()) {
	l, s := bufconn.Listen(256<<10), sidecar.NewServer(sidecar.ServerOptions{})
	sidecar.RegisterHandler(s, h)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sidecar.Serve(ctx, l, s) }()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners["addr-"+name] = l
	return func() {
		w.mu.Lock()
		delete(w.listeners, "addr-"+name)
		w.mu.Unlock()
		cancel()
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	}
}

func bubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, router: &fakeRouter{}, listeners: map[string]*bufconn.Listener{}}
		w.r = binding.NewRouter(binding.RouterOptions{Client: w.router, Dial: w.dial})
		defer func() {
			if err := w.r.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, w)
	})
}

func (w *world) stub() *binding.Stub { return binding.NewNamespace("x-A", w.r).GetByName("n") }

func wantReason(t *testing.T, err error, want sidecar.Reason) *sidecar.Error {
	t.Helper()
	e, ok := errors.AsType[*sidecar.Error](err)
	if !ok || e.Reason != want {
		t.Fatalf("got %v (%T), want %v", err, err, want)
	}
	return e
}

func TestAsksOncePerSlot(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := &host{epoch: 3}
		defer w.start("a", h)()
		w.router.set("a", 3, nil)
		w.router.slow = time.Second
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if got, err := w.stub().Call(t.Context(), "m", []byte("v")); err != nil || string(got) != "v" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		wg.Wait()
		if n := w.router.questions(); n != 1 {
			t.Errorf("the router was asked %d times", n)
		}
	})
}

// One caller that gives up does not end the question for the others.
func TestLookupOutlivesItsFirstCaller(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		defer w.start("a", &host{epoch: 3})()
		w.router.set("a", 3, nil)
		w.router.slow = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := w.stub().Call(ctx, "m", nil)
			wantReason(t, err, sidecar.ReasonCanceled)
		})
		synctest.Wait()
		if _, err := w.stub().Call(t.Context(), "m", nil); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

func TestLooksUpAgain(t *testing.T) {
	tests := []struct {
		name string
		// change is what happens to host a between two calls; it returns what ends the hosts.
		change func(w *world, a *host, stop func()) func()
		want   time.Duration // at most
	}{
		{"the host has a new epoch", func(w *world, a *host, stop func()) func() {
			a.set(4, nil)
			w.router.set("a", 4, nil)
			return stop
		}, 0},
		{"the host gets a new epoch a second later", func(w *world, a *host, stop func()) func() {
			a.set(4, nil)
			time.AfterFunc(time.Second, func() { w.router.set("a", 4, nil) })
			return stop
		}, 2 * time.Second},
		{"the host drains, another has the slot", func(w *world, _ *host, stop func()) func() {
			stop()
			w.router.set("b", 5, nil)
			return w.start("b", &host{epoch: 5})
		}, 0},
		{"the host restarts", func(w *world, _ *host, stop func()) func() {
			stop()
			var stopped func()
			time.AfterFunc(2*time.Second, func() {
				stopped = w.start("a", &host{epoch: 6})
				w.router.set("a", 6, nil)
			})
			return func() { stopped() }
		}, 4 * time.Second},
		{"nobody has the slot for a while", func(w *world, a *host, stop func()) func() {
			a.set(4, nil)
			w.router.set("", 0, &sidecar.Error{Reason: sidecar.ReasonUnplaced, Message: "gone", Retryable: true})
			time.AfterFunc(3*time.Second, func() { w.router.set("a", 4, nil) })
			return stop
		}, 4 * time.Second},
		{"the router is away for a while", func(w *world, a *host, stop func()) func() {
			a.set(4, nil)
			w.router.set("", 0, status.Error(codes.Unavailable, "connection refused"))
			time.AfterFunc(3*time.Second, func() { w.router.set("a", 4, nil) })
			return stop
		}, 4 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				a := &host{epoch: 3}
				stop := w.start("a", a)
				w.router.set("a", 3, nil)
				if _, err := w.stub().Call(t.Context(), "m", nil); err != nil {
					t.Fatal(err)
				}
				end := tt.change(w, a, stop)
				began := time.Now()
				_, err := w.stub().Call(t.Context(), "m", nil)
				if d := time.Since(began); err != nil || d > tt.want {
					t.Errorf("got %v after %v, want success within %v", err, d, tt.want)
				}
				end()
			})
		})
	}
}

func TestGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.router.set("", 0, &sidecar.Error{Reason: sidecar.ReasonUnplaced, Message: "host a is gone", Retryable: true})
		began := time.Now()
		_, err := w.stub().Call(t.Context(), "m", nil)
		e := wantReason(t, err, sidecar.ReasonUnplaced)
		if !e.Retryable || e.Message != "host a is gone" || !errors.Is(err, sidecar.ErrNotSent) {
			t.Errorf("got %+v", e)
		}
		if d := time.Since(began); d < 4*time.Second || d > 5*time.Second {
			t.Errorf("gave up after %v, want about 5s", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		_, err = w.stub().Call(ctx, "m", nil)
		wantReason(t, err, sidecar.ReasonUnplaced)
		if d := time.Since(began); d > time.Second {
			t.Errorf("gave up after %v, want at most the deadline of 1s", d)
		}
		w.router.set("", 0, status.Error(codes.InvalidArgument, "namespace is bad"))
		_, err = w.stub().Call(t.Context(), "m", nil)
		wantReason(t, err, sidecar.ReasonInvalid)
	})
}

// A call that may have run is not made again.
func TestDoesNotRepeatWhatMayHaveRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := &host{epoch: 3}
		defer w.start("a", h)()
		w.router.set("a", 3, nil)
		for _, reason := range []sidecar.Reason{
			sidecar.ReasonDisconnected, sidecar.ReasonUnplaced, sidecar.ReasonBroken, sidecar.ReasonOverloaded,
			sidecar.ReasonInternal, sidecar.ReasonException,
		} {
			h.set(3, &sidecar.Error{Reason: reason, Message: "m", Retryable: true})
			before := h.ran()
			_, err := w.stub().Call(t.Context(), "m", nil)
			wantReason(t, err, reason)
			if n := h.ran() - before; n != 1 {
				t.Errorf("%v: ran %d times", reason, n)
			}
		}
		// Nor one whose connection is lost while it runs.
		h.set(3, nil)
		time.AfterFunc(time.Second, func() { w.r.Close() })
		before := h.ran()
		_, err := w.stub().Call(t.Context(), "wait", nil)
		wantReason(t, err, sidecar.ReasonDisconnected)
		if n := h.ran() - before; n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestRepeatsRequestsWithTheirBody(t *testing.T) {
	tests := []struct {
		name string
		size int
		hide bool // the length
	}{
		{"none", 0, false}, {"small", 1000, false}, {"large", 1 << 20, false}, {"of unknown length", 1000, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				h := &host{epoch: 4}
				defer w.start("a", h)()
				w.router.set("a", 3, nil)
				time.AfterFunc(100*time.Millisecond, func() { w.router.set("a", 4, nil) })
				body := &closeCounter{Reader: bytes.NewReader(make([]byte, tt.size))}
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://do/", body)
				if r.ContentLength = int64(tt.size); tt.hide {
					r.ContentLength = -1
				}
				if tt.size == 0 {
					r.Body = nil
				}
				resp, err := w.stub().Fetch(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || string(got) != fmt.Sprint(tt.size) || resp.Request != r {
					t.Errorf("got %q, %v", got, err)
				}
				resp.Body.Close()
				synctest.Wait()
				if tt.size > 0 && body.count() == 0 {
					t.Error("the body was not closed")
				}
				if h.ran() != 1 || w.router.questions() < 2 {
					t.Errorf("ran %d times after %d questions", h.ran(), w.router.questions())
				}
			})
		})
	}
}

type closeCounter struct {
	io.Reader
	mu     sync.Mutex
	closed int
}

func (c *closeCounter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

func (c *closeCounter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// local is a Caller in this process.
type local struct{ sidecar.Caller }

func (local) Call(_ context.Context, t sidecar.Target, method string, _ []byte) ([]byte, error) {
	return fmt.Appendf(nil, "%s at %d", method, t.Epoch), nil
}

func TestDeliversLocally(t *testing.T) {
	t.Parallel()
	router := &fakeRouter{}
	router.set("me", 9, nil)
	r := binding.NewRouter(binding.RouterOptions{Client: router, LocalHostID: "me", Local: local{}})
	got, err := binding.NewNamespace("x-A", r).GetByName("n").Call(t.Context(), "m", nil)
	if err != nil || string(got) != "m at 9" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	_, err = binding.NewNamespace("x-A", r).GetByName("n").Call(t.Context(), "m", nil)
	if e := wantReason(t, err, sidecar.ReasonUnplaced); !strings.Contains(e.Message, "cannot be reached") {
		t.Errorf("after Close: got %v", err)
	}
}
