package script

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
	"github.com/tandem-do/tandem/runtime/isolate"
)

// front calls back, which calls front again.
const front = `
	import { WorkerEntrypoint } from "cloudflare:workers";
	export class Again extends WorkerEntrypoint {
		props() { return Object.keys(this.ctx.props).join() + (this.ctx.props.at?.get(1) ?? ""); }
		again(text) { return "again " + text; }
		forever(n) { return this.env.BACK.forever(n + 1); }
	}
	const caught = async (f) => { try { return await f(); } catch (e) { return { ...e, name: e.name, message: e.message }; } };
	export default { async fetch(request, env, ctx) {
		switch (new URL(request.url).pathname) {
		case "/calls": return Response.json([
			await env.BACK.add(1, 2), await env.BACK.who, await env.BACK.circle("x"), (await env.BACK.map(new Map([[1, new Date(5)]]))).get(1).getTime(),
			await (await env.PLAIN.fetch("http://b/hi", { method: "POST", body: "text" })).text(),
		]);
		case "/errors": return Response.json([
			await caught(() => env.BACK.fail()), await caught(() => env.PLAIN.fetch("http://b/fail")), await caught(() => env.NONE.add(1)),
			await caught(() => env.NONE.fetch("http://b/")), await caught(() => env.BACK.nothing()), await caught(() => env.PLAIN.add(1, 2)),
			await caught(() => env.GONE.add(1)), (await env.GONE.fetch("http://x/")).status, await (await env.GONE.fetch("http://x/")).text(),
		]);
		case "/exports": {
			const to = ctx.exports.Again({ props: { who: "me", at: new Map([[1, 2n]]) } });
			return Response.json([
				await to.props(), await ctx.exports.Again({}).props(), await ctx.exports.Again.props(), typeof ctx.exports.Again,
				await caught(() => ctx.exports.Again({ props: 1 })), await caught(() => ctx.exports.Again({ props: { x: "x".repeat(20000) } })),
				await env.BACK.reflect(), (await caught(() => ctx.exports.Again({ props: { f() {} } }))).name,
			]);
		}
		case "/forever": return Response.json(await caught(() => env.BACK.forever(0)));
		case "/stream": return env.PLAIN.fetch("http://b/echo", { method: "PUT", body: request.body });
		case "/hang": {
			const r = await env.PLAIN.fetch("http://b/hang", { signal: AbortSignal.timeout(50) }).catch((e) => e.name);
			return new Response(r);
		}
		}
		return env.PLAIN.fetch(request);
	} };
`

const back = `
	import { WorkerEntrypoint } from "cloudflare:workers";
	export class Api extends WorkerEntrypoint {
		add(a, b) { return a + b; }
		get who() { return this.ctx.props.role + " of " + this.env.NAME; }
		reflect() { return this.ctx.exports.Api({ props: { role: "reflected" } }).who; }
		circle(text) { return this.env.FRONT.again(text); }
		forever(n) { return this.env.FRONT.forever(n); }
		map(m) { return m; }
		fail() { throw Object.assign(new RangeError("no"), { code: 7 }); }
	}
	export default { async fetch(request, env) {
		const { pathname } = new URL(request.url);
		if (pathname === "/fail") throw new TypeError("broke");
		if (pathname === "/hang") return new Promise((r) => setTimeout(r, 60000));
		if (pathname === "/echo") return new Response(request.body, { status: 201, statusText: "Made Up", headers: { "x-b": "1" } });
		return new Response(request.method + " " + request.url + " " + await request.text());
	} };
`

