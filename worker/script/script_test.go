package script

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
	"github.com/tandem-do/tandem/runtime/isolate"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const module = `
	import { env as global, WorkerEntrypoint } from "cloudflare:workers";
	export class Named extends WorkerEntrypoint {
		add(a, b) { return a + b; }
		get who() { return this.ctx.props.who + " " + this.env.NAME; }
		fail() { throw new RangeError("no"); }
		async fetch(request) { return new Response("named " + request.url); }
	}
	export default {
		async fetch(request, env, ctx) {
			switch (new URL(request.url).pathname) {
			case "/": return new Response("hello " + env.NAME + " " + env.SECRET + " " + global.LIMITS.most, { headers: { "x-a": "b" } });
			case "/throw": throw new TypeError("boom");
			case "/undefined": return;
			case "/hang": return new Promise(() => {});
			case "/absent": return new Response(await env.DB.prepare("x"));
			case "/present": {
				const { DB, ...rest } = env, { inspect } = { inspect: (v) => { console.log(v); return typeof v; } };
				return Response.json(["DB" in env, Object.keys(env).includes("DB"), !!DB, typeof DB, inspect(env), JSON.stringify(DB),
					(await DB) === DB, Object.keys(DB), Object.keys(rest).includes("DB")]);
			}
			case "/later": ctx.waitUntil(new Promise((r) => setTimeout(() => { console.log("later"); r(); }, 1))); return new Response("now");
			case "/call": {
				const stub = env.ROOM.getByName("lobby");
				try {
					return Response.json([await stub.add(1, 2), await (await stub.fetch(request)).text(), await stub.size, await stub.fail()]);
				} catch (e) { return Response.json([e.name, e.message, e.remote, e.retryable ?? null]); }
			}
			case "/self": {
				const caught = async (f) => { try { return await f(); } catch (e) { return [e.name, e.message, e.remote ?? null]; } };
				return Response.json([
					Object.keys(ctx.exports).join(), await ctx.exports.Named.add(3, 4), await (await ctx.exports.default.fetch("http://x/later")).text(),
					await (await env.SELF.fetch("http://x/later")).text(), await env.NAMED.add(1, 2), await env.NAMED.who,
					await (await env.NAMED.fetch("http://x/y")).text(), await caught(() => env.NAMED.fail()), await caught(() => env.NAMED.nothing()),
					await caught(() => env.SELF.add(1)), await env.OTHER.add(2, 3),
				]);
			}
			case "/stream": {
				const { readable, writable } = new TransformStream();
				const w = writable.getWriter();
				ctx.waitUntil((async () => { for (const s of ["a", "b"]) await w.write(new TextEncoder().encode(s)); await w.close(); })());
				return new Response(readable);
			}
			}
			return new Response(request.body, { status: 299 });
		},
		scheduled(c) { console.log("cron", c.cron, c.scheduledTime); if (c.cron === "bad") throw new Error("no"); },
	};
`

// room is a caller whose objects add their arguments.
type room struct {
	mu    sync.Mutex // guards names
	names []string
}

func (r *room) Call(_ context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	r.mu.Lock()
	r.names = append(r.names, t.Namespace+" "+t.Name)
	r.mu.Unlock()
	switch {
	case method == "fail":
		return nil, &sidecar.Error{Reason: sidecar.ReasonException, Name: "RangeError", Message: "no", Remote: true}
	case args == nil:
		return v8value.Marshal(7)
	}
	var a, b int
	if err := v8value.UnmarshalArguments(args, &a, &b); err != nil {
		return nil, err
	}
	return v8value.Marshal(a + b)
}

func (r *room) Fetch(_ context.Context, _ sidecar.Target, q *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(q.URL.Path)), ContentLength: -1}, nil
}

