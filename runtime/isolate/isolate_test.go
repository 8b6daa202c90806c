package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"

	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// compileModule compiles an ES module as a bundler would hand it over.
func compileModule(t testing.TB, code string) *Program {
	t.Helper()
	r := api.Build(api.BuildOptions{
		Stdin:     &api.StdinOptions{Contents: code, Sourcefile: "src/index.ts", Loader: api.LoaderTS},
		Bundle:    true,
		Format:    api.FormatESModule,
		Target:    api.ESNext,
		Charset:   api.CharsetUTF8,
		Sourcemap: api.SourceMapExternal,
		Outfile:   "/out.js",
		Banner:    map[string]string{"js": ModuleBanner},
		LogLevel:  api.LogLevelSilent,
		Supported: map[string]bool{"async-generator": false, "for-await": false, "class-field": false},
	})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors[0].Text)
	}
	src := Source{Name: "index.js"}
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			src.SourceMap = f.Contents
		} else {
			src.Code = WrapModule(string(f.Contents))
		}
	}
	p, err := Compile(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// timersOf installs what the tests need of the web.
func timersOf(i *Isolate) error {
	return i.DefineGlobal("setTimeout", i.Function("setTimeout", 2, func(c goja.FunctionCall) goja.Value {
		f, _ := goja.AssertFunction(c.Argument(0))
		delay := time.Duration(c.Argument(1).ToInteger()) * time.Millisecond
		return i.Runtime().ToValue(i.SetTimer(delay, 0, func() error {
			_, err := f(goja.Undefined())
			return err
		}))
	}))
}

func newIsolate(t testing.TB, code string, o Options) *Isolate {
	t.Helper()
	o.Install = append(o.Install, timersOf)
	i, err := New(t.Context(), compileModule(t, code), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// call runs an export and returns its value as text.
func call(t testing.TB, i *Isolate, name string) (string, error) {
	t.Helper()
	return callIn(t.Context(), i.NewContext(ContextOptions{}), name)
}

func callIn(ctx context.Context, c *Context, name string) (string, error) {
	var out string
	err := c.Run(ctx, func(e *Event) (goja.Value, error) {
		export := c.Isolate().Exports().Get(name)
		f, ok := goja.AssertFunction(export)
		if !ok {
			return nil, errors.New("no such export: " + name)
		}
		if c.Isolate().IsAsync(export.(*goja.Object)) {
			e.Async()
		}
		return f(goja.Undefined())
	}, func(_ *Event, v goja.Value) error {
		out = v.String()
		return nil
	})
	return out, err
}

func TestRunReturnsWhatTheScriptReturns(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		let n = 0;
		export const now = () => 1;
		export const later = async () => { await null; return 2; };
		export const timed = () => new Promise((r) => setTimeout(() => r(3), 1));
		export const live = () => ++n;
		export { n as "other name" };
		export default { x: 1 };
	`, Options{})
	for name, want := range map[string]string{"now": "1", "later": "2", "timed": "3"} {
		if got, err := call(t, i, name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const thrown = () => { throw new TypeError("no"); };
		export const later = async () => { await null; nested(); };
		function nested(): void { throw new RangeError("deep"); }
		export const text = () => { throw "text"; };
		export const bare = () => { throw Object.create(null); };
		export const hostile = () => { throw { toString() { throw 1; }, get message() { throw 2; } }; };
		export const hung = () => new Promise(() => {});
		export const overflow = () => { const f = () => f() + 1; return f(); };
		export const evil = () => eval("1");
		export const evil2 = () => new Function("return 1")();
		export const evil3 = () => (async () => {}).constructor("return 1")();
	`, Options{})
	for name, want := range map[string]string{
		"thrown":   "TypeError: no",
		"later":    "RangeError: deep",
		"text":     "text",
		"bare":     "#<Object>",
		"hostile":  "an error whose properties cannot be read",
		"hung":     "Error: " + hungText,
		"overflow": "RangeError: Maximum call stack size exceeded",
		"evil":     "EvalError: Code generation from strings disallowed for this context",
		"evil2":    "EvalError: Code generation from strings disallowed for this context",
		"evil3":    "EvalError: Code generation from strings disallowed for this context",
	} {
		_, err := call(t, i, name)
		var x *Exception
		if !errors.As(err, &x) || x.Error() != want {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "later" && !strings.Contains(x.Stack, "at nested (src/index.ts:4:") {
			t.Errorf("stack: %s", x.Stack)
		}
	}
}

func TestInterrupts(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const loop = () => { for (;;) { try { for (;;) {} } finally { continue; } } };
		export const micro = async () => { for (;;) await null; };
		export const fine = () => 1;
	`, Options{Limits: Limits{CPU: 300 * time.Millisecond}})
	for _, name := range []string{"loop", "micro"} {
		_, err := call(t, i, name)
		var x *Exception
		if !errors.As(err, &x) || x.Outcome != OutcomeExceededCPU {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := call(t, i, "fine"); err != nil || got != "1" {
			t.Errorf("after %s: %q, %v", name, got, err)
		}
	}
}

func TestStackAsTheScriptSeesIt(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		function thrower() { throw new TypeError("m"); }
		const caught = () => { try { thrower(); } catch (e) { return e; } };
		export const read = () => caught().stack;
		export const split = () => caught().stack.split("\n")[1];
		export const optional = () => caught()?.stack + (undefined?.stack) + (null?.stack.length);
		export const captured = () => { const o = {}; Error.captureStackTrace(o); return o.stack; };
		export const others = () => {
			const o = { stack: [1], f: null };
			o.stack.push(2); o.stack[0]++; delete o.f; o.stack = o.stack.concat(3);
			[o.stack] = [[...o.stack, 4]]; ({ a: o.x } = { a: 1 });
			for (o.stack2 of [5]); const { stack } = o;
			return JSON.stringify([o.stack, stack.length, typeof o.stack, o.stack2]);
		};
	`, Options{})
	for name, want := range map[string]string{
		"read":     "TypeError: m\n    at thrower (src/index.ts:2:",
		"split":    "    at thrower (src/index.ts:2:",
		"optional": "TypeError: m\n    at thrower (src/index.ts:2:",
		"captured": "Error\n    at captured (src/index.ts:7:",
		"others":   `[[2,2,3,4],4,"object",5]`,
	} {
		got, err := call(t, i, name)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
		if name == "optional" && !strings.HasSuffix(got, "undefinedundefined") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFaultOfTheEngineCondemns(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const fault = () => [..."ab".matchAll(/(?<x>a)|(?<x>b)/g)].length;
		export const fine = () => 1;
	`, Options{})
	_, err := call(t, i, "fault")
	var x *Exception
	if !errors.As(err, &x) || x.Outcome != OutcomeInternalError {
		t.Skipf("the engine has no such fault any more: %v", err)
	}
	<-i.Condemned()
	if _, err := call(t, i, "fine"); !errors.Is(err, ErrCondemned) {
		t.Error(err)
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const bomb = () => { const all = []; for (;;) all.push({ a: [1, 2, 3], b: "x" + all.length }); };
		export const fine = () => 1;
	`, Options{Limits: Limits{HeapBytes: heapBytes() + 200<<20}})
	_, err := call(t, i, "bomb")
	var x *Exception
	if !errors.As(err, &x) || x.Outcome != OutcomeExceededMemory {
		t.Error(err)
	}
}

func TestStartup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ code, want string }{
		"throws":     {`throw new RangeError("at load"); export {};`, "RangeError: at load"},
		"never":      {`await new Promise(() => {}); export {};`, "Top-level await in module is unsettled."},
		"loops":      {`for (;;); export {};`, cpuText},
		"timer":      {`setTimeout(() => {}, 1); export {};`, "Disallowed operation called within global scope"},
		"awaits":     {`export const x = await Promise.resolve(1);`, ""},
		"rejects":    {`await Promise.reject(new Error("later")); export {};`, "Error: later"},
		"no such":    {`const r = require; r("node:missing"); export {};`, "No such module"},
		"overflows":  {`(function f() { f(); })(); export {};`, "Maximum call stack size exceeded"},
		"old eval":   {`eval("1"); export {};`, "EvalError: Code generation from strings disallowed"},
		"unhandled":  {`Promise.reject(new Error("nobody")); export {};`, ""},
		"no promise": {`export default 5;`, ""},
		"empty":      {``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Install: []func(*Isolate) error{timersOf}}
			if name == "loops" {
				o.Limits.Startup = 50 * time.Millisecond
			}
			i, err := New(t.Context(), compileModule(t, test.code), o)
			if err == nil {
				i.Close()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCloseEndsEvents(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const waits = () => new Promise(() => setTimeout(() => {}, 1e9));
		export const loops = () => { for (;;); };
	`, Options{})
	run := func(name string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := callIn(t.Context(), i.NewContext(ContextOptions{}), name)
			done <- err
		}()
		return done
	}
	waits, loops := run("waits"), run("loops")
	select {
	case err := <-waits:
		t.Error(err)
	default:
	}
	i.Close()
	for name, done := range map[string]chan error{"waits": waits, "loops": loops} {
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestObjectsContext(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		let wake;
		export const sleep = () => new Promise((r) => { wake = r; });
		export const rouse = () => { wake("roused"); return "done"; };
		export const timer = () => new Promise((r) => setTimeout(() => r("due"), 1));
	`, Options{})
	delivered := make(chan func(), 1)
	c := i.NewContext(ContextOptions{Object: true, Deliver: func(_ *Event, turn func()) { delivered <- turn }})
	slept := make(chan string, 1)
	go func() {
		got, err := callIn(t.Context(), c, "sleep")
		slept <- got + " " + errorText(err)
	}()
	for {
		got, err := callIn(t.Context(), c, "rouse")
		if err == nil && got == "done" {
			break
		}
	}
	if got := <-slept; got != "roused " {
		t.Errorf("an event that another one helps: %q", got)
	}
	go func() {
		got, err := callIn(t.Context(), c, "timer")
		slept <- got + " " + errorText(err)
	}()
	(<-delivered)()
	if got := <-slept; got != "due " {
		t.Errorf("a timer behind a gate: %q", got)
	}
	c.Close()
	<-c.Done()
	if _, err := callIn(t.Context(), c, "timer"); err == nil {
		t.Error("a context that ended took an event")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAsyncStoreFollowsPromises(t *testing.T) {
	t.Parallel()
	var seen []any
	install := func(i *Isolate) error {
		rt := i.Runtime()
		_ = rt.Set("run", func(store goja.Value, f goja.Callable) (v goja.Value, err error) {
			i.WithAsyncStore(store.Export(), func() { v, err = f(goja.Undefined()) })
			return v, err
		})
		return rt.Set("note", func() { seen = append(seen, i.AsyncStore()) })
	}
	i := newIsolate(t, `
		export const main = async () => {
			note();
			await Promise.all(["a", "b"].map((s) => run(s, async () => {
				note();
				await null;
				note();
				await new Promise((r) => setTimeout(r, 1));
				note();
			})));
			note();
		};
	`, Options{Install: []func(*Isolate) error{install}})
	if _, err := call(t, i, "main"); err != nil {
		t.Fatal(err)
	}
	want := []any{nil, "a", "b", "a", "b", "a", "b", nil}
	if len(seen) != len(want) {
		t.Fatal(seen)
	}
	for n := range want {
		if seen[n] != want[n] {
			t.Fatal(seen)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	i := newIsolate(f, `export {};`, Options{})
	for _, seed := range []string{`{"a":[1,-2.5e3,true,null,"x\u00e9\n"]}`, `[`, `"\`, `{"a":`, "\"\xff\"", `1e999`, `-`, `[[[[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		done := make(chan bool, 1)
		i.loop.post(func() {
			defer func() { done <- true }()
			if thrown := i.rt.Try(func() { i.ParseJSON(text) }); thrown != nil && !json.Valid([]byte(text)) {
				return
			} else if (thrown == nil) != json.Valid([]byte(text)) && utf8.ValidString(text) {
				t.Errorf("%q: %v", text, thrown)
			}
		})
		<-done
	})
}

// An event that is stopped within a continuation of a promise leaves the isolate whole, and nothing of its own behind.
func TestStoppedInContinuation(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"for (;;);", "(function f() { f(); })();"} {
		i := newIsolate(t, `
			let left = "";
			export async function stopped() {
				Promise.resolve().then(() => Promise.resolve()).then(() => Promise.resolve()).then(() => { left += "left"; });
				await 0;
				`+stop+`
			}
			export async function well() { await 0; await 0; return left + "well"; }
		`, Options{Limits: Limits{CPU: 300 * time.Millisecond}})
		if _, err := call(t, i, "stopped"); err == nil {
			t.Errorf("%s was not stopped", stop)
		}
		if v, err := call(t, i, "well"); err != nil || v != "well" {
			t.Errorf("after %s: %v %v", stop, v, err)
		}
	}
}

func TestMessagesAsV8WordsThem(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		const caught = (f: () => void) => { try { f(); } catch (e) { return (e as Error).message; } };
		export const read = () => caught(() => { let o; o.x; });
		export const called = () => caught(() => { const o: any = {}; o.f(); });
		export const number = () => caught(() => { (5 as any)(); });
		export const own = () => caught(() => { throw new Error("Object has no end"); });
		export const field = () => ({ message: { text: "kept" } }).message.text;
		export const thrown = () => { let o; return o.x; };
	`, Options{})
	for name, want := range map[string]string{
		"read":   "Cannot read properties of undefined (reading 'x')",
		"called": "(intermediate value).f is not a function",
		"number": "5 is not a function",
		"own":    "Object has no end",
		"field":  "kept",
	} {
		if got, err := call(t, i, name); err != nil || got != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	_, err := call(t, i, "thrown")
	var x *Exception
	const want = "TypeError: Cannot read properties of undefined (reading 'x')"
	if !errors.As(err, &x) || x.Error() != want || !strings.HasPrefix(x.Stack, want+"\n    at thrown (src/index.ts:8:") {
		t.Errorf("%v\n%s", err, x.Stack)
	}
}

// It measures the heap, and so runs alone.
func TestWeakCollections(t *testing.T) {
	i := newIsolate(t, `
		export const works = () => {
			const m = new WeakMap(), other = new WeakMap([[m, 1]]), o: any = Object.freeze({}), f = () => {}, p = new Proxy({}, {});
			m.set(o, { o }).set(f, 2).set(p, 3);
			const s = new WeakSet([o]);
			const out: any[] = [m.get(o).o === o, m.get(f), m.get(p), m.has({}), m.get(1 as any), other.get(m), other.has(o), s.has(o), s.has(f)];
			out.push(m.delete(o), m.delete(o), m.has(o), s.has(o), String(m));
			const symbol: any = Symbol("a");
			out.push(m.set(symbol, 4).get(symbol));
			for (const wrong of [1, "x", null, undefined, Symbol.for("b")] as any[]) {
				try { m.set(wrong, 1); } catch (e) { out.push((e as Error).name); }
			}
			return out.join();
		};
		let kept: any;
		export const cycle = () => {
			const m = kept ??= new WeakMap();
			for (let n = 0; n < 1000; n++) { const o: any = {}; m.set(o, { o, data: new Uint8Array(10000) }); }
			return "done";
		};
	`, Options{})
	const want = "true,2,3,false,,1,false,true,false,true,false,false,true,[object WeakMap],4," +
		"TypeError,TypeError,TypeError,TypeError,TypeError"
	if got, err := call(t, i, "works"); err != nil || got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	// What refers to itself by a weak collection does not stay.
	for range 20 {
		if _, err := call(t, i, "cycle"); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.GC()
	if live := heapBytes(); live > 150<<20 {
		t.Errorf("%d MiB of 200 stayed", live>>20)
	}
}

// An object that the engine takes for a promise ends the event that awaits it, and no other.
func TestFalsePromises(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		const later = () => new Promise((r) => setTimeout(r, 1));
		export const own = async () => { await ({ constructor: Promise }); };
		export const continued = async () => { await later(); try { await Object.create(Promise.prototype); } finally { 0; } };
		export const proxy = async () => { await 0; await [1].map(async () => { await new Proxy(later(), {}); })[0]; };
		export const timed = () => new Promise(() => setTimeout(async () => { await Promise.prototype; }, 1));
		export const well = async () => { await later(); return await Promise.resolve("well"); };
	`, Options{})
	for _, name := range []string{"own", "continued", "proxy", "timed"} {
		_, err := call(t, i, name)
		if x, ok := errors.AsType[*Exception](err); !ok || x.Name != "TypeError" || x.Outcome != OutcomeException {
			t.Errorf("%s: got %v", name, err)
		}
		if got, err := call(t, i, "well"); err != nil || got != "well" {
			t.Errorf("after %s: got %s, %v", name, got, err)
		}
	}
}
