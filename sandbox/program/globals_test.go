package program

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

func TestGlobals(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	for _, tc := range []struct{ name, code, want string }{
		{"no host globals", "return [typeof require, typeof process, typeof module, typeof Deno, typeof host]",
			`["undefined","undefined","undefined","undefined","undefined"]`},
		{"fetch", "return fetch('http://x')", "exception: TypeError: fetch is not available: a program has no network, use tools instead (line 1:13)"},
		{"names", "return [setTimeout.name, fetch.name, console.log.name, Proxy.name]", `["setTimeout","fetch","log","Proxy"]`},

		{"timer order", `const out = []
			const p = new Promise(r => setTimeout(r, 20))
			setTimeout(() => out.push(2), 5); setTimeout(() => out.push(1)); setTimeout((a, b) => out.push(a + b), 10, 1, 2)
			queueMicrotask(() => out.push(0)); await p; return out`, "[0,1,2,3]"},
		{"timers due together", "const out = []; for (let i = 0; i < 5; i++) setTimeout(() => out.push(i), 1)\nawait new Promise(r => setTimeout(r, 5)); return out", "[0,1,2,3,4]"},
		{"clearTimeout", "let n = 0; clearTimeout(setTimeout(() => n++)); clearTimeout(99); clearTimeout()\nawait new Promise(r => setTimeout(r, 2)); return n", "0"},
		{"interval", "let n = 0; await new Promise(r => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); r() } }) })\nreturn n", "3"},
		{"interval left over", "setInterval(() => {}, 1); return 1", "1"},
		{"timer without function", "setTimeout('x')", "exception: TypeError: setTimeout takes a function (line 1:11)"},
		{"too many timers", "for (let i = 0; i < 10001; i++) setTimeout(() => {}, 1e6)", "exception: RangeError: too many timers: at most 10000 (line 1:43)"},
		{"starved results", "setInterval(() => {}); return tools.a()", "exception: no such tool"},

		{"structuredClone", `const a = {d: new Date(0), m: new Map([[1, {x: 1}]]), s: new Set([2]), b: new Uint8Array([1, 2]), e: new TypeError("t")}
			a.self = a
			const b = structuredClone(a)
			return [b !== a, b.self === b, b.d.getTime(), b.m.get(1).x, b.s.has(2), b.b.join(), b.e.name, b.e instanceof TypeError]`,
			`[true,true,0,1,true,"1,2","TypeError",true]`},
		{"structuredClone of a function", "structuredClone(() => 1)", "exception: DataCloneError: function could not be cloned."},
		{"URL", `const u = new URL("../b?x=1#h", "https://user@example.com:8443/a/c"); u.searchParams.append("y", "a b"); u.port = "443"
			return [u.href, u.origin, u.searchParams.get("x"), String(u), u.host, URL.canParse("nope"), JSON.stringify({u})]`,
			`["https://user@example.com/b?x=1&y=a+b#h","https://example.com","1","https://user@example.com/b?x=1&y=a+b#h","example.com",false,"{\"u\":\"https://user@example.com/b?x=1&y=a+b#h\"}"]`},
		{"invalid URL", "new URL('nope')", "exception: TypeError: Invalid URL: nope (line 1:1)"},
		{"URLSearchParams", `const p = new URLSearchParams("?a=1&b=%C3%A4+x&a=2"); p.set("a", "3"); p.delete("c"); const q = new URLSearchParams({z: "1", y: "2"}); q.sort()
			return [p.toString(), p.get("b"), [...p.keys()], String(q), p.size]`, `["a=3&b=%C3%A4+x","ä x",["a","b"],"y=2&z=1",2]`},
		{"text codec", `const b = new TextEncoder().encode("aé€😀"); const d = new TextDecoder()
			return [b.length, new TextDecoder().decode(b), d.decode(b.slice(0, 8), {stream: true}) + d.decode(b.slice(8)), new TextDecoder("utf-16le").decode(new Uint8Array([97, 0]))]`,
			`[10,"aé€😀","aé€😀","a"]`},
		{"fatal decoder", "new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))", "exception: TypeError: TextDecoder: the bytes are not valid utf-8 (line 1:47)"},
		{"base64", `return [btoa("\xff\x00a"), atob(" _w==".replace("_", "/")), atob("YQ")]`, "[\"/wBh\",\"ÿ\",\"a\"]"},
		{"bad base64", "atob('*')", "exception: atob: the text is not base64"},
		{"crypto", `return [/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(crypto.randomUUID()), crypto.getRandomValues(new Uint8Array(64)).some(x => x)]`, "[true,true]"},
		{"abort", "const c = new AbortController(); let n = 0; c.signal.addEventListener('abort', () => n++); c.abort(); c.abort(); return [n, c.signal.reason.name]", `[1,"AbortError"]`},

		{"polyfills", `const {promise, resolve} = Promise.withResolvers(); resolve(1)
			return [await promise, Object.groupBy([1, 2, 3], x => x % 2 ? "odd" : "even"), [1, 2, 3].values().map(x => x * 2).filter(x => x > 2).toArray(),
			await Array.fromAsync([Promise.resolve(1)]), "a\ud800".isWellFormed(), RegExp.escape("a.b")]`,
			`[1,{"odd":[1,3],"even":[2]},[4,6],[1],false,"a\\.b"]`},
		{"numbers in words", "return [(1234567.891).toLocaleString(), (0.5).toLocaleString('en', {style: 'percent'}), (12).toLocaleString('en-US', {style: 'currency', currency: 'USD'})]", `["1,234,567.891","50%","$12.00"]`},
		{"time zone", "return new Date(0).getHours()", "0"},
		{"proxy arguments survive an await", `const p = new Proxy(function () {}, { async apply(t, s, args) { await null; return args } })
			return p({a: 1}, 2)`, `[{"a":1},2]`},
		{"nothing survives", "globalThis.leak = 1; Array.prototype.map = null; return typeof leak", `"number"`},
		{"nothing survived", "return [typeof leak, typeof [].map]", `["undefined","function"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.t = t
			if got := c.execute(tc.code).outcome(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestOutcomes holds how a program's failures are worded.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	for _, tc := range []struct{ name, code, want string }{
		{"error", "throw new Error('boom')", "exception: boom"},
		{"error of a class", "throw new RangeError('far')", "exception: RangeError: far (line 1:7)"},
		{"error of the engine", "const o = {}\n\no.a.b", "exception: TypeError: Cannot read property 'b' of undefined (line 3:5)"},
		{"error behind types", "const o: any = {}\n\no.a.b", "exception: TypeError: Cannot read property 'b' of undefined (line 3:4)"},
		{"not defined", "return nope", "exception: ReferenceError: nope is not defined (line 1:8)"},
		{"own class", "class MyError extends Error { name = 'MyError' }\nthrow new MyError('m')", "exception: MyError: m"},
		{"rejected", "return Promise.reject(new Error('no'))", "exception: no"},
		{"string", "throw 'text'", "exception: text"},
		{"undefined", "throw undefined", "exception: undefined"},
		{"object", "throw {code: 7}", `exception: {"code":7}`},
		{"object without prototype", "throw Object.create(null)", "exception: {}"},
		{"hostile toString", "throw {toString() { throw 1 }, get message() { throw 2 }}", "exception: an error whose properties cannot be read"},
		{"revoked proxy", "const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); throw proxy", "exception: an error whose properties cannot be read"},
		{"stack overflow", "(function f() { f() })()", "exception: RangeError: Maximum call stack size exceeded (line 1:18)"},
		{"never settles", "await new Promise(() => {})", "exception: the program waits for a promise that can never settle: no tool call and no timer is left that could settle it"},
		{"never settles for a reason", "const p = new Promise(() => {}); (async () => { throw new Error('why') })(); await p",
			"exception: the program waits for a promise that can never settle: no tool call and no timer is left that could settle it; before that, uncaught in a promise: why"},

		{"stack overflow in a getter", "return {get a() { return (function f() { f() })() }}", "exception: RangeError: Maximum call stack size exceeded (line 1:43)"},
		{"output limit in toJSON", "return {toJSON() { for (;;) console.log('x'.repeat(1e4)) }}", "OUTCOME_EXCEEDED_OUTPUT: logs and emitted values are larger than 1 MiB"},
		{"output limit in a thrown getter", "throw {get message() { for (;;) console.log('x'.repeat(1e4)) }}", "OUTCOME_EXCEEDED_OUTPUT: logs and emitted values are larger than 1 MiB"},
		{"engine panic in eval", "return eval('\"\\\\u{10FFFF}\"').length", "OUTCOME_CRASHED: the JavaScript engine failed on this program"},

		{"cyclic", "const a = {}; a.a = a; return a", "exception: result is not serializable: it is cyclic"},
		{"BigInt", "return {n: [1n]}", `exception: result is not serializable: a BigInt has no JSON (at property "0"), convert it with String() or Number()`},
		{"deep", "let o = {}; for (let i = 0; i < 5000; i++) o = {o}; return o", "exception: result is not serializable: it is nested more than 1000 levels deep"},
		{"getter throws", "return {get a() { throw new Error('got') }}", "exception: result is not serializable: got"},
		{"toJSON throws", "return {toJSON() { throw new Error('json') }}", "exception: result is not serializable: json"},
		{"toJSON", "return [new Date(0), {toJSON(k) { return k }}]", `["1970-01-01T00:00:00.000Z","1"]`},
		{"boxed", "return [new Number(1), new String('a'), new Boolean(false), -0, 1e21, 1e-7]", `[1,"a",false,0,1e+21,1e-7]`},
		{"proxy of an array", "return new Proxy([1, 2], {})", "[1,2]"},
		{"map", "return new Map([[1, 2]])", "{}"},
		{"function", "return {f() {}, s: Symbol('x'), k: 1}", `{"k":1}`},
		{"escapes", "return '\\u2028\\u0000\"\\\\\\ud800'", "\"\u2028\\u0000\\\"\\\\\ufffd\""},
		{"too large", "return 'x'.repeat(2 << 20)", "OUTCOME_EXCEEDED_OUTPUT: the result is larger than 1 MiB"},
		{"sparse array", "return new Array(2 ** 32 - 1)", "OUTCOME_EXCEEDED_OUTPUT: the result is larger than 1 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := c.executeOn(t, tc.code)
			if got := r.outcome(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if (r.Outcome == sandboxpb.Outcome_OUTCOME_COMPLETED) != (r.Error == "") {
				t.Errorf("outcome %v has the error %q", r.Outcome, r.Error)
			}
		})
	}
}

// executeOn runs a program on the child, or on a new one when that has ended.
func (c *child) executeOn(t testing.TB, code string) *ran {
	if c.ended {
		*c = *startChild(c.parent)
	}
	c.t = t
	r := c.execute(code)
	c.ended = !r.Reusable
	return r
}

func TestConsole(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	for _, tc := range []struct {
		name, code string
		want       []string
	}{
		{"plain values", "console.log('a', 1, true, null, undefined, 2n, Symbol('s'))", []string{"a 1 true null undefined 2n Symbol(s)"}},
		{"levels", "console.info('i'); console.warn('w'); console.error('e'); console.debug('d')", []string{"i", "[warn] w", "[error] e", "[debug] d"}},
		{"objects", `console.log({a: 'x', "b-c": [1, 'it\'s', {}], d: {e: {f: {g: {}}}}})`, []string{`{ a: 'x', 'b-c': [ 1, "it's", {} ], d: { e: { f: { g: [Object] } } } }`}},

		{"cyclic", "const a = {}; a.a = a; console.log(a)", []string{"{ a: [Circular] }"}},
		{"classes", "class P { x = 1 }; console.log(new P(), new Map([['k', 1]]), new Set([1]), new Uint8Array([1, 2]), Object.create(null))", []string{"P { x: 1 } Map(1) { 'k' => 1 } Set(1) { 1 } Uint8Array(2) [ 1, 2 ] [Object: null prototype] {}"}},
		{"functions and errors", "console.log(() => 1, function f() {}, new TypeError('t'), /a/g, new Date(0), Promise.resolve())", []string{"[Function] [Function: f] TypeError: t /a/g 1970-01-01T00:00:00.000Z Promise {}"}},
		{"long array", "console.log(new Array(103).fill(0))", []string{"[ " + strings.Repeat("0, ", 100) + "... 3 more ]"}},
		{"directives", "console.log('%s is %d%% of %i, %j', 'a', 1.5, 2.7, {b: 1}, 'rest'); console.log('100%', 1)", []string{"a is 1.5% of 2, { b: 1 } rest", "100% 1"}},
		{"hostile getter", "console.log({get a() { throw 1 }})", []string{"{ a: [unreadable]"}},
		{"uncaught", "Promise.reject(new Error('lost')); const h = Promise.reject(1); h.catch(() => {}); setTimeout(() => { throw new Error('late') }); await new Promise(r => setTimeout(r, 3))", []string{"[error] Uncaught late", "[error] Uncaught (in promise) lost"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.t = t
			r := c.execute(tc.code)
			if r.Outcome != sandboxpb.Outcome_OUTCOME_COMPLETED {
				t.Fatal(r.outcome())
			}
			if diff := cmp.Diff(tc.want, r.logs); diff != "" {
				t.Errorf("logs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmit(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	r := c.execute("emit({a: 1}); emit('x'); emit(undefined); try { emit(1n) } catch (e) { emit(e.message) }")
	want := []string{`{"a":1}`, `"x"`, "null", `"emitted value is not serializable: a BigInt has no JSON, convert it with String() or Number()"`}
	if diff := cmp.Diff(want, r.emitted); diff != "" {
		t.Errorf("emitted (-want +got):\n%s", diff)
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"for (;;) console.log('x'.repeat(1000))",
		"for (;;) console.log()",
		"for (;;) emit('x'.repeat(1000))",
		"try { for (;;) console.log('x'.repeat(1000)) } finally { return 1 }",
		"console.log('x'.repeat(60000)); [...Array(30)].forEach(() => console.log('x'.repeat(60000)))",
	} {
		r := startChild(t).execute(code)
		if want := "OUTCOME_EXCEEDED_OUTPUT: logs and emitted values are larger than 1 MiB"; r.outcome() != want {
			t.Errorf("%s: got %s, want %s", code, r.outcome(), want)
		}
		if len(r.logs)+len(r.emitted) == 0 {
			t.Errorf("%s: what had been logged is lost", code)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	c.tool = func(call *frame.Call) *frame.Result {
		switch call.Path {
		case "echo":
			return &frame.Result{Value: call.Arguments}
		case "declined":
			return &frame.Result{Thrown: true, Value: []byte("The user declined")}
		case "broken":
			return &frame.Result{Value: []byte("{")}
		case "silent":
			return nil
		default:
			return &frame.Result{Value: []byte(`{"ok":true,"data":"` + call.Path + `"}`)}
		}
	}
	for _, tc := range []struct{ name, code, want string }{
		{"nested path", "return (await tools.executor.coreTools.policies.list({})).data", `"executor.coreTools.policies.list"`},
		{"path with dots and brackets", "return (await tools['a.b'].c['d-e']()).data", `"a.b.c.d-e"`},
		{"names of functions", "return [(await tools.a.call()).data, (await tools.name()).data]", `["a.call","name"]`},
		{"arguments", "return tools.echo({a: [1, 'ä'], u: undefined})", `{"a":[1,"ä"]}`},
		{"no arguments", "return tools.echo()", "undefined"},
		{"declined", "await tools.declined()", "exception: The user declined"},
		{"declined and caught", "try { await tools.declined() } catch (e) { return [e instanceof Error, e.message] }", `[true,"The user declined"]`},
		{"bad result", "await tools.broken()", "exception: the tool's result is no valid JSON"},
		{"many at once", "return (await Promise.all([1, 2, 3, 4, 5].map(n => tools.echo({n})))).map(r => r.n)", "[1,2,3,4,5]"},
		{"not a promise", "return [typeof tools.then, typeof tools.a.then, (await tools.a) === tools.a, `${tools.a.b}`]", `["undefined","undefined",true,"[tool a.b]"]`},
		{"not a value", "return {t: tools, a: tools.a}", "{}"},
		{"not called", "tools({})", "exception: TypeError: tools is not a function: call one below it, such as tools.search({query: \"…\"}) (line 1:6)"},
		{"read only", "tools.echo = 1; delete tools.echo; return typeof tools.echo", `"function"`},
		{"BigInt argument", "await tools.echo({n: 1n})", "exception: TypeError: arguments of tools.echo are not serializable: a BigInt has no JSON (at property \"n\"), convert it with String() or Number() (line 1:17)"},
		{"too many at once", "await Promise.all([...Array(9)].map(() => tools.silent()))", "exception: RangeError: too many tool calls at once: at most 8, await some before making more (line 1:55)"},
		{"left over", "tools.silent(); return 1", "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.t = t
			if got := c.execute(tc.code).outcome(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestStaleResult holds that a result for an earlier program does not settle a call of this one.
func TestStaleResult(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	c.tool = func(*frame.Call) *frame.Result { return nil }
	c.execute("tools.a(); return 1")
	stale := c.run
	c.tool = func(call *frame.Call) *frame.Result {
		c.send(&frame.Result{Run: stale, CallID: call.CallID, Value: []byte(`"stale"`)})
		c.send(&frame.Result{Run: c.run, CallID: 99, Value: []byte(`"unknown"`)})
		return &frame.Result{Value: []byte(`"fresh"`)}
	}
	if got := c.execute("return tools.a()").outcome(); got != `"fresh"` {
		t.Errorf("got %s", got)
	}
}

// TestChildReused holds that a child runs program after program, and that those which passed a limit or grew
// the heap are its last.
func TestChildReused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code     string
		reusable bool
	}{
		{"return 1", true},
		{"throw 1", true},
		{"return (", true},
		{"(function f() { f() })()", false},
		{"globalThis.a = []; for (let i = 0; i < 7; i++) a.push('x'.repeat(8 << 20)); return a.length", false},
		{"for (;;) console.log('x'.repeat(10000))", false},
	} {
		if got := startChild(t).execute(tc.code).Reusable; got != tc.reusable {
			t.Errorf("%s: got reusable %v", tc.code, got)
		}
	}
}

// TestChildRetires holds that a child says so before it ends after many programs.
func TestChildRetires(t *testing.T) {
	t.Parallel()
	c := startChild(t)
	n := 1
	for c.execute("return (").Reusable {
		n++
	}
	if n != retireRuns {
		t.Errorf("retired after %d programs, want %d", n, retireRuns)
	}
}

// TestWatch holds that the watch ends what the engine itself cannot interrupt, and saves the logs.
func TestWatch(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.CPU = time.Second
	for _, tc := range []struct{ name, code, want string }{
		{"loop", "console.log('before'); for (;;) {}", "OUTCOME_EXCEEDED_CPU: CPU limit of 1s exceeded"},
		{"microtasks", "console.log('before'); for (;;) await null", "OUTCOME_EXCEEDED_CPU: CPU limit of 1s exceeded"},
		{"built-in", "console.log('before'); /^(a+)+\\1$/.test('a'.repeat(40) + 'b')", "OUTCOME_EXCEEDED_CPU: CPU limit of 1s exceeded"},
		{"heap", "console.log('before'); const a = []; for (;;) a.push('x'.repeat(1e6))", "OUTCOME_EXCEEDED_MEMORY: memory limit of 64 MiB exceeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			limits := limits
			if tc.name == "heap" {
				if raceDetector {
					t.Skip("the race detector's memory breaks the limits")
				}
				limits.CPU = time.Minute
			}
			r := startChild(t).executeWithin(tc.code, limits)
			if got := r.outcome(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if diff := cmp.Diff([]string{"before"}, r.logs); diff != "" {
				t.Errorf("logs (-want +got):\n%s", diff)
			}
			if r.Reusable {
				t.Error("the child wants another program")
			}
		})
	}
}
