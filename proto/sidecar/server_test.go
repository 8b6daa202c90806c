package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// A host that drains finishes what runs, bodies too, refuses the rest, and ends within its bound.
func TestDrain(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	h := handlerFuncs{
		call: func(ctx context.Context, _ sidecar.Target, method string, args []byte) ([]byte, error) {
			if method == "stuck" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			<-release
			return args, nil
		},
		fetch: func(_ context.Context, _ sidecar.Target, w http.ResponseWriter, _ *http.Request) error {
			<-release
			_, err := w.Write(make([]byte, 1<<20))
			return err
		},
	}
	tests := []struct {
		name string
		test func(t *testing.T, n *network)
	}{
		{"what runs is finished", func(t *testing.T, n *network) {
			var wg sync.WaitGroup
			wg.Go(func() {
				if got, err := n.link.Call(t.Context(), target("x"), "m", []byte("v")); err != nil || string(got) != "v" {
					t.Errorf("got %q, %v", got, err)
				}
			})
			wg.Go(func() {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://do/", nil)
				resp, err := n.link.Fetch(t.Context(), target("x"), r)
				if err != nil {
					t.Error(err)
					return
				}
				// Its stream is opened after the host began to drain.
				if got, err := io.Copy(io.Discard, resp.Body); got != 1<<20 || err != nil {
					t.Errorf("got %d bytes, %v", got, err)
				}
			})
			synctest.Wait()
			n.stop()
			synctest.Wait()
			if err := sidecar.HealthCheck(t.Context(), n.conn); err == nil {
				t.Error("the server says that it serves")
			}
			_, err := n.link.Call(t.Context(), target("x"), "m", nil)
			if e := wantReason(t, err, sidecar.ReasonDraining); !e.Retryable {
				t.Errorf("got %+v", e)
			}
			close(release)
			wg.Wait()
			if err := <-n.served; err != nil {
				t.Error(err)
			}
			_, err = n.link.Call(t.Context(), target("x"), "m", nil)
			wantReason(t, err, sidecar.ReasonDisconnected)
			if !errors.Is(err, sidecar.ErrNotSent) {
				t.Errorf("got %v, want ErrNotSent in its chain", err)
			}
		}},
		{"what is stuck is ended", func(t *testing.T, n *network) {
			began := time.Now()
			var wg sync.WaitGroup
			wg.Go(func() {
				_, err := n.link.Call(t.Context(), target("x"), "stuck", nil)
				wantReason(t, err, sidecar.ReasonDisconnected)
			})
			synctest.Wait()
			n.stop()
			wg.Wait()
			if err := <-n.served; err != nil {
				t.Error(err)
			}
			if d := time.Since(began); d != sidecar.DrainTimeout {
				t.Errorf("ended after %v", d)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				n := start(t, handler(h))
				defer func() {
					if err := errors.Join(n.link.Close(), n.conn.Close()); err != nil {
						t.Error(err)
					}
				}()
				tt.test(t, n)
			})
		})
	}
}

