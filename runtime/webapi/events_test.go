package webapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// logs keeps what a Worker prints.
type logs struct {
	mu   sync.Mutex
	list []string
}

func (l *logs) add(e isolate.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e.Text)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list, "\n")
}

// Beyond the limit a timer is refused as on workerd, and one that was cleared makes room.
func TestTooManyTimers(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch() {
		const timers = [];
		for (let n = 0; n < 3; n++) timers.push(setTimeout(() => {}, 60000));
		const refused = [];
		for (const set of [() => setTimeout(() => {}, 1), () => scheduler.wait(1)]) {
			try { await set(); refused.push("no"); } catch (e) { refused.push(e.constructor.name + " " + e.name + ": " + e.message); }
		}
		clearTimeout(timers[0]);
		setTimeout(() => {}, 1);
		return new Response(refused.join(";"));
	} }`, isolate.Options{Limits: isolate.Limits{Timers: 3}}, Options{})
	const want = "DOMException QuotaExceededError: You have exceeded the number of active timeouts you may set. " +
		"max active timeouts: 3, current active timeouts: 3, finished timeouts: 0"
	if _, body, err := get(t, i, "/"); err != nil || body != want+";"+want {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestWaitUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		i := newWorker(t, `export default { fetch(request, env, ctx) {
			ctx.waitUntil(scheduler.wait(20000).then(() => console.log("after")));
			ctx.waitUntil(Promise.reject(new TypeError("lost")));
			setTimeout(() => console.log("never: it is past the limit"), 40000);
			ctx.waitUntil(new Promise(() => {}));
			return new Response("first");
		} }`, isolate.Options{OnLog: l.add}, Options{})
		if _, body, err := get(t, i, "/"); err != nil || body != "first" {
			t.Fatal(body, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := l.text(); !strings.Contains(got, "after") || strings.Contains(got, "never") ||
			!strings.Contains(got, "Uncaught (in promise) TypeError: lost") {
			t.Errorf("logged %q", got)
		}
		i.Close()
	})
}

func TestHangs(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch(request) {
		switch (new URL(request.url).pathname) {
		case "/never": return new Promise(() => {});
		case "/cleared": clearTimeout(setTimeout(() => {}, 1e6)); await new Promise(() => {}); break;
		case "/stream": return new Response(new ReadableStream({ pull() { return new Promise(() => {}); } }));
		case "/late": await scheduler.wait(1); await new Promise(() => {}); break;
		}
	} }`, isolate.Options{}, Options{})
	for _, path := range []string{"/never", "/cleared", "/stream", "/late"} {
		_, _, err := get(t, i, path)
		if err == nil || !strings.Contains(err.Error(), "had hung and would never generate a response") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCallerGoes(t *testing.T) {
	t.Parallel()
	l := &logs{}
	i := newWorker(t, `export default { async fetch(request, env, ctx) {
		console.log("begun");
		await scheduler.wait(3600e3);
	} }`, isolate.Options{OnLog: l.add}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c := i.NewContext(isolate.ContextOptions{})
	done := make(chan error, 1)
	go func() {
		_, err := Fetch(ctx, i, httptest.NewRequest(http.MethodGet, "/", nil), Call{Context: c})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-c.Done()
}

func TestStreams(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch(request) {
		switch (new URL(request.url).pathname) {
		case "/upper": return new Response(request.body
			.pipeThrough(new TextDecoderStream())
			.pipeThrough(new TransformStream({ transform(s, c) { c.enqueue(s.toUpperCase()); } }))
			.pipeThrough(new TextEncoderStream()));
		case "/pass": return new Response(request.body, { headers: request.headers });
		case "/ticks": {
			let n = 0;
			return new Response(new ReadableStream({
				async pull(c) {
					await scheduler.wait(1);
					if (n === 3) return c.close();
					c.enqueue(new TextEncoder().encode("tick " + n++ + "\n"));
				},
			}));
		}
		case "/broken": return new Response(new ReadableStream({
			pull(c) { c.enqueue(new Uint8Array([65])); c.error(new RangeError("half way")); },
		}));
		case "/text": return new Response(ReadableStream.from(["a"]));
		}
	} }`, isolate.Options{}, Options{})
	server := httptest.NewServer(serve(i))
	defer server.Close()
	post := func(path string, body io.Reader) string {
		resp, err := server.Client().Post(server.URL+path, "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprint(string(text), err)
	}
	large := strings.Repeat("0123456789", 100_000)
	if got := post("/pass", strings.NewReader(large)); got != large+"<nil>" {
		t.Errorf("pass: %d bytes", len(got))
	}
	if got := post("/upper", strings.NewReader(strings.Repeat("abc", 30_000))); got != strings.Repeat("ABC", 30_000)+"<nil>" {
		t.Errorf("upper: %d bytes: %.100s", len(got), got)
	}
	if got := post("/ticks", nil); got != "tick 0\ntick 1\ntick 2\n<nil>" {
		t.Errorf("ticks: %q", got)
	}
	if got := post("/broken", nil); !strings.Contains(got, "EOF") {
		t.Errorf("broken: %q", got)
	}
	if got := post("/text", nil); !strings.Contains(got, "EOF") {
		t.Errorf("text: %q", got)
	}
	// What the client sends and gets is in lockstep: neither side waits for the other to end.
	r, w := io.Pipe()
	resp, err := server.Client().Post(server.URL+"/upper", "text/plain", r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for _, word := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(w, word); err != nil {
			t.Fatal(err)
		}
		if got, err := lines.ReadString('\n'); got != strings.ToUpper(word) {
			t.Errorf("%q %v", got, err)
		}
	}
	w.Close()
}

func TestReaderGoes(t *testing.T) {
	t.Parallel()
	l := &logs{}
	i := newWorker(t, `export default { fetch() {
		let n = 0;
		return new Response(new ReadableStream({
			async pull(c) { await scheduler.wait(1); c.enqueue(new Uint8Array([n++])); },
			cancel(reason) { console.log("canceled", reason); },
		}));
	} }`, isolate.Options{OnLog: l.add}, Options{})
	c := i.NewContext(isolate.ContextOptions{})
	resp, err := Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "/", nil), Call{Context: c})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(io.LimitReader(resp.Body, 3)); err != nil || len(b) != 3 {
		t.Fatal(b, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if got := l.text(); got != "canceled undefined" {
		t.Errorf("logged %q", got)
	}
}

// A request's body that breaks is an error that the script sees.
func TestSenderGoes(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch(request) {
		try { return new Response(await request.text()); } catch (e) { return new Response("caught " + e.message); }
	} }`, isolate.Options{}, Options{})
	in := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("some"), errReader{}))
	if _, body, err := send(t.Context(), i, in); err != nil || body != "caught Network connection lost." {
		t.Error(body, err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch(request) {
		const out = [];
		for (const r of [request, new Response(ReadableStream.from([new Uint8Array(3000), new Uint8Array(3000)]))]) {
			try { out.push((await r.text()).length); } catch (e) { out.push(e.message); }
		}
		try {
			const bomb = new Response("0".repeat(4000)).body.pipeThrough(new CompressionStream("gzip"));
			for await (const chunk of bomb.pipeThrough(new DecompressionStream("gzip"))) out.push(chunk.length);
			const larger = new ReadableStream({ start(c) { for (let n = 0; n < 9; n++) c.enqueue(new Uint8Array(999)); c.close(); } });
			await new Response(larger.pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"))).text();
		} catch (e) { out.push(e.message); }
		return Response.json(out);
	} }`, isolate.Options{}, Options{MaxBodyBytes: 5000})
	in := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 6000)))
	want := `["Memory limit would be exceeded before EOF.","Memory limit would be exceeded before EOF.",4000,` +
		`"Memory limit would be exceeded before EOF."]`
	if _, body, err := send(t.Context(), i, in); err != nil || body != want {
		t.Error(body, err)
	}
}

// serve serves an isolate by HTTP.
func serve(i *isolate.Isolate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		resp, err := Fetch(in.Context(), i, in, Call{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_ = http.NewResponseController(w).Flush()
		buffer := make([]byte, 32<<10)
		for {
			n, err := resp.Body.Read(buffer)
			if n > 0 {
				_, _ = w.Write(buffer[:n])
				_ = http.NewResponseController(w).Flush()
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				panic(http.ErrAbortHandler)
			}
		}
	})
}

func TestOutgoingFetch(t *testing.T) {
	t.Parallel()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		switch in.URL.Path {
		case "/redirect":
			http.Redirect(w, in, "/echo?from=redirect", http.StatusFound)
		case "/loop":
			http.Redirect(w, in, "/loop", http.StatusFound)
		case "/slow":
			<-in.Context().Done()
		default:
			body, _ := io.ReadAll(in.Body)
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			fmt.Fprintf(w, "%s %s %s %s", in.Method, in.URL, in.Header.Get("X-A"), body)
		}
	}))
	defer origin.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	i := newWorker(t, `export default { async fetch(request) {
		const base = "`+origin.URL+`";
		const out = [];
		const show = (r, text) => out.push(r.status + " " + r.url.replace(base, "") + " " + r.redirected + " " + text);
		let r = await fetch(base + "/echo", { method: "POST", body: "hi", headers: { "x-a": "b" } });
		out.push(r.headers.getSetCookie().join());
		show(r, await r.text());
		r = await fetch(new Request(base + "/redirect", { method: "POST", body: "hi" }));
		show(r, await r.text());
		r = await fetch(base + "/redirect", { redirect: "manual" });
		show(r, r.headers.get("location"));
		r = await fetch(base + "/echo", { method: "POST", body: ReadableStream.from(["a", "b"]).pipeThrough(new TextEncoderStream()) });
		show(r, await r.text());
		for (const f of [
			() => fetch(base + "/loop"), () => fetch(base.replace(/:\d+$/, ":1")), () => fetch("nowhere"),
			() => fetch(base + "/slow", { signal: AbortSignal.timeout(5) }),
			() => fetch(base + "/echo", { signal: AbortSignal.abort() }),
		]) {
			try { out.push("no error: " + (await f()).status); } catch (e) { out.push(e.name + ": " + e.message); }
		}
		return Response.json(out);
	} }`, isolate.Options{}, Options{Fetch: func(ctx context.Context, q *http.Request) (*http.Response, error) {
		return client.Do(q.WithContext(ctx))
	}})
	_, body, err := get(t, i, "/")
	if err != nil {
		t.Fatal(err)
	}
	want := `["a=1,b=2","200 /echo false POST /echo b hi","200 /echo?from=redirect true GET /echo?from=redirect  ",` +
		`"302 /redirect false /echo?from=redirect","200 /echo false POST /echo  ab","TypeError: Too many redirects.",` +
		`"Error: Network connection lost.","TypeError: Invalid URL: nowhere",` +
		`"TimeoutError: The operation was aborted due to timeout","AbortError: The operation was aborted"]`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestGlobalScope(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `
		const out = {};
		const tries = { timeout: () => setTimeout(() => {}), random: () => crypto.getRandomValues(new Uint8Array(1)), uuid: () => crypto.randomUUID(),
			response: () => new Response(""), interval: () => setInterval(() => {}) };
		for (const name in tries) try { tries[name](); out[name] = "allowed"; } catch (e) { out[name] = e.message.slice(0, 53); }
		fetch("http://a/").catch((e) => { out.fetch = e.message.slice(0, 53); });
		out.math = typeof Math.random();
		out.now = Date.now();
		out.performance = performance.now();
		out.eval = eval("1+1");
		out.url = new URL("http://a/b").pathname;
		export default { fetch() { out.later = Date.now() > 1e12; return Response.json(out); } }
	`, isolate.Options{}, Options{})
	_, body, err := get(t, i, "/")
	const no = "Disallowed operation called within global scope. Asyn"
	want := `{"timeout":"` + no + `","random":"` + no + `","uuid":"` + no + `","response":"` + no + `","interval":"` + no +
		`","math":"number","now":0,"performance":0,"eval":2,"url":"/b","fetch":"` + no + `","later":true}`
	if err != nil || body != want {
		t.Errorf("got  %s\nwant %s\n%v", body, want, err)
	}
}

func TestEntrypoints(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `
		class Base { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }
		export class Named extends Base { fetch(request) { return new Response("named " + this.ctx.props.who + " " + request.url); } }
		export default class extends Base { fetch(request) { return new Response("default " + typeof this.env + typeof this.ctx.waitUntil); } }
	`, isolate.Options{}, Options{})
	for entrypoint, want := range map[string]string{"": "default objectfunction", "Named": "named undefined http://example.com/"} {
		resp, err := Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "/", nil), Call{Entrypoint: entrypoint})
		if err != nil {
			t.Errorf("%q: %v", entrypoint, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != want {
			t.Errorf("%q: %q", entrypoint, body)
		}
	}
	if _, err := Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "/", nil), Call{Entrypoint: "Missing"}); err == nil {
		t.Error("an entrypoint that is missing took a request")
	}
}

// Streams, timers and tasks of a request are gone with it.
func TestRequestsLeaveNothing(t *testing.T) {
	i := newWorker(t, `export default { async fetch(request, env, ctx) {
		ctx.waitUntil(Promise.resolve());
		setTimeout(() => {}, 1);
		return new Response(new Response("x" + new URL(request.url).pathname).body.pipeThrough(new TransformStream()));
	} };`, isolate.Options{}, Options{})
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	requests := func(n int) {
		for range n {
			if _, _, err := get(t, i, "/a"); err != nil {
				t.Fatal(err)
			}
		}
	}
	requests(100)
	before := heap()
	requests(800)
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("800 requests left %d KiB", grown>>10)
	}
}

// Microtasks within microtasks leave an event's promise to find its event.
func TestNestedMicrotasks(t *testing.T) {
	t.Parallel()
	i := newWorker(t, `export default { async fetch() {
		const nest = () => queueMicrotask(() => { Promise.resolve().then(() => {}); });
		nest();
		await new Promise((resolve) => setTimeout(resolve, 1));
		nest();
		await null;
		await null;
		return new Response("ok");
	} };`, isolate.Options{}, Options{})
	resp, err := Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "http://x/", nil), Call{})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
