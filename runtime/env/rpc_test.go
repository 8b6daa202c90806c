package env_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

//go:embed testdata/rpc.js
var rpcSource string

// entrypoint is an entrypoint of a script on an isolate of this process.
type entrypoint struct {
	isolate func() *isolate.Isolate
	to      bundle.Service
}

func (e *entrypoint) Fetch(ctx context.Context, r *http.Request) (*http.Response, error) {
	return env.FetchEntrypoint(ctx, e.isolate(), e.to, r)
}

func (e *entrypoint) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	return env.CallEntrypoint(ctx, e.isolate(), e.to, method, args)
}

func (e *entrypoint) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	return env.InvokeEntrypoint(ctx, e.isolate(), e.to, in)
}

func (e *entrypoint) Target() sidecar.Target {
	return sidecar.Target{Worker: e.to.Worker, Entrypoint: e.to.Entrypoint, Props: e.to.Props}
}

// process serves the entrypoints of a script to others.
type process struct{ isolate func() *isolate.Isolate }

func (p process) entrypoint(t sidecar.Target) *entrypoint {
	return &entrypoint{isolate: p.isolate, to: bundle.Service{Worker: t.Worker, Entrypoint: t.Entrypoint, Props: t.Props}}
}

func (p process) Fetch(ctx context.Context, t sidecar.Target, w http.ResponseWriter, r *http.Request) error {
	resp, err := p.entrypoint(t).Fetch(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

func (p process) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	return p.entrypoint(t).Call(ctx, method, args)
}

func (p process) Invoke(ctx context.Context, t sidecar.Target, in sidecar.Invocation) (sidecar.Value, error) {
	return p.entrypoint(t).Invoke(ctx, in)
}

// connect serves a process and returns a link to it, which ends with the test.
func connect(t *testing.T, p process) *sidecar.Link {
	t.Helper()
	l, server := bufconn.Listen(1<<16), sidecar.NewServer(sidecar.ServerOptions{})
	sidecar.RegisterHandler(server, p)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sidecar.Serve(ctx, l, server) }()
	conn, err := sidecar.Dial("passthrough:///memory", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	link := sidecar.NewLink(conn, sidecar.LinkOptions{})
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(link.Close(), conn.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return link
}

// probe is the body of a function of (S, env, ctx), and the JSON that it gives.
type probe struct{ name, code, want string }

// runProbes runs probes in a script at a compatibility date, each as a request: with the service that they call on the
// same isolate, and with one in another process.
func runProbes(t *testing.T, date string, probes []probe) {
	t.Helper()
	t.Run("here", func(t *testing.T) {
		var i *isolate.Isolate
		here := func() *isolate.Isolate { return i }
		i = startProbes(t, date, probes, func(to bundle.Service) env.Service { return &entrypoint{isolate: here, to: to} })
		checkProbes(t, i, probes)
	})
	t.Run("elsewhere", func(t *testing.T) {
		var i, other *isolate.Isolate
		link := connect(t, process{func() *isolate.Isolate { return other }})
		back := connect(t, process{func() *isolate.Isolate { return i }})
		over := func(link *sidecar.Link) func(bundle.Service) env.Service {
			return func(to bundle.Service) env.Service {
				return binding.NewService(to.Worker, to.Entrypoint, to.Props, link)
			}
		}
		i, other = startProbes(t, date, probes, over(link)), startProbes(t, date, probes, over(back))
		checkProbes(t, i, probes)
	})
}

// startProbes starts a script with probes.
func startProbes(t *testing.T, date string, probes []probe, service func(bundle.Service) env.Service) *isolate.Isolate {
	t.Helper()
	var code strings.Builder
	for _, p := range probes {
		fmt.Fprintf(&code, "%q: async (S, env, ctx) => { %s },\n", p.name, p.code)
	}
	program, err := isolate.Compile(isolate.Source{
		Name: "worker.js", Code: strings.Replace(rpcSource, "/*PROBES*/", code.String(), 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := env.Options{
		Manifest: &bundle.Manifest{
			Name: "w", CompatibilityDate: date, Exports: []string{"Service"},
			Services: []bundle.Service{
				{Binding: "SVC", Worker: "w", Entrypoint: "Service"}, {Binding: "HANDLERS", Worker: "w", Entrypoint: "Handlers"},
			},
		},
		Service: service,
	}
	i, err := isolate.New(t.Context(), program, o.Isolate(webapi.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func checkProbes(t *testing.T, i *isolate.Isolate, probes []probe) {
	t.Helper()
	for _, p := range probes {
		t.Run(p.name, func(t *testing.T) {
			if got := ask(t, i, p.name); got != p.want {
				t.Errorf("got  %s\nwant %s", got, p.want)
			}
		})
	}
}

// ask runs one probe.
func ask(t *testing.T, i *isolate.Isolate, name string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/"+url.PathEscape(name), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := webapi.Fetch(t.Context(), i, q, webapi.Call{})
	if err != nil {
		return "fails " + err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const newDate = "2026-04-01"

// What stubs, promises and properties are to a script. The answers are those of workerd, as are all of this file's.
func TestRPCObjects(t *testing.T) {
	t.Parallel()
	runProbes(t, newDate, []probe{
		{"promise", `return kind(S.number())`, `["function","[object JsRpcPromise]","RpcPromise","",false,true,false,false]`},
		{"property", `return kind(S.x.y)`, `["function","[object JsRpcProperty]","RpcProperty","",false,false,true,false]`},
		{"stub", `return kind(await S.target(1))`, `["function","[object JsRpcStub]","RpcStub","",true,false,false,false]`},
		{"then", `const t = await S.target(1);
			return [typeof t.then, typeof S.then, typeof S.x.then, S.number().then(() => {}) instanceof Promise]`,
			`["undefined","undefined","function",true]`},
		{"in", `const t = await S.target(1); return ["nope" in t, "nope" in S, "fetch" in S]`, `[true,true,true]`},
		{"assigned", `const t = await S.target(1); t.foo = 1; return [t.foo, delete t.foo, typeof t.foo]`, `[1,true,"function"]`},
		{"index", `return [typeof S[0], typeof S.x[0], typeof S["01"]]`, `["undefined","undefined","function"]`},
		{"JSON", `return JSON.stringify({ t: await S.target(1) })`, `"{}"`},
		{"dispose", `const t = await S.target(1), o = await S.echo({ a: {} });
			return [typeof t[Symbol.dispose], typeof t[Symbol.asyncDispose], typeof S.number()[Symbol.dispose],
				typeof S.x[Symbol.dispose], typeof o[Symbol.dispose], typeof o.a[Symbol.dispose], Object.keys(o)]`,
			`["function","undefined","function","undefined","function","undefined",["a"]]`},
		{"constructors", `return [() => new RpcPromise(), () => new RpcStub(1), () => new RpcStub([]),
				() => new RpcStub(new Date())].map((f) => { try { f() } catch (e) { return text(e) } })`,
			`["TypeError: Illegal constructor","TypeError: Failed to construct 'JsRpcStub': constructor parameter 1 is not of ` +
				`type 'Object'.","TypeError: RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives.",` +
				`"TypeError: RpcStubs can only wrap plain objects, functions, and RpcTarget derivatives."]`},
		{"depth", `let p = S; for (let i = 0; i < 65; i++) p = p["a" + i];
			return [await error(p), (() => { try { return p.x } catch (e) { return text(e) } })()]`,
			`["TypeError: The RPC receiver does not implement the method \"a0\". (remote)",` +
				`"TypeError: RPC pipelined property path is too deep (max 64)."]`},
	})
}

// What can be called and read, and what cannot.
func TestRPCMembers(t *testing.T) {
	t.Parallel()
	missing := func(name string) string {
		return `"TypeError: The RPC receiver does not implement the method \"` + name + `\". (remote)"`
	}
	notFunction := func(name string) string { return `"TypeError: \"` + name + `\" is not a function. (remote)"` }
	runProbes(t, newDate, []probe{
		{"methods and getters", `const t = await S.target(1); return [await t.value, await t.inc(), await t.inc(5), await t.value]`,
			`[1,2,7,7]`},
		{"deep", `const t = await S.target(1); return [await t.deep.a.b, await t.deep.a.f(), await error(t.deep.x.y)]`,
			`[7,8,` + missing("x") + `]`},
		{"hidden", `const t = await S.target(1); return [await error(t.own), await error(t.own()), t.hasOwnProperty("a"),
				await error(t.nope)]`,
			`[` + missing("own") + `,` + missing("own") + `,false,` + missing("nope") + `]`},
		{"no functions", `const t = await S.target(1); return [await error(t()), await error(t.value()), await error(S.object().a())]`,
			`[` + notFunction("(this)") + `,` + notFunction("value") + `,` + notFunction("a") + `]`},
		{"functions", `const f = await S.fn(); return [await f(1, 2), await f.extra.v, await f.extra.q(), await f.length,
				await error(f.apply(null))]`, `[[1,2],2,1,2,` + missing("apply") + `]`},
		{"reserved", `return [await error(S.dup()), await error(S.alarm())]`,
			`["TypeError: 'dup' is a reserved method and cannot be called over RPC. (remote)",` +
				`"TypeError: 'alarm' is a reserved method and cannot be called over RPC. (remote)"]`},
		{"throws", `const t = await S.target(1); return [await error(t.fail()), await error(S.throws().a.b())]`,
			`["RangeError: in a target (remote)","Error: boom (remote)"]`},
	})
}

// Functions and targets as arguments.
func TestRPCArguments(t *testing.T) {
	t.Parallel()
	runProbes(t, newDate, []probe{
		{"function", `return [await S.call((a, b) => a + b, 1, 2), await S.call(async () => 3)]`, `[3,3]`},
		{"target", `return S.use(new Target(4))`, `[4,7]`},
		{"nested", `return S.call(async (o) => [await o.a[0](1), await o.m.get("t").value], { a: [(x) => x + 1], m: new Map([["t", new Target(9)]]) })`,
			`[2,9]`},
		{"same twice", `const f = (x) => x; return S.both(f, f)`, `[true,1,2]`},
		{"stub", `const t = await S.target(6); return [await S.use(t), await t.value]`, `[[6,9],9]`},
		{"there and back", `const f = () => 3, g = await S.echo(f); return [f === g, await g()]`, `[false,3]`},
		{"throws", `return S.error(() => { throw Object.assign(new RangeError("cb"), { code: 3 }) })`, `["RangeError","cb",true]`},
		{"returns a target", `const t = await S.call(() => new Target(9)); return t.value`, `9`},
		{"kept", `await S.keep(() => 5); return error(S.again())`, `"Error: RPC stub used after being disposed. (remote)"`},
		{"kept by dup", `return S.keepAndCall(() => 5)`, `5`},
		{"of another event", `await S.keepAndCall(() => 5); return error(S.again())`,
			`"Error: Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response bodies, ` +
				`and others) created in the context of one request handler cannot be accessed from a different request's handler. ` +
				`This is a limitation of Cloudflare Workers which allows us to improve overall performance. (I/O type: Client) (remote)"`},
		{"after the call", `await S.log(); await S.later(() => 7); return logged(() => S.log(), 1, "later")`, `["later 7"]`},
		{"then the event ends", `await S.later(() => 7, 20); return "left"`, `"left"`},
		{"after its event", `return logged(() => S.log(), 1, "later")`, `["later 7"]`},
		{"refused", `return [await error(S.echo(S.number())), await error(S.echo(S.x)), await error(S.echo(new (class K {})())),
				await error(S.echo(Object.create(null))), await error(S.echo(Promise.resolve()))]`,
			`["DataCloneError: Could not serialize object of type \"RpcPromise\". This type does not support serialization.",` +
				`"DataCloneError: Could not serialize object of type \"RpcProperty\". This type does not support serialization.",` +
				`"DataCloneError: Could not serialize object of type \"K\". This type does not support serialization.",` +
				`"DataCloneError: Could not serialize object of type \"Object\". This type does not support serialization.",` +
				`"DataCloneError: #<Promise> could not be cloned."]`},
		{"service", `return S.call(async (s) => [await s.echo(5), await (await s.fetch("http://x/")).text()], S)`, `[5,"fetched"]`},
		{"too many", `return error(S.echo(Array.from({ length: 1025 }, () => () => 1)))`,
			`"Error: A value may have at most 1024 stubs."`},
	})
}

// Calls on results that are not there yet.
func TestRPCPipelining(t *testing.T) {
	t.Parallel()
	missing := `"TypeError: The RPC receiver does not implement the method \"foo\". (remote)"`
	runProbes(t, newDate, []probe{
		{"calls", `return [await S.target(3).value, await S.target(3).inc(4), await S.target(3).sub(8).value]`, `[3,7,8]`},
		{"properties", `return [await S.prop.value, await S.prop.inc(), await S.fn()(1, 2)]`, `[11,12,[1,2]]`},
		{"objects", `const p = S.object().n, q = p.d; return [await S.object().a, await S.object().f(4), await q.value, await (await p).d.value]`,
			`[1,8,4,4]`},
		{"resolved", `const p = S.object(), o = await p; return [await p.f(2), await p.a, await o.f(3)]`, `[4,1,6]`},
		{"missing", `return [await error(S.object().foo), await error(S.object().foo()), await error(S.number().foo), await error(S.nothing().foo.bar)]`,
			`[` + missing + `,` + missing + `,` + missing + `,` + missing + `]`},
		{"order", `const q = S.slow(12, 5), a = q.inc(), t = await q, b = t.inc(); return [await a, await b, await q.value]`, `[13,14,14]`},
		{"order of calls", `const t = S.slow(0, 5); return Promise.all(Array.from({ length: 20 }, () => t.inc()))`,
			`[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]`},
		{"after a call that is not sent", `const p = S.number(Symbol()), e = await error(p); return await error(p.foo.bar()) === e`, `true`},
		{"after a call of nothing", `const t = await S.target(1); t[Symbol.dispose](); return error(t.sub(2).inc())`,
			`"Error: RPC stub used after being disposed."`},
		{"calls overlap", `await S.log(); await Promise.all([S.slow(1, 300), S.slow(2, 1)]); return (await S.log()).filter((l) => l.startsWith("slow"))`,
			`["slow 2","slow 1"]`},
	})
}

// When stubs end.
func TestRPCDisposal(t *testing.T) {
	t.Parallel()
	const stub, promise = `"Error: RPC stub used after being disposed."`, `"Error: RPC promise used after being disposed."`
	runProbes(t, newDate, []probe{
		{"stub", `await S.log(); const t = await S.target(21); t[Symbol.dispose](); const e = [await error(t.value), await error(t.inc())];
			return [...e, await logged(() => S.log(), 1, "21")]`, `[` + stub + `,` + stub + `,["disposed 21"]]`},
		{"result", `await S.log(); const o = await S.object(); o[Symbol.dispose](); const e = [await error(o.f(1)), await error(o.t.value)];
			return [...e, (await logged(() => S.log(), 2)).sort()]`, `[` + stub + `,` + stub + `,["disposed 3","disposed 4"]]`},
		{"dup", `await S.log(); const t = await S.target(34), d = t.dup(); t[Symbol.dispose](); const v = await d.value;
			await scheduler.wait(5); const before = (await S.log()).filter((l) => l.includes("34")).length; d[Symbol.dispose](); d[Symbol.dispose]();
			return [kind(d)[1], v, before, await logged(() => S.log(), 1, "34")]`, `["[object JsRpcStub]",34,0,["disposed 34"]]`},
		{"promise", `const p = S.target(31); p[Symbol.dispose](); return [typeof await p, await error(p.value)]`, `["function",` + promise + `]`},
		{"promise that has resolved", `const p = S.target(32), t = await p; p[Symbol.dispose](); return [await error(t.value), await error(p.value)]`,
			`[` + stub + `,` + promise + `]`},
		{"property read before", `const t = await S.target(1), v = t.value; t[Symbol.dispose](); return error(v)`, stub},
		{"arguments", `log.length = 0; await S.use(new Target(40)); return logged(own, 1, "43")`, `["disposed 43"]`},
		{"returned", `const t = await S.target(5), u = await S.call(() => t); return [await u.value, await error(t.value)]`,
			`[5,` + stub + `]`},
		{"end of the event", `await S.log(); ctx.waitUntil((async () => { await S.target(50) })()); return "left"`, `"left"`},
		{"after the end of the event", `return logged(() => S.log(), 1, "50")`, `["disposed 50"]`},
	})
}

// Before 2026-01-20 a stub among the arguments passes to the callee.
func TestRPCTransfersStubs(t *testing.T) {
	t.Parallel()
	runProbes(t, "2025-12-01", []probe{
		{"stub", `const t = await S.target(6); return [await S.use(t), await error(t.value)]`,
			`[[6,9],"Error: RPC stub used after being disposed."]`},
	})
}

// Stubs of the script's own.
func TestRPCLocalStubs(t *testing.T) {
	t.Parallel()
	runProbes(t, newDate, []probe{
		{"target", `const s = new RpcStub(new Target(3)); return [kind(s)[1], await s.value, await s.inc(), await s.sub(8).value]`,
			`["[object JsRpcStub]",3,4,8]`},
		{"function", `return new RpcStub((a) => a + 1)(1)`, `2`},
		{"object", `const s = new RpcStub({ a: 1, f: () => 2, n: { m: 3 } }); return [await s.a, await s.f(), await s.n.m, await error(s.b)]`,
			`[1,2,3,"TypeError: The RPC receiver does not implement the method \"b\". (remote)"]`},
		{"copies", `const o = {}, s = new RpcStub((x) => { x.a = 1; return x === o }); return [await s(o), o]`, `[false,{}]`},
		{"throws", `return error(new RpcStub(() => { throw new RangeError("q") })())`, `"RangeError: q (remote)"`},
		{"with props", `return S.call((s) => s.props(), ctx.exports.Service({ props: { a: [1, "é"] } }))`, `{"a":[1,"é"]}`},
		{"recursion", `const f = new RpcStub(async (n, g) => n === 0 ? 0 : 1 + await g(n - 1, g)); return [await f(20, f), (await error(f(100, f))).slice(0, 33)]`,
			`[20,"Error: Subrequest depth limit exc"]`},
		{"passed", `const s = new RpcStub(new Target(7)); return [await S.use(s), await s.value]`, `[[7,10],10]`},
	})
}

// An event that hangs is told so, also while it holds stubs, and one whose stubs are held is not.
func TestRPCHangs(t *testing.T) {
	t.Parallel()
	runProbes(t, newDate, []probe{
		{"callee", `return (await error(S.never())).slice(0, 40)`, `"Error: The Workers runtime canceled this"`},
		{"callback", `return Promise.race([S.call(() => new Promise(() => {})), scheduler.wait(20).then(() => "waiting")])`, `"waiting"`},
		{"holder", `const t = await S.target(1); await scheduler.wait(20); return t.value`, `1`},
	})
}

// References that nobody disposes of end when the engine forgets them, or their event ends: nothing stays exported.
func TestRPCDropsAll(t *testing.T) {
	t.Parallel()
	runProbes(t, newDate, slices.Concat(
		[]probe{{"start", `await S.log(); for (let n = 0; n < 3; n++) await S.object(); return 1`, `1`}},
		[]probe{{"end", `return (await logged(() => S.log(), 6)).length`, `6`}},
	))
}

// Values of the platform's own.
func TestRPCValues(t *testing.T) {
	t.Parallel()
	unsupported := func(class string) string {
		return `"DataCloneError: Could not serialize object of type \"` + class + `\". This type does not support serialization."`
	}
	const locked = `"TypeError: The ReadableStream has been locked to a reader."`
	runProbes(t, newDate, []probe{
		{"headers", `const h = await S.make("headers"); h.append("q", "r"); return [...h]`,
			`[["a","b"],["q","r"],["set-cookie","1"],["set-cookie","2"]]`},
		{"response", `const r = await S.make("response"); r.headers.append("q", "r");
			return [r.status, r.statusText, [...r.headers], await r.text(), r.url, r.type, r.ok]`,
			`[201,"Made",[["a","b"],["content-type","text/plain;charset=UTF-8"],["q","r"]],"body","","default",true]`},
		{"no content", `const r = await S.make("no content"); return [r.status, r.body]`, `[204,null]`},
		{"request", `const r = await S.make("request"); return [r.url, r.method, r.redirect, [...r.headers], r.cf, await r.text(), r.bodyUsed]`,
			`["http://x/y?z","POST","manual",[["a","b"],["content-type","text/plain;charset=UTF-8"]],{"q":1},"rb",true]`},
		{"arguments", `const q = new Request("http://a/", { method: "PUT", body: "abc" }), r = new Response("abc");
			return [await S.read(q), q.bodyUsed, await S.read(r), r.bodyUsed, await S.read(new Request("http://a/"))]`,
			`[["Request","http://a/","PUT",[["content-type","text/plain;charset=UTF-8"]],"abc"],true,` +
				`["Response","",200,[["content-type","text/plain;charset=UTF-8"]],"abc"],true,["Request","http://a/","GET",[],""]]`},
		{"used", `const r = new Response("abc"); await r.text(); const s = new Response("abc").body; s.getReader();
			return [await error(S.read(r)), await error(S.readStream(s))]`, `[` + locked + `,` + locked + `]`},
		{"blob", `const b = await S.echo(new Blob(["ab"], { type: "a/b" })); return [b.constructor.name, b.size, b.type, await b.text()]`,
			`["Blob",2,"a/b","ab"]`},
		{"exception", `const e = await S.echo(new DOMException("m", "AbortError")); return [e.constructor.name, e.name, e.message, e.code]`,
			`["DOMException","AbortError","m",20]`},
		{"error", `const e = await S.echo(Object.assign(new TypeError("m"), { code: 4 })); return [e.constructor.name, e.message, e.code ?? null]`,
			`["TypeError","m",null]`},
		{"refused", `return [await error(S.echo(new File(["a"], "n"))), await error(S.echo(new URL("http://a/"))),
				await error(S.echo(new FormData())), await error(S.echo(new TransformStream())), await error(S.echo(new AbortController().signal)),
				await error(S.read(new Request("http://a/", { signal: new AbortController().signal })))]`,
			`[` + unsupported("File") + `,` + unsupported("URL") + `,` + unsupported("FormData") + `,` + unsupported("TransformStream") +
				`,"DataCloneError: AbortSignal serialization is not enabled.","DataCloneError: AbortSignal serialization is not enabled."]`},
	})
}

// Streams flow as they are read and written.
func TestRPCStreams(t *testing.T) {
	t.Parallel()
	const cut = `"Error: ReadableStream received over RPC disconnected prematurely."`
	runProbes(t, newDate, []probe{
		{"readable", `return [await new Response(await S.make("bytes")).text(), await new Response(await S.make("text")).text()]`,
			`["x1","text"]`},
		{"bodies", `return [(await (await S.make("large")).text()).length, await (await S.make("slow")).text(), (await S.make("slow")).body.constructor.name]`,
			`[3145728,"ab","ReadableStream"]`},
		{"failing", `return [await error(new Response(await S.make("failing")).text()), await error(new Response(await S.make("objects")).text())]`,
			`[` + cut + `,` + cut + `]`},
		{"arguments", `return [await S.readStream(new Response("abc").body),
				await S.readStream(new ReadableStream({ pull(c) { c.enqueue(new TextEncoder().encode("js")); c.close() } }))]`,
			`[["ReadableStream","abc"],["ReadableStream","js"]]`},
		{"there and back", `return new Response(await S.echo(new Response("abc").body)).text()`, `"abc"`},
		{"read after the call", `await S.log(); await S.readLater(new Response("late").body); return logged(() => S.log(), 1, "read")`,
			`["read late"]`},
		{"back pressure", `await S.log(); const r = (await S.make("endless")).getReader(); await r.read(); await scheduler.wait(20);
			const pulled = (await S.log()).length; await r.cancel("why");
			return [pulled < 8, await logged(async () => (await S.log()).filter((l) => l !== "pulled"), 1)]`,
			`[true,["canceled: ReadableStream sent over RPC was canceled or released by the remote execution context."]]`},
		{"canceled", `const got = []; await S.cancel(new ReadableStream({ cancel(r) { got.push(String(r)) } })); return logged(() => got.splice(0), 1)`,
			`["Error: ReadableStream sent over RPC was canceled or released by the remote execution context."]`},
		{"writable", `const got = [], w = new WritableStream({ write(c) { got.push([c.constructor.name, [...new Uint8Array(c)]]) }, close() { got.push("close") } });
			return [await S.write(w, 1, "ab"), got, w.locked]`,
			`["WritableStream",[["ArrayBuffer",[1]],["ArrayBuffer",[97,98]],"close"],true]`},
		{"identity", `const { readable, writable } = new IdentityTransformStream(), text = new Response(readable).text();
			return [await S.write(writable, "w1", "w2"), await text]`, `["WritableStream","w1w2"]`},
		{"writes that fail", `return [await error(S.write(new WritableStream({ write() { throw new RangeError("sink") } }), 1)),
				await error(S.write(new WritableStream(), { a: 1 }))]`,
			`["RangeError: sink (remote)","TypeError: This TransformStream is being used as a byte stream, but received an object of ` +
				`non-ArrayBuffer/ArrayBufferView type on its writable side. (remote)"]`},
		{"aborted", `const got = [], w = new WritableStream({ abort(r) { got.push(String(r)) } }); await S.abort(w); return logged(() => got.splice(0), 1)`,
			`["Error: WritableStream received over RPC was disconnected because the remote execution context has ended."]`},
	})
}

// RPC-20: functions of an object that is no class get one argument of the caller's, env and ctx.
func TestRPCHandlers(t *testing.T) {
	t.Parallel()
	const count = `TypeError: Attempted to call RPC function \"three\" with the wrong number of arguments. When calling a top-level ` +
		`handler function that is not declared as part of a class, you must always send exactly one argument. In order to ` +
		`support variable numbers of arguments, the server must use class-based syntax (extending WorkerEntrypoint) instead. (remote)`
	runProbes(t, newDate, []probe{
		{"calls", `const H = env.HANDLERS; return [await H.one(1), await H.three(2), await H.prop, await H.object.a, await H.object.f(3)]`,
			`[["one",1],[2,"object","function"],5,1,3]`},
		{"numbers of arguments", `const H = env.HANDLERS; return [await error(H.three()), await error(H.three(1, 2)), (await error(H.four(1))).slice(0, 60)]`,
			`["` + count + `","` + count + `","TypeError: Cannot call handler function \"four\" over RPC beca"]`},
		{"nothing to call", `const H = env.HANDLERS; return [await error(H.prop()), await error(H.nope(1)), await error(H.nope)]`,
			`["TypeError: \"prop\" is not a function. (remote)","TypeError: The RPC receiver does not implement the method \"nope\". (remote)",` +
				`"TypeError: The RPC receiver does not implement the method \"nope\". (remote)"]`},
	})
}

// RPC-6: before 2024-04-03 stubs have no methods.
func TestRPCOff(t *testing.T) {
	t.Parallel()
	runProbes(t, "2024-04-02", []probe{
		{"methods", `return [typeof S.echo, typeof S.fetch, "echo" in S, "fetch" in S]`, `["undefined","function",false,true]`},
	})
}
