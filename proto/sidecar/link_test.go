package sidecar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

func echo(_ context.Context, _ sidecar.Target, _ string, args []byte) ([]byte, error) {
	return args, nil
}

func TestCallCarriesTargetTraceAndDeadline(t *testing.T) {
	t.Parallel()
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	h := handlerFuncs{call: func(ctx context.Context, got sidecar.Target, method string, args []byte) ([]byte, error) {
		if diff := cmp.Diff(target("x"), got); diff != "" {
			t.Errorf("target (-want +got):\n%s", diff)
		}
		if s := trace.SpanContextFromContext(ctx); s.TraceID() != span.TraceID() || !s.IsRemote() || !s.IsSampled() {
			t.Errorf("got span %v, want one of trace %v", s, span.TraceID())
		}
		if d, ok := ctx.Deadline(); !ok || time.Until(d) != 3*time.Second {
			t.Errorf("got deadline in %v (%v), want 3s", time.Until(d), ok)
		}
		return fmt.Appendf(nil, "%s(%s)", method, args), nil
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		got, err := n.link.Call(trace.ContextWithSpanContext(ctx, span), target("x"), "m", []byte("1,2"))
		if err != nil || string(got) != "m(1,2)" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestFetchInline(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{fetch: func(_ context.Context, _ sidecar.Target, w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "1")
		_, err = fmt.Fprintf(w, "%s %s %v %d %s", r.Method, r.URL, r.Header["X-In"], r.ContentLength, body)
		return err
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://do/path?q=1", strings.NewReader("abc"))
		r.Header["X-In"] = []string{"a", "caf\xe9"} // bytes of header fields need not be UTF-8
		resp, err := n.link.Fetch(t.Context(), target("x"), r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if want := "PUT https://do/path?q=1 [a caf\xe9] 3 abc"; string(body) != want || resp.ContentLength != int64(len(want)) {
			t.Errorf("got %q (length %d), want %q", body, resp.ContentLength, want)
		}
		if diff := cmp.Diff(http.Header{"X-Two": {"1", "2"}}, resp.Header); diff != "" || resp.StatusCode != http.StatusTeapot {
			t.Errorf("status %d, header (-want +got):\n%s", resp.StatusCode, diff)
		}
	})
}

// zeros is an endless body that counts what was read of it.
type zeros struct {
	mu   sync.Mutex
	read int64
}

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.mu.Lock()
	defer z.mu.Unlock()
	z.read += int64(len(p))
	return len(p), nil
}

func (z *zeros) count() int64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.read
}

// A body flows: a reader that has stopped stops the writer, after what the windows hold.
func TestStreamsBothWaysInConstantMemory(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	h := handlerFuncs{fetch: func(_ context.Context, _ sidecar.Target, w http.ResponseWriter, r *http.Request) error {
		_, err := io.Copy(w, r.Body)
		return err
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		var source zeros
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://do/", io.LimitReader(&source, size))
		resp, err := n.link.Fetch(t.Context(), target("x"), r)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := source.count(); got > 4<<20 {
			t.Errorf("%d bytes were taken before anybody read", got)
		}
		got, err := io.Copy(io.Discard, resp.Body)
		if err != nil || got != size {
			t.Errorf("got %d bytes, %v, want %d", got, err, size)
		}
	})
}

func TestFlushStreams(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	h := handlerFuncs{fetch: func(_ context.Context, _ sidecar.Target, w http.ResponseWriter, _ *http.Request) error {
		for i := range 3 {
			fmt.Fprintf(w, "event %d\n", i)
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
			<-next
		}
		return &sidecar.Error{Reason: sidecar.ReasonException, Name: "RangeError", Message: "m", Remote: true}
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		next = make(chan struct{})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://do/", nil)
		resp, err := n.link.Fetch(t.Context(), target("x"), r)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		for i := range 3 {
			k, err := resp.Body.Read(buf)
			if want := fmt.Sprintf("event %d\n", i); err != nil || string(buf[:k]) != want {
				t.Errorf("got %q, %v, want %q", buf[:k], err, want)
			}
			next <- struct{}{}
		}
		_, err = resp.Body.Read(buf)
		if e := wantReason(t, err, sidecar.ReasonException); e.Name != "RangeError" || !e.Remote {
			t.Errorf("got %+v", e)
		}
	})
}

// A request's body that nobody reads is never taken, so that the call can be made again elsewhere.
func TestUnreadBodyIsNotTaken(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{fetch: func(context.Context, sidecar.Target, http.ResponseWriter, *http.Request) error {
		return &sidecar.Error{Reason: sidecar.ReasonStaleEpoch, Message: "stale", Epoch: 9}
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		var source zeros
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://do/", &source)
		_, err := n.link.Fetch(t.Context(), target("x"), r)
		if e := wantReason(t, err, sidecar.ReasonStaleEpoch); e.Epoch != 9 {
			t.Errorf("got %+v", e)
		}
		if got := source.count(); got != 0 {
			t.Errorf("%d bytes were read", got)
		}
	})
}

func TestCancelReachesTheHandler(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	h := handlerFuncs{
		call: func(ctx context.Context, _ sidecar.Target, _ string, _ []byte) ([]byte, error) { return nil, wait(ctx) },
		fetch: func(ctx context.Context, _ sidecar.Target, w http.ResponseWriter, r *http.Request) error {
			if r.URL.Path == "/upload" {
				_, err := io.Copy(io.Discard, r.Body)
				ended <- err
				return err
			}
			w.(http.Flusher).Flush()
			for r.URL.Path == "/full" {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					ended <- ctx.Err()
					return err
				}
			}
			return wait(ctx)
		},
	}
	call := func(ctx context.Context, n *network, path string) (*http.Response, error) {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://do"+path, nil)
		return n.link.Fetch(ctx, target("x"), r)
	}
	tests := []struct {
		name string
		do   func(t *testing.T, n *network)
	}{
		{"call is canceled", func(t *testing.T, n *network) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := n.link.Call(ctx, target("x"), "m", nil)
			wantReason(t, err, sidecar.ReasonCanceled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled in its chain", err)
			}
		}},
		{"deadline passes", func(t *testing.T, n *network) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := n.link.Call(ctx, target("x"), "m", nil)
			wantReason(t, err, sidecar.ReasonDeadline)
		}},
		{"body is closed", func(t *testing.T, n *network) {
			resp, err := call(t.Context(), n, "/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}},
		{"body is closed while the windows are full", func(t *testing.T, n *network) {
			resp, err := call(t.Context(), n, "/full")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			resp.Body.Close()
		}},
		{"context ends while the body flows", func(t *testing.T, n *network) {
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := call(ctx, n, "/")
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, cancel)
			_, err = resp.Body.Read(make([]byte, 1))
			wantReason(t, err, sidecar.ReasonCanceled)
		}},
		{"context ends while the handler reads", func(t *testing.T, n *network) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			body, w := io.Pipe()
			go w.Write([]byte("part"))
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://do/upload", body)
			_, err := n.link.Fetch(ctx, target("x"), r)
			wantReason(t, err, sidecar.ReasonCanceled)
			if _, err := w.Write([]byte("more")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("write after cancel: %v, want a closed body", err)
			}
		}},
		{"connection is lost", func(t *testing.T, n *network) {
			time.AfterFunc(time.Second, n.cut)
			_, err := n.link.Call(t.Context(), target("x"), "m", nil)
			if e := wantReason(t, err, sidecar.ReasonDisconnected); !e.Retryable || errors.Is(err, sidecar.ErrNotSent) {
				t.Errorf("got %+v", e)
			}
		}},
		{"link is closed", func(t *testing.T, n *network) {
			time.AfterFunc(time.Second, func() { n.link.Close() })
			_, err := n.link.Call(t.Context(), target("x"), "m", nil)
			wantReason(t, err, sidecar.ReasonDisconnected)
			if !errors.Is(err, sidecar.ErrClosed) {
				t.Errorf("got cause %v", errors.Unwrap(err))
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, handler(h), func(t *testing.T, n *network) {
				ended = make(chan error, 1)
				tt.do(t, n)
				if err := <-ended; err == nil {
					t.Error("the handler was not told")
				}
			})
		})
	}
}