func newServiceBundle(t testing.TB, name, code string, services ...bundle.Service) *bundle.Bundle {
	t.Helper()
	dir := t.TempDir()
	entry := filepath.Join(dir, "index.ts")
	if err := os.WriteFile(entry, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	const date = "2026-05-01"
	r, err := build.Build(t.Context(), build.Options{Dir: dir, Entry: entry, CompatibilityDate: date})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.New(&bundle.Manifest{
		Name: name, CompatibilityDate: date, Format: r.Format, Main: "index.ts", Exports: r.Exports,
		Vars:     []bundle.Var{{Name: "NAME", Value: json.RawMessage(`"` + name + `"`)}},
		Services: services,
	}, r.Code, r.SourceMap)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// registry is a router that knows the Workers that have registered, and the network between them.
type registry struct {
	routerpb.RouterServiceClient
	// hold, if set, keeps registrations waiting until it is closed.
	hold chan struct{}

	mu        sync.Mutex // guards all below
	workers   map[string]*routerpb.RegisterWorkerRequest
	renewals  int
	listeners map[string]*bufconn.Listener
}

func (r *registry) RegisterWorker(_ context.Context, q *routerpb.RegisterWorkerRequest, _ ...grpc.CallOption) (
	*routerpb.RegisterWorkerResponse, error,
) {
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.GetWorker() == "refused" {
		return nil, status.Error(codes.InvalidArgument, "refused")
	}
	r.workers[q.GetWorker()] = q
	r.renewals++
	return &routerpb.RegisterWorkerResponse{LeaseTtl: durationpb.New(10 * time.Second)}, nil
}

func (r *registry) UnregisterWorker(_ context.Context, q *routerpb.UnregisterWorkerRequest, _ ...grpc.CallOption) (
	*routerpb.UnregisterWorkerResponse, error,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.workers, q.GetWorker())
	return &routerpb.UnregisterWorkerResponse{}, nil
}

func (r *registry) FindWorker(_ context.Context, q *routerpb.FindWorkerRequest, _ ...grpc.CallOption) (
	*routerpb.FindWorkerResponse, error,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.workers[q.GetWorker()]
	if w == nil {
		return nil, &sidecar.Error{Reason: sidecar.ReasonNoSuchWorker, Message: "Worker " + q.GetWorker() + " not found."}
	}
	return &routerpb.FindWorkerResponse{Processes: []*routerpb.WorkerProcess{{Address: w.GetAddress()}}}, nil
}

func (r *registry) dial(target string) (*grpc.ClientConn, error) {
	return sidecar.Dial("passthrough:///"+target, grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			r.mu.Lock()
			l := r.listeners[target]
			r.mu.Unlock()
			return l.DialContext(ctx)
		}))
}

// run runs a worker process, and returns its address and what ends it.
func (r *registry) run(t *testing.T, b *bundle.Bundle, onLog func(isolate.Entry)) (origin string, stop func()) {
	t.Helper()
	name := b.Manifest().Name
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	services := bufconn.Listen(256 << 10)
	r.mu.Lock()
	r.listeners["at-"+name] = services
	r.mu.Unlock()
	caller := binding.NewRouter(binding.RouterOptions{Client: r, Dial: r.dial})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		o := Options{Listener: l, Services: services, ServicesAddress: "at-" + name, Bundle: b, OnLog: onLog}
		served <- errors.Join(serve(ctx, o, caller, r), caller.Close())
	}()
	return "http://" + l.Addr().String(), func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func startFrontAndBack(t *testing.T) (origin string, logged func() string, stop func()) {
	t.Helper()
	r := &registry{workers: map[string]*routerpb.RegisterWorkerRequest{}, listeners: map[string]*bufconn.Listener{}}
	var mu sync.Mutex
	var log strings.Builder
	a := newServiceBundle(t, "front", front, bundle.Service{Binding: "PLAIN", Worker: "back"},
		bundle.Service{Binding: "BACK", Worker: "back", Entrypoint: "Api", Props: json.RawMessage(`{"role":"admin"}`)},
		bundle.Service{Binding: "NONE", Worker: "back", Entrypoint: "None"}, bundle.Service{Binding: "GONE", Worker: "gone"})
	b := newServiceBundle(t, "back", back, bundle.Service{Binding: "FRONT", Worker: "front", Entrypoint: "Again"})
	_, stopBack := r.run(t, b, func(e isolate.Entry) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(e.Text + "\n")
	})
	origin, stopFront := r.run(t, a, nil)
	logged = func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
	await(t, origin)
	return origin, logged, func() {
		stopFront()
		stopBack()
		if len(r.workers) != 0 {
			t.Errorf("%v stayed registered", r.workers)
		}
	}
}

// await waits until both processes serve.
func await(t *testing.T, origin string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if got := get(t, origin+"/up", nil); got == "200 GET "+origin+"/up " {
			get(t, origin+HealthPath, nil) // that one calls the other one back
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the processes do not serve")
		}
	}
}

func get(t *testing.T, address string, body io.Reader) string {
	t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status[:3] + " " + string(text)
}

