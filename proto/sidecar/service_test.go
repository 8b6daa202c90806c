package sidecar_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// A call for an entrypoint says which one, and has nothing of an object's.
func TestServiceTarget(t *testing.T) {
	t.Parallel()
	want := sidecar.Target{Worker: "auth", Entrypoint: "Admin", Props: []byte(`{"a":1}`)}
	h := handlerFuncs{
		call: func(_ context.Context, got sidecar.Target, method string, args []byte) ([]byte, error) {
			return fmt.Append(nil, got.Worker, "/", got.Entrypoint, " ", string(got.Props), " ", got.ID == objectid.ID{}, " ",
				got.Epoch, got.Namespace, method, string(args)), nil
		},
		fetch: func(_ context.Context, got sidecar.Target, w http.ResponseWriter, r *http.Request) error {
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", got.Worker, r.URL, body)
			return err
		},
	}
	for name, register := range map[string]func(*sidecar.Server){
		"unordered": func(s *sidecar.Server) { sidecar.RegisterHandler(s, h) },
		"ordered":   func(s *sidecar.Server) { sidecar.RegisterOrderedHandler(s, h) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, register, func(t *testing.T, n *network) {
				got, err := n.link.Call(t.Context(), want, "m", []byte("v"))
				if text := `auth/Admin {"a":1} true 0mv`; err != nil || string(got) != text {
					t.Errorf("got %q, %v, want %q", got, err, text)
				}
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://x/y", strings.NewReader("body"))
				resp, err := n.link.Fetch(t.Context(), want, r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if text := "auth http://x/y body"; err != nil || string(body) != text {
					t.Errorf("got %q, %v, want %q", body, err, text)
				}
				for _, bad := range []sidecar.Target{
					{Worker: strings.Repeat("w", sidecar.MaxWorkerBytes+1)},
					{Worker: "w", Entrypoint: strings.Repeat("e", sidecar.MaxEntrypointBytes+1)},
					{Worker: "w", Props: make([]byte, sidecar.MaxPropsBytes+1)},
				} {
					_, err := n.link.Call(t.Context(), bad, "m", nil)
					wantReason(t, err, sidecar.ReasonInvalid)
				}
			})
		})
	}
}

// Calls that lead to each other for ever end: the depth goes with them over the wire, and within a process.
func TestDepth(t *testing.T) {
	t.Parallel()
	var n *network
	calls, within := 0, false
	h := handlerFuncs{call: func(ctx context.Context, to sidecar.Target, _ string, _ []byte) ([]byte, error) {
		for {
			calls++
			if !within {
				return n.link.Call(ctx, to, "m", nil)
			}
			var err error
			if ctx, err = sidecar.Deeper(ctx); err != nil {
				return nil, err
			}
		}
	}}
	for _, within = range []bool{false, true} {
		calls = 0
		bubble(t, handler(h), func(t *testing.T, started *network) {
			n = started
			_, err := n.link.Call(t.Context(), target("x"), "m", nil)
			if e := wantReason(t, err, sidecar.ReasonInvalid); !strings.HasPrefix(e.Message, "Subrequest depth limit exceeded.") {
				t.Errorf("got %q", e.Message)
			}
			if calls != sidecar.MaxDepth+1 {
				t.Errorf("%d calls ran, want %d", calls, sidecar.MaxDepth+1)
			}
		})
	}
}

// A handler may begin to read the request's body when it has sent the response's head.
func TestBodyIsWantedAfterHead(t *testing.T) {
	t.Parallel()
	h := handlerFuncs{fetch: func(_ context.Context, _ sidecar.Target, w http.ResponseWriter, r *http.Request) error {
		if err := http.NewResponseController(w).Flush(); err != nil {
			return err
		}
		_, err := io.Copy(w, r.Body)
		return err
	}}
	bubble(t, handler(h), func(t *testing.T, n *network) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://x/y", io.NopCloser(strings.NewReader("body")))
		r.ContentLength = -1
		resp, err := n.link.Fetch(t.Context(), target("x"), r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "body" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