func TestDownloadThatNobodyCollectsIsDropped(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{fetch: func(ctx context.Context, _ sidecar.Target, w http.ResponseWriter, _ *http.Request) error {
		w.(http.Flusher).Flush()
		<-ctx.Done()
		return ctx.Err()
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		began := time.Now()
		stream, err := rawSend(t.Context(), n.conn, rawFetch(1, "x", &dopb.HttpRequest{Method: "GET", Url: "http://do/"}))
		if err != nil {
			t.Fatal(err)
		}
		head, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		// The host ends the stream once the only call has ended.
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) || time.Since(began) != 30*time.Second {
			t.Errorf("ended with %v after %v, want EOF after 30s", err, time.Since(began))
		}
		token := head.GetFrames()[0].GetFetch().GetDownloadToken()
		late, err := dopb.NewObjectServiceClient(n.conn).Download(t.Context(), &dopb.DownloadRequest{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := late.Recv(); status.Code(err) != codes.NotFound || token == "" {
			t.Errorf("a late reader: got %v, want NOT_FOUND", err)
		}
	})
}

// A caller that breaks the protocol is told what was wrong.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	rpc := func() *dopb.RpcRequest { return &dopb.RpcRequest{Method: "m"} }
	tests := []struct {
		name   string
		change func(f *dopb.CallerFrame)
		want   string
	}{
		{"object_id", func(f *dopb.CallerFrame) { f.GetCall().ObjectId = []byte("short") }, "object_id has 5 bytes, want 32"},
		{"epoch", func(f *dopb.CallerFrame) { f.GetCall().Epoch = 0 }, "epoch is zero"},
		{"event", func(f *dopb.CallerFrame) { f.GetCall().Event = nil }, "no event"},
		{"rpc method", func(f *dopb.CallerFrame) { f.GetCall().GetRpc().Method = "" }, "rpc.method is empty"},
		{"timeout", func(f *dopb.CallerFrame) {
			f.GetCall().Timeout = &durationpb.Duration{Nanos: -1, Seconds: 1}
		}, "timeout is out of range"},
		{"url", func(f *dopb.CallerFrame) {
			f.GetCall().Event = &dopb.Call_Fetch{Fetch: &dopb.HttpRequest{Method: "GET", Url: "http://a b/%"}}
		}, "fetch.url is not a URL"},
	}
	bubble(t, handler(handlerFuncs{call: echo}), func(t *testing.T, n *network) {
		for _, tt := range tests {
			f := rawCall(1, "x", rpc())
			tt.change(f)
			stream, err := rawSend(t.Context(), n.conn, f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			e := got.GetFrames()[0].GetError()
			if e.GetReason() != sidecar.ReasonInvalid || !strings.Contains(e.GetMessage(), tt.want) {
				t.Errorf("%s: got %v, want %q", tt.name, e, tt.want)
			}
		}
		stream, err := rawSend(t.Context(), n.conn, rawCall(2, "x", rpc()), rawCall(2, "x", rpc()))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "call_id 2 does not rise") {
			t.Errorf("a call_id twice: got %v", err)
		}
	})
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{
		call:  func(context.Context, sidecar.Target, string, []byte) ([]byte, error) { panic("secret") },
		fetch: func(context.Context, sidecar.Target, http.ResponseWriter, *http.Request) error { panic("secret") },
	}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		_, err := n.link.Call(t.Context(), target("x"), "m", nil)
		e := wantReason(t, err, sidecar.ReasonInternal)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://do/", nil)
		_, err = n.link.Fetch(t.Context(), target("x"), r)
		f := wantReason(t, err, sidecar.ReasonInternal)
		if !strings.HasPrefix(e.Message, "internal error; reference = ") || e.Message == f.Message {
			t.Errorf("got %q and %q", e.Message, f.Message)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{call: echo}
	long := bytes.Repeat([]byte("x"), sidecar.MaxPropsBytes+1)
	tests := []struct {
		name   string
		change func(t *sidecar.Target, r *http.Request)
		want   string
	}{
		{"no epoch", func(t *sidecar.Target, _ *http.Request) { t.Epoch = 0 }, "epoch is zero"},
		{"no namespace", func(t *sidecar.Target, _ *http.Request) { t.Namespace = "" }, "namespace is empty"},
		{"props", func(t *sidecar.Target, _ *http.Request) { t.Props = long }, "props has 16385 bytes, at most 16384"},
		{"name", func(t *sidecar.Target, _ *http.Request) { t.Name = string(long) }, "object_name has"},
		{"name that is no text", func(t *sidecar.Target, _ *http.Request) { t.Name = "\xff" }, "object_name is not UTF-8"},
		{"method", func(_ *sidecar.Target, r *http.Request) { r.Method = string(long) }, "fetch.method has"},
		{"header", func(_ *sidecar.Target, r *http.Request) {
			r.Header.Set("X", strings.Repeat("x", sidecar.MaxHeaderBytes))
		}, "fetch.headers has"},
	}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		for _, tt := range tests {
			to := target("x")
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://do/", nil)
			tt.change(&to, r)
			_, err := n.link.Fetch(t.Context(), to, r)
			if e := wantReason(t, err, sidecar.ReasonInvalid); !strings.Contains(e.Message, tt.want) {
				t.Errorf("%s: got %q, want %q in it", tt.name, e.Message, tt.want)
			}
		}
		big := make([]byte, 4<<20)
		if got, err := n.link.Call(t.Context(), target("x"), "m", big); err != nil || len(got) != len(big) {
			t.Errorf("large value: got %d bytes, %v", len(got), err)
		}
	})
}

func TestTooManyCallsInFlight(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{call: func(ctx context.Context, _ sidecar.Target, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range sidecar.MaxCallsInFlight {
			wg.Go(func() {
				_, err := n.link.Call(ctx, target("x"), "m", nil)
				wantReason(t, err, sidecar.ReasonCanceled)
			})
		}
		synctest.Wait()
		_, err := n.link.Call(ctx, target("x"), "m", nil)
		if e := wantReason(t, err, sidecar.ReasonOverloaded); !e.Overloaded {
			t.Errorf("got %+v", e)
		}
		cancel()
		wg.Wait()
	})
}