// A process serves while it does not know whether others will find it, and is healthy once they will.
func TestHealth(t *testing.T) {
	t.Parallel()
	r := &registry{
		hold: make(chan struct{}), workers: map[string]*routerpb.RegisterWorkerRequest{},
		listeners: map[string]*bufconn.Listener{},
	}
	origin, stop := r.run(t, newServiceBundle(t, "back", back), nil)
	defer stop()
	health := make(chan string, 1)
	go func() {
		resp, err := http.Get(origin + HealthPath)
		if err != nil {
			health <- err.Error()
			return
		}
		health <- resp.Status
		_ = resp.Body.Close()
	}()
	if got, want := get(t, origin+"/x", nil), "200 GET "+origin+"/x "; got != want {
		t.Errorf("before it is registered: got %q, want %q", got, want)
	}
	select {
	case got := <-health:
		t.Errorf("before it is registered the health check says %s", got)
	default:
	}
	close(r.hold)
	if got := <-health; got != "200 OK" {
		t.Errorf("once it is registered the health check says %s", got)
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	origin, logged, stop := startFrontAndBack(t)
	defer stop()
	const lost = `{"name":"Error","message":"Worker gone not found."}`
	for path, want := range map[string]string{
		"/calls": `200 [3,"admin of back","again x",5,"POST http://b/hi text"]`,
		"/errors": `200 [{"code":7,"remote":true,"name":"RangeError","message":"no"},{"remote":true,"name":"TypeError","message":"broke"},` +
			`{"remote":true,"name":"TypeError","message":"The entrypoint name None was not found."},` +
			`{"remote":true,"name":"TypeError","message":"The entrypoint name None was not found."},` +
			`{"remote":true,"name":"TypeError","message":"The RPC receiver does not implement the method \"nothing\"."},` +
			`{"remote":true,"name":"TypeError","message":"The RPC receiver does not implement the method \"add\"."},` +
			lost + `,503,"Worker gone not found."]`,
		"/exports": `200 ["who,at2","","","function",{"name":"TypeError","message":"Incorrect type for the 'props' field on ` +
			`'Options': the provided value is not of type 'Object'."},{"name":"RangeError","message":"props has 20012 bytes, at ` +
			`most 16384 are allowed."},"reflected of back","DataCloneError"]`,
		"/hang": `200 TimeoutError`,
	} {
		if got := get(t, origin+path, nil); got != want {
			t.Errorf("%s: got %s\nwant %s", path, got, want)
		}
	}
	if got := get(t, origin+"/forever", nil); !strings.Contains(got, `"message":"Subrequest depth limit exceeded.`) {
		t.Errorf("endless recursion: got %s", got)
	}
	if got := logged(); !strings.Contains(got, "Uncaught RangeError: no\n    at ") {
		t.Errorf("the Worker that was called logged %q", got)
	}
}

// Bodies flow both ways while the call goes on.
func TestServiceStreams(t *testing.T) {
	t.Parallel()
	origin, _, stop := startFrontAndBack(t)
	defer stop()
	send, body := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+"/stream", send)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = body.Write([]byte("one")) }()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("x-b") != "1" {
		t.Errorf("got %s, %v", resp.Status, resp.Header)
	}
	piece := make([]byte, 3)
	for _, text := range []string{"one", "two"} {
		if _, err := io.ReadFull(resp.Body, piece); err != nil || string(piece) != text {
			t.Fatalf("got %q, %v, want %q", piece, err, text)
		}
		if text == "one" {
			go func() {
				_, _ = body.Write([]byte("two"))
				_ = body.Close()
			}()
		}
	}
	if n, err := resp.Body.Read(piece); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes more, %v", n, err)
	}
}

// A call for another Worker, at an address that was that one's, is looked up again by its caller.
func TestRefusesCallsOfOthers(t *testing.T) {
	t.Parallel()
	s, err := New(t.Context(), Options{Bundle: newServiceBundle(t, "back", back)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for worker, want := range map[string]sidecar.Reason{"other": sidecar.ReasonStaleEpoch, "": sidecar.ReasonNoSuchClass} {
		to := sidecar.Target{Worker: worker}
		_, err := entrypoints{s}.Call(t.Context(), to, "m", nil)
		if e, ok := errors.AsType[*sidecar.Error](err); !ok || e.Reason != want {
			t.Errorf("call for %q: %v", worker, err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if e, ok := errors.AsType[*sidecar.Error](entrypoints{s}.Fetch(t.Context(), to, httptest.NewRecorder(), r)); !ok || e.Reason != want {
			t.Errorf("fetch for %q: %v", worker, e)
		}
	}
}

// Locate implements routerpb.RouterServiceClient: there is no object host.
func (*registry) Locate(context.Context, *routerpb.LocateRequest, ...grpc.CallOption) (*routerpb.LocateResponse, error) {
	return nil, status.Error(codes.Unavailable, "no host")
}