// A restarted host is found again within about a second.
func TestRestart(t *testing.T) {
	t.Parallel()
	bubble(t, handler(handlerFuncs{call: echo}), func(t *testing.T, n *network) {
		if _, err := n.link.Call(t.Context(), target("x"), "m", nil); err != nil {
			t.Fatal(err)
		}
		n.halt()
		for range 100 { // long enough for the longest backoff
			_, err := n.link.Call(t.Context(), target("x"), "m", nil)
			if !errors.Is(err, sidecar.ErrNotSent) {
				t.Fatalf("got %v, want ErrNotSent in its chain", err)
			}
			time.Sleep(300 * time.Millisecond)
		}
		n.serve(handler(handlerFuncs{call: echo}))
		began := time.Now()
		for {
			if _, err := n.link.Call(t.Context(), target("x"), "m", nil); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(began); d > 1300*time.Millisecond {
			t.Errorf("found again after %v", d)
		}
	})
}

// Calls for one target enter in the order in which they were sent, while they overlap.
func TestOrder(t *testing.T) {
	t.Parallel()
	const calls = 300
	var mu sync.Mutex // guards entered
	entered := map[string][]byte{}
	h := handlerFuncs{call: func(ctx context.Context, to sidecar.Target, _ string, args []byte) ([]byte, error) {
		mu.Lock()
		entered[to.Name] = append(entered[to.Name], args[0])
		mu.Unlock()
		sidecar.Entered(ctx)
		<-ctx.Done() // none returns before all have entered
		return nil, ctx.Err()
	}}
	ordered := func(s *sidecar.Server) { sidecar.RegisterOrderedHandler(s, h) }
	bubble(t, ordered, func(t *testing.T, n *network) {
		ctx, cancel := context.WithCancel(t.Context())
		frames := make([]*dopb.CallerFrame, calls)
		for i := range frames {
			frames[i] = rawCall(uint64(i+1), fmt.Sprint(i%2), &dopb.RpcRequest{Method: "m", Arguments: []byte{byte(i / 2)}})
		}
		if _, err := rawSend(ctx, n.conn, frames...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		for name, got := range entered {
			if len(got) != calls/2 {
				t.Errorf("target %s: %d calls entered", name, len(got))
			}
			for i, b := range got {
				if int(b) != i {
					t.Fatalf("target %s: call %d entered as number %d", name, b, i)
				}
			}
		}
	})
}

// An ordered handler that has not entered holds back the calls for its target, and no others.
func TestOrderHoldsBack(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{call: func(ctx context.Context, _ sidecar.Target, method string, _ []byte) ([]byte, error) {
		if method == "slow" {
			time.Sleep(time.Second)
			sidecar.Entered(ctx)
			time.Sleep(time.Second)
		}
		return nil, nil
	}}
	bubble(t, func(s *sidecar.Server) { sidecar.RegisterOrderedHandler(s, h) }, func(t *testing.T, n *network) {
		took := func(to string, method string, want time.Duration) func() {
			return func() {
				began := time.Now()
				if _, err := n.link.Call(t.Context(), target(to), method, nil); err != nil {
					t.Error(err)
				}
				if d := time.Since(began); d != want {
					t.Errorf("%s for %s took %v, want %v", method, to, d, want)
				}
			}
		}
		var wg sync.WaitGroup
		wg.Go(took("x", "slow", 2*time.Second))
		synctest.Wait()
		wg.Go(took("x", "fast", time.Second))
		wg.Go(took("y", "fast", 0))
		wg.Wait()
	})
}

// brokenRouter is a service whose handlers go wrong.
type brokenRouter struct {
	routerpb.UnimplementedRouterServiceServer
	seen trace.SpanContext
}

func (*brokenRouter) Join(context.Context, *routerpb.JoinRequest) (*routerpb.JoinResponse, error) {
	panic("secret")
}

func (*brokenRouter) Renew(context.Context, *routerpb.RenewRequest) (*routerpb.RenewResponse, error) {
	return nil, errors.New("secret")
}

func (b *brokenRouter) Leave(ctx context.Context, _ *routerpb.LeaveRequest) (*routerpb.LeaveResponse, error) {
	b.seen = trace.SpanContextFromContext(ctx)
	return nil, status.Error(codes.NotFound, "no such lease")
}

func TestInterceptors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		broken := &brokenRouter{}
		s := sidecar.NewServer(sidecar.ServerOptions{Log: slog.New(slog.NewTextHandler(&log, nil)), Reflection: true})
		routerpb.RegisterRouterServiceServer(s, broken)
		l := bufconn.Listen(1 << 10)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- sidecar.Serve(ctx, l, s) }()
		conn, err := sidecar.Dial("passthrough:///r", grpc.WithContextDialer(
			func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		client := routerpb.NewRouterServiceClient(conn)
		for i := range 2 {
			if i == 0 {
				_, err = client.Join(t.Context(), &routerpb.JoinRequest{})
			} else {
				_, err = client.Renew(t.Context(), &routerpb.RenewRequest{})
			}
			e := sidecar.FromError(err)
			if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), e.Message) {
				t.Errorf("cause and reference are not in the log:\n%s", log.String())
			}
			log.Reset()
		}
		span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
		_, err = client.Leave(trace.ContextWithSpanContext(t.Context(), span), &routerpb.LeaveRequest{})
		if status.Code(err) != codes.NotFound || log.Len() != 0 {
			t.Errorf("got %v, log %q", err, log.String())
		}
		if broken.seen.TraceID() != span.TraceID() {
			t.Errorf("got trace %v, want %v", broken.seen.TraceID(), span.TraceID())
		}
		stop()
		if err := errors.Join(conn.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}

func TestListenUnix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := sidecar.Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := sidecar.Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "another process serves it") {
		t.Errorf("a socket in use: got %v", err)
	}
	// A process that was killed leaves its socket behind.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	l, err = sidecar.Listen("unix:" + path)
	if err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a file: got %v", err)
	}
}

func TestListenElsewhere(t *testing.T) {
	t.Parallel()
	l, err := sidecar.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := sidecar.Listen(fmt.Sprintf("fd:%d", f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	if inherited.Addr().String() != l.Addr().String() {
		t.Errorf("got %v, want %v", inherited.Addr(), l.Addr())
	}
	for _, bad := range []string{"fd:x", "fd:1", "fd:65000", "nonsense", "127.0.0.1:99999"} {
		if _, err := sidecar.Listen(bad); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(bad, "fd:")) {
			t.Errorf("%s: got %v, want an error that names it", bad, err)
		}
	}
}

func TestWaitHealthy(t *testing.T) {
	t.Parallel()
	bubble(t, handler(handlerFuncs{}), func(t *testing.T, n *network) {
		if err := sidecar.WaitHealthy(t.Context(), n.conn); err != nil {
			t.Error(err)
		}
		n.halt()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := sidecar.WaitHealthy(ctx, n.conn); err == nil {
			t.Error("a server that is away is healthy")
		}
		n.serve(handler(handlerFuncs{}))
		if err := sidecar.WaitHealthy(t.Context(), n.conn); err != nil {
			t.Error(err)
		}
	})
}
