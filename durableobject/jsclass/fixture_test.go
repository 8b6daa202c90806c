package jsclass_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/jsclass"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/leaktest"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// fakeRouter is a router that knows one host.
type fakeRouter struct {
	routerpb.UnimplementedRouterServiceServer
	id string
}

func (f *fakeRouter) Locate(context.Context, *routerpb.LocateRequest) (*routerpb.LocateResponse, error) {
	return &routerpb.LocateResponse{HostId: f.id, Address: "host", Epoch: 1}, nil
}

// world is a host that runs the classes of a module.
type world struct {
	t     testing.TB
	host  *host.Host
	store *storage.Store
	// limits are those of the script's isolates.
	limits isolate.Limits
	// waiting is how many events may wait for an object; zero means the host's default.
	waiting int
	// fetcher is jsclass.Options.Fetch, and isolates are how many there are; zero means 2.
	fetcher  webapi.Fetcher
	isolates int
	// onLog is called with each line, on the isolate's goroutine.
	onLog func(isolate.Entry)

	mu  sync.Mutex // guards log
	log []string
}

// logged returns what was logged so far.
func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log, "\n")
}

// makeBundle builds a module whose classes are named; those whose names begin with "Sql" are declared to use SQLite.
func makeBundle(t testing.TB, date, code string, classes ...string) *bundle.Bundle {
	t.Helper()
	dir := t.TempDir()
	entry := filepath.Join(dir, "index.ts")
	if err := os.WriteFile(entry, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := build.Build(t.Context(), build.Options{Dir: dir, Entry: entry, CompatibilityDate: date})
	if err != nil {
		t.Fatal(err)
	}
	m := &bundle.Manifest{
		Name: "w", CompatibilityDate: date, Format: r.Format, Main: "index.ts", Exports: r.Exports,
		Vars: []bundle.Var{{Name: "GREETING", Value: json.RawMessage(`"hi"`)}},
	}
	for _, c := range classes {
		m.Classes = append(m.Classes, bundle.Class{Name: c, SQLite: strings.HasPrefix(c, "Sql")})
		m.DurableObjects = append(m.DurableObjects, bundle.DurableObject{
			Binding: strings.ToUpper(c), Class: c, Script: "w",
		})
	}
	b, err := bundle.New(m, r.Code, r.SourceMap)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bubble runs a test with the classes of a module in a synctest bubble.
func bubble(t *testing.T, code string, classes []string, run func(w *world)) {
	t.Helper()
	bubbleAt(t, "2026-04-01", code, classes, run)
}

func bubbleAt(t *testing.T, date, code string, classes []string, run func(w *world)) {
	t.Helper()
	b := makeBundle(t, date, code, classes...)
	fs := vfs.NewMem()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		end := w.start(b, fs)
		defer end()
		run(w)
	})
}

// start starts a host on a disk; what it returns ends it.
func (w *world) start(b *bundle.Bundle, fs vfs.FS) (end func()) {
	t := w.t
	script, err := jsclass.New(jsclass.Options{
		Bundle: b, Isolates: cmp.Or(w.isolates, 2), Limits: w.limits, Fetch: w.fetcher, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		OnLog: func(e isolate.Entry) {
			if w.onLog != nil {
				w.onLog(e)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.log = append(w.log, string(e.Level)+": "+e.Text)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.store, err = storage.Open(storage.Options{Dir: "store", FS: fs}); err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(1 << 16)
	server := sidecar.NewServer(sidecar.ServerOptions{})
	routerpb.RegisterRouterServiceServer(server, &fakeRouter{id: w.store.HostID()})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sidecar.Serve(ctx, l, server) }()
	conn, err := sidecar.Dial("passthrough:///memory", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	w.host, err = host.New(host.Options{
		Address: "host", Router: conn, Worker: "w", Classes: script.Classes(), MaxWaiting: w.waiting,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}, w.store)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := w.host.Drain(ctx); err != nil {
			t.Log(err)
		}
		script.Close()
		conn.Close()
		cancel()
		<-served
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (w *world) stub(class, name string) *binding.Stub {
	return binding.NewNamespace("w-"+class, w.host.Local()).GetByName(name)
}

// call calls a method of the object "o" with arguments and returns its result as JSON.
func (w *world) call(class, method string, args ...any) (string, error) {
	return callStub(w.t.Context(), w.stub(class, "o"), method, args...)
}

func callStub(ctx context.Context, s *binding.Stub, method string, args ...any) (string, error) {
	in, err := v8value.MarshalArguments(args...)
	if err != nil {
		return "", err
	}
	out, err := s.Call(ctx, method, in)
	if err != nil {
		return "", err
	}
	v, err := v8value.Decode(out)
	if err != nil {
		return "", err
	}
	text, _ := v8value.Text(v, 1<<16)
	return text, nil
}

// want calls a method and checks the result.
func (w *world) want(class, method, want string, args ...any) {
	w.t.Helper()
	got, err := w.call(class, method, args...)
	if err != nil || got != want {
		w.t.Errorf("%s: got %s, %v; want %s", method, got, err, want)
	}
}

// wantError calls a method and checks its error: name, text, properties.
func (w *world) wantError(class, method, want string, args ...any) {
	w.t.Helper()
	got, err := w.call(class, method, args...)
	if err == nil {
		w.t.Errorf("%s: got %s, want error %s", method, got, want)
		return
	}
	if text := describe(err); text != want {
		w.t.Errorf("%s: got error\n%s\nwant\n%s", method, text, want)
	}
}

func describe(err error) string {
	var e *sidecar.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := cmp.Or(e.Name, "Error") + ": " + e.Message
	for _, p := range []struct {
		set  bool
		name string
	}{{e.Remote, "remote"}, {e.Retryable, "retryable"}, {e.Overloaded, "overloaded"}, {e.Reset, "reset"}} {
		if p.set {
			text += " [" + p.name + "]"
		}
	}
	return text
}

// fetch sends a request to the object "o" and returns status and body.
func (w *world) fetch(class, method, path, body string) (int, string, error) {
	r := httptest.NewRequest(method, "http://object"+path, strings.NewReader(body))
	resp, err := w.stub(class, "o").Fetch(w.t.Context(), r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}