func newBundle(t testing.TB, code string) *bundle.Bundle {
	t.Helper()
	dir := t.TempDir()
	entry := filepath.Join(dir, "index.ts")
	if err := os.WriteFile(entry, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := build.Build(t.Context(), build.Options{Dir: dir, Entry: entry, CompatibilityDate: "2026-04-01"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.New(&bundle.Manifest{
		Name: "w", CompatibilityDate: "2026-04-01", Format: r.Format, Main: "index.ts", Exports: r.Exports,
		Vars:        []bundle.Var{{Name: "NAME", Value: json.RawMessage(`"you"`)}, {Name: "LIMITS", Value: json.RawMessage(`{"most":3}`)}},
		Secrets:     []string{"SECRET"},
		Unavailable: []bundle.Unavailable{{Binding: "DB", Key: "d1_databases", Reason: "there is no D1"}},
		Services: []bundle.Service{
			{Binding: "SELF", Worker: "w"}, {Binding: "OTHER", Worker: "x"},
			{Binding: "NAMED", Worker: "w", Entrypoint: "Named", Props: json.RawMessage(`{"who":"me"}`)},
		},
		DurableObjects: []bundle.DurableObject{{Binding: "ROOM", Class: "Room", Script: "w"}},
	}, r.Code, r.SourceMap)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestScript(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	s, err := New(t.Context(), Options{
		Bundle: newBundle(t, module), Secrets: map[string]string{"SECRET": "s"}, Development: true,
		OnLog: func(e isolate.Entry) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, e.Text)
		},
	}, &room{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	get := func(path string) (int, string, http.Header) {
		t.Helper()
		resp, err := server.Client().Post(server.URL+path, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(path, err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(path, err)
		}
		return resp.StatusCode, string(b), resp.Header
	}
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", 200, "hello you s 3"},
		{"/x", 299, "body"},
		{"/throw", 500, "TypeError: boom\n    at "},
		{"/undefined", 500, "TypeError: Incorrect type for Promise: the Promise did not resolve to 'Response'."},
		{"/hang", 500, "Error: The Workers runtime canceled this request because it detected that your Worker's code had hung"},
		{"/absent", 500, "Error: env.DB cannot be used: there is no D1"},
		{"/present", 200, `[true,true,true,"object","object","{}",true,[],false]`},
		{"/later", 200, "now"},
		{"/call", 200, `["RangeError","no",true,null]`},
		{"/stream", 200, "ab"},
		{"/self", 200, `["Named,default",7,"now","now",3,"me you","named http://x/y",["RangeError","no",true],` +
			`["TypeError","The RPC receiver does not implement the method \"nothing\".",true],` +
			`["TypeError","The RPC receiver does not implement the method \"add\".",true],` +
			`5]`},
	} {
		status, body, _ := get(c.path)
		if status != c.status || !strings.HasPrefix(body, c.want) {
			t.Errorf("%s: got %d %q, want %d %q", c.path, status, body, c.status, c.want)
		}
	}
	if _, _, h := get("/"); h.Get("X-A") != "b" || h.Get("Content-Type") != "text/plain;charset=UTF-8" || h.Get("Content-Length") != "13" {
		t.Errorf("headers: %v", h)
	}
	if _, _, h := get("/x"); h["Content-Type"] != nil {
		t.Errorf("a type that the script did not give: %v", h)
	}
	w := httptest.NewRecorder()
	scheduledOf(s).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/cdn-cgi/local/scheduled?cron=x&time=5", nil))
	if w.Code != 200 || w.Body.String() != "ok" {
		t.Errorf("scheduled: %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	scheduledOf(s).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/cdn-cgi/local/scheduled?cron=bad", nil))
	if w.Code != 500 || w.Body.String() != "exception" {
		t.Errorf("scheduled: %d %s", w.Code, w.Body)
	}
	server.Close()
	s.Close()
	log := strings.Join(lines, "\n")
	for _, want := range []string{"Uncaught TypeError: boom", "cron x 5", "later"} {
		if !strings.Contains(log, want) {
			t.Errorf("log has no %q:\n%s", want, log)
		}
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Options{Bundle: newBundle(t, `throw new Error("at load");`)}, &room{})
	if !errors.Is(err, ErrScript) || !strings.Contains(err.Error(), "Error: at load\n    at ") {
		t.Errorf("got %v", err)
	}
}

// scheduledOf returns the handler of scheduled events of a process that runs a script.
func scheduledOf(s *Script) http.Handler {
	v := &versions{options: s.o}
	v.current.Store(s)
	return v.scheduled()
}
