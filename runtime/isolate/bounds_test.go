package isolate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
)

// What would keep the engine busy for hours, fill the memory or overflow the stack of the process ends with an error
// that the script can catch, at once.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, want string }{
		"fill":               {`new Array(2 ** 32 - 1).fill(0)`, "RangeError: Invalid array length"},
		"holes":              {`[].forEach.call({ length: 2 ** 53 - 1 }, () => {})`, "RangeError: Invalid array length"},
		"proxied holes":      {`[].some.call(new Proxy({ length: 2 ** 53 - 1 }, {}), () => {})`, "RangeError: Invalid array length"},
		"from":               {`Array.from({ length: 1e9 })`, "RangeError: Invalid array length"},
		"join":               {`new Array(1e9).join("x")`, "RangeError: Invalid string length"},
		"join of long ones":  {`new Array(1e5).fill("x".repeat(1e4)).join()`, "RangeError: Invalid string length"},
		"nested lists":       {`let o = [1]; for (let i = 0; i < 1e4; i++) o = [o]; return String(o)`, "RangeError: Maximum call stack size exceeded"},
		"flat of itself":     {`const o = [1]; o.push(o); return o.flat(5).length`, "7"},
		"flat":               {`[1, [2, [3, , [4]]]].flat(2).length + "," + [1, , [2]].flat().length + [[1]].flat(0).length`, "4,21"},
		"apply":              {`Math.max.apply(null, { length: 1e8 })`, "RangeError: Maximum call stack size exceeded"},
		"repeat":             {`"a".repeat(1e9)`, "RangeError: Invalid string length"},
		"pad":                {`"a".padEnd(2e9)`, "RangeError: Invalid string length"},
		"concat":             {`const s = "a".repeat(3e7); return s.concat(s, s, s, s)`, "RangeError: Invalid string length"},
		"replace":            {`"a".repeat(1e5).replace(/a/g, "b".repeat(1e5))`, "RangeError: Invalid string length"},
		"replace with $":     {"'a'.repeat(1e5).replaceAll('a', '$`$`')", "RangeError: Invalid string length"},
		"replace few":        {`"ab".repeat(10).replace(/^a/, "c".repeat(1e7)).length`, "10000019"},
		"raw":                {`String.raw({ raw: { length: 2 ** 53 - 1 } })`, "RangeError: Invalid array length"},
		"buffer":             {`new ArrayBuffer(2 ** 40)`, "RangeError: Array buffer allocation failed"},
		"typed":              {`new Float64Array(2 ** 40)`, "RangeError: Invalid typed array length"},
		"typed from list":    {`new Uint8Array({ length: 2 ** 40 })`, "RangeError: Invalid typed array length"},
		"typed from":         {`Uint8Array.from({ length: 2 ** 31 })`, "RangeError: Invalid typed array length: 2147483648"},
		"shift":              {`1n << 2n ** 29n ** 2n`, "RangeError: Maximum BigInt size exceeded"},
		"digits":             {`BigInt("9".repeat(1e7))`, "RangeError: Maximum BigInt size exceeded"},
		"groups":             {`new RegExp("(?=a)" + "(".repeat(1e6) + ")".repeat(1e6))`, "SyntaxError: Invalid regular expression"},
		"groups of match":    {`"a".match("(?=a)" + "(".repeat(1e6) + ")".repeat(1e6))`, "SyntaxError: Invalid regular expression"},
		"cycle by a proxy":   {`const o = {}; Object.setPrototypeOf(o, new Proxy(o, {})); return o.x`, "TypeError: Cyclic __proto__ value"},
		"cycle by __proto__": {`const o = {}; o.__proto__ = new Proxy(o, {}); return o.x`, "TypeError: Cyclic __proto__ value"},
		"prototypes":         {`let p = {}; for (let i = 0; i < 2e4; i++) p = Object.create(p); return p.x`, "RangeError: Maximum call stack size exceeded"},
		"proxies":            {`let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); return p.x`, "RangeError: Maximum call stack size exceeded"},
		"parsed":             {`JSON.parse("[".repeat(1e6) + "]".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
		"subclass": {`class A extends Uint8Array {}; return [new A(3).length, new A([1, 2]) instanceof Uint8Array, new A(2).map((x) => 1) instanceof A,
			Uint8Array.name, Uint8Array.BYTES_PER_ELEMENT, new Uint8Array(2).constructor === Uint8Array, Uint8Array.of(1).length].join()`,
			"3,true,true,Uint8Array,1,true,1"},
		"big": {`[1n << 5n, 2n ** 10n, 1 << 3, typeof BigInt(4), BigInt.asUintN(8, 257n), BigInt.prototype.constructor === BigInt].join()`,
			"32,1024,8,bigint,1,true"},
		"evaluated": {`eval("[".repeat(1e5) + "]".repeat(1e5))`, "RangeError: Maximum call stack size exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := c.code
			if !strings.Contains(body, "return ") {
				body = "return " + body
			}
			i := newIsolate(t, `export const out = (() => { try { return String((() => { `+body+` })()); } catch (e) {
				return e.name + ": " + e.message; } })();`, Options{
				Compatibility: Compatibility{Date: "2026-04-01"}, Limits: Limits{Startup: time.Minute}, // copies are slow under the race detector
			})
			got := i.Exports().Get("out").String()
			if got != c.want && (!strings.HasSuffix(c.want, "expression") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Exponential work of built-in functions that call each other is interrupted.
func TestInterruptBetweenBuiltIns(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const twice = () => { let o = [1]; for (let i = 0; i < 50; i++) o = [o, o]; return String(o); };
		export const flat = () => { let o = [1]; for (let i = 0; i < 50; i++) o = [o, o]; return o.flat(Infinity); };
	`, Options{Limits: Limits{CPU: 50 * time.Millisecond}})
	for _, name := range []string{"twice", "flat"} {
		if _, err := call(t, i, name); err == nil || err.Error() != "Error: "+cpuText {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// newBlocking returns an isolate whose function block closes began, and does not return before release is closed. It is
// not closed at the test's end.
func newBlocking(t *testing.T, code string) (i *Isolate, began, release chan struct{}) {
	t.Helper()
	began, release = make(chan struct{}), make(chan struct{})
	i, err := New(t.Context(), compileModule(t, code), Options{
		Limits: Limits{CPU: 500 * time.Millisecond}, Install: []func(*Isolate) error{timersOf, func(i *Isolate) error {
			return i.DefineGlobal("block", i.Function("block", 0, func(goja.FunctionCall) goja.Value {
				close(began)
				<-release
				return goja.Undefined()
			}))
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return i, began, release
}

// An isolate whose built-in function does not return is given up: its events fail as exceeding the limit, and it
// closes without waiting.
func TestStuck(t *testing.T) {
	t.Parallel()
	i, began, release := newBlocking(t, `
		export const stuck = () => block();
		export const waits = () => new Promise((r) => setTimeout(r, 1e6));
	`)
	start := func(name string) chan error {
		out := make(chan error, 1)
		c := i.NewContext(ContextOptions{})
		go func() {
			_, err := callIn(context.WithoutCancel(t.Context()), c, name)
			out <- err
		}()
		return out
	}
	waits := start("waits")
	stuck := start("stuck")
	<-began
	<-i.Condemned()
	i.Close()
	if err := <-waits; err == nil || err.Error() != "Error: "+cpuText {
		t.Errorf("another event: %v", err)
	}
	close(release)
	if err := <-stuck; err == nil || err.Error() != "Error: "+cpuText {
		t.Errorf("the event: %v", err)
	}
	<-i.loop.done
}

// A script that fills the heap loses its isolate: what does may be anywhere in it.
func TestExhausted(t *testing.T) {
	i := newIsolate(t, `const kept = []; export const fill = () => { for (;;) kept.push({ x: 1, y: [1, 2, 3] }); };`,
		Options{Limits: Limits{HeapBytes: heapBytes() + 100<<20}})
	if _, err := call(t, i, "fill"); err == nil || err.Error() != "Error: "+memoryText {
		t.Errorf("%v", err)
	}
	select {
	case <-i.Condemned():
	default:
		t.Error("the isolate lives")
	}
}

// Exports that can be no entrypoint keep a script from starting, with workerd's text.
func TestEntrypoints(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`export default 5;`: "TypeError: Incorrect type for map entry 'default': the provided value is not of type " +
			"'function or ExportedHandler'.",
		`export const A = "x"; export default {};`: "TypeError: Incorrect type for map entry 'A': the provided value is not of " +
			"type 'function or ExportedHandler'.",
		`export const A = class {}; export default { fetch: 5 };`: "<nil>",
	} {
		i, err := New(t.Context(), compileModule(t, code), Options{Entrypoints: true})
		if fmt.Sprint(err) != want {
			t.Errorf("%s: %v", code, err)
		}
		if i != nil {
			i.Close()
		}
	}
}

// Wherever a turn is stopped, the isolate goes on with promises and timers of other events.
func TestGoesOnAfterAStop(t *testing.T) {
	t.Parallel()
	const code = `
		const inner = async (f) => { try { return await f(); } catch (e) { return "caught"; } finally { 0; } };
		const deep = (n, f) => n ? inner(async () => await deep(n - 1, f)) : f();
		const later = () => new Promise((r) => setTimeout(r, 1));
		function* generator() { try { yield* [1, 2].map(() => { for (;;); }); } finally { for (;;); } }
		export const within = () => inner(() => { for (;;); });
		export const deeper = () => deep(20, () => { for (;;); });
		export const overflow = () => deep(20, function f() { return f(); });
		export const continued = async () => { await deep(5, later); for (;;); };
		export const timed = () => new Promise(() => setTimeout(() => inner(() => { for (;;); }), 1));
		export const generates = () => inner(async () => { for (const x of generator()); });
		export const iterates = () => { for (const x of { [Symbol.iterator]: () => ({
			next: () => { for (;;); }, return: () => { for (;;); } }) }); };
		export const well = async () => { await later(); return await deep(3, async () => { await later(); return 3; }); };
	`
	hasty, patient := newIsolate(t, code, Options{Limits: Limits{CPU: 300 * time.Millisecond}}), newIsolate(t, code, Options{})
	for _, name := range []string{"within", "deeper", "overflow", "continued", "timed", "generates", "iterates"} {
		i, want := hasty, "Error: "+cpuText
		if name == "overflow" {
			i, want = patient, "RangeError: "+overflowText
		}
		if _, err := call(t, i, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := call(t, i, "well"); err != nil || got != "3" {
			t.Errorf("after %s: %s, %v", name, got, err)
		}
	}
}
