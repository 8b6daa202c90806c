package repair

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// patternPrelude is what the snippets of the tests use.
const patternPrelude = `
	const log = [];
	const show = (v) => typeof v === "function" ? "function " + v.name : typeof v === "symbol" ? "symbol" :
		v === undefined ? "undefined" : Array.isArray(v) ? "[" + v.map(show) + "]" : v === null ? "null" : typeof v + " " + v;
	const note = (name, v) => (log.push(name + " " + show(v)), v);
	// An iterator that tells what is done to it.
	const told = (items, end) => ({ [Symbol.iterator]() {
		note("iterator");
		let i = 0;
		return {
			next() { note("next"); if (end === "throws" && i === items.length) throw new Error("next");
				return i < items.length ? { value: items[i++], done: false } : { done: true }; },
			get return() { note("get return"); return () => { note("return"); return end === "bad" ? 1 : {}; }; },
		};
	} });
	function* yields(...items) { try { yield* items; } finally { note("finally"); } }
	const accessor = (items, at, get) => Object.defineProperty(items, at, { get, configurable: true });
	class Sub extends Array {}
	class Own extends Array { *[Symbol.iterator]() { note("own"); yield 8; yield 9; } }
`

// patternValues are what patterns take apart.
var patternValues = []string{
	`[]`, `[1]`, `[1, 2]`, `[1, 2, 3, 4]`, `[, 2]`, `[1, , 3]`, `[undefined, null]`, `"ab"`, `"😀b"`, `""`, `new String("ab")`,
	`undefined`, `null`, `5`, `true`, `{}`, `{ 0: 1, length: 1 }`, `Symbol.iterator`, `() => 1`, `new Set([1, 2])`,
	`new Map([[1, 2], [3, 4]])`, `new Map([[1, 2]]).entries()`, `[1, 2, 3].values()`, `[1, 2].entries()`, `new Uint8Array([1, 2])`,
	`Sub.of(1, 2)`, `Own.of(1, 2)`, `new Proxy([1, 2], { get: (o, k) => (note(String(k)), Reflect.get(o, k)) })`,
	`told([1, 2, 3])`, `told([1])`, `told([], "throws")`, `told([1], "throws")`, `told([1, 2, 3], "bad")`, `yields(1, 2, 3)`, `yields()`,
	`accessor([1, 2, 3], 1, () => note("getter", 5))`, `accessor([1, 2, 3], 0, () => { throw new TypeError("getter"); })`,
	`(function () { return arguments; })(1, 2)`, `Object.assign([1, 2], { [Symbol.iterator]: yields })`,
	`Object.assign([1, 2], { [Symbol.iterator]: undefined })`, `Object.setPrototypeOf([1, 2], null)`,
	`Object.setPrototypeOf([1], { 1: "p", [Symbol.iterator]: Array.prototype[Symbol.iterator] })`,
	`Object.setPrototypeOf([, 2], { 0: "p", __proto__: Array.prototype })`, `Object.freeze([1, 2])`, `(() => { throw new Error("value"); })()`,
	`{ [Symbol.iterator]: () => 5 }`, `{ [Symbol.iterator]: 5 }`, `{ [Symbol.iterator]() { let n = 0; return { next: () => ++n > 4 ? { done: true } : 5 }; } }`,
	`{ __proto__: Array.prototype, 0: 1, 1: 2, length: 2 }`, `(() => { const a = []; a[9000] = 1; a[0] = 2; return a; })()`,
	`"x y".split(" ")`, `/(a)(b)?/.exec("a")`, `missing`, `a`,
}

// patternForms are patterns that bind a, b and c.
var patternForms = []string{
	`[a, b, c]`, `[a, , b]`, `[, a]`, `[, , ,]`, `[a]`, `[]`, `[a, b = 7]`, `[a = 1, b = "x", c = null]`, `[a = () => 1, b = function () {}]`,
	`[a = [], b = {}]`, `[a, b = a]`, `[a, ...b]`, `[[a, b], c]`, `[a, { length: b }]`, `[{ a } = {}]`, "[a = `t`, b = -1, c = void 0]",
	`[a, b = note("default", 3)]`, `[a, [b] = [4]]`, `[a = log.length]`, `[a, b, ...[c]]`,
}

// patternPlaces put a pattern P and a value V somewhere.
var patternPlaces = []string{
	`const P = V; return [a, b, c];`,
	`"use strict"; let P = V; return [a, b, c];`,
	`var P = V; return [a, b, c];`,
	`const before = 1, P = V, after = () => a; return [a, b, c, after];`,
	`let r = []; for (let P = V, i = 0; i < 2; i++) r.push(() => a, b); return r.map((x) => typeof x === "function" ? x() : x);`,
	`let r = []; for (var P = V, i = 0; i < 2; i++) r.push(a); return r;`,
	`const r = []; for (const P of [V, [3, 4]]) r.push(() => a, b); return r.map((x) => typeof x === "function" ? x() : x);`,
	`const r = []; for (let P of told([V])) { let a = 5; if (b === 2) continue; r.push(a, b); } return r;`,
	`const r = []; outer: for (let P of [V]) for (const P of [V, V]) { r.push(b); if (b === 2) continue outer; } return r;`,
	`const r = []; for (let P of [V]) r.push(a, b, c); return r;`,
	`const r = []; for (let P of [V, V]) { a = 9; r.push(a); break; } return r;`,
	`const r = []; for (const P of told([V])) { a = 9; } return r;`,
	`const f = (P) => [a, b]; return [f(V), f.length, f.toString(), f.name];`,
	`const f = (P) => { var a; return () => [a, b]; }; return f(V)();`,
	`const f = (P, d) => { "use strict"; return a; }; return f(V);`,
	`const f = (P, d) => { a = d; return [a, b]; }; return [f(V, 2), f.length];`,
	`const f = (P = []) => { function a() {} return [a, b]; }; return [f(V), f(undefined)];`,
	`const f = (P = [2], ...d) => { { function b() {} } return [a, d]; }; return [f(V), f(undefined, 3)];`,
	`return [V].map((P) => ({ a }).a);`,
	`let a, b, c; P = V; return [a, b, c];`,
	`let a = 1, b = 2, c = 3; P = [b, a, c]; return [a, b, c];`,
	`let a = 1, b = 2, c = 3; const r = (P = [b, a, c]); return [r, a, b, c];`,
	`let a = 1, b = 2, c = 3; P = [...V]; return [a, b, c];`,
	`const a = 1; let b = 2, c = 3; P = [c, b, a]; return [a, b, c];`,
	`Array.prototype[1] = "one"; Object.prototype[2] = "two"; try { const P = V; return [a, b, c]; }
		finally { delete Array.prototype[1]; delete Object.prototype[2]; }`,
	`const d = Array.prototype[Symbol.iterator]; Array.prototype[Symbol.iterator] = function () { note("replaced"); return d.call(this); };
		try { const P = V; return [a, b, c]; } finally { Array.prototype[Symbol.iterator] = d; }`,
	`const p = Object.getPrototypeOf([].values()), d = p.next; p.next = function () { note("next"); return d.call(this); };
		try { const P = V; return [a, b, c]; } finally { p.next = d; }`,
	`const x = [1, 2, 3]; for (let i = 0, j = 2; i < j; i++, j--) [x[i], x[j]] = [x[j], x[i]]; return x;`,
	`const o = { get x() { return note("o", this).p; }, p: { set y(v) { note("y", v); } } }; [o.x.y, o["x"].y] = [note("l", 1), note("r", 2)];`,
	`[a, b] = [1, 2];`,
	`"use strict"; [undeclared, b] = [1, 2];`,
}

// evaluated runs a snippet of a function's body and tells what comes of it.
func evaluated(t *testing.T, place, pattern, value string, repair func(*ast.Program)) string {
	t.Helper()
	body := strings.NewReplacer("PrototypeOf", "PrototypeOf", "P", pattern, "V", "("+value+")").Replace(place)
	code := "(function () {" + patternPrelude + "return { log, show, run: function () {\n" + body + "\n} }; })()"
	tree, err := goja.Parse("test.js", code)
	if err != nil {
		return "parse: " + err.Error()
	}
	repair(tree)
	program, err := goja.CompileAST(tree, false)
	if err != nil {
		return "compile: " + err.Error()
	}
	rt := goja.New()
	if err := Install(rt, nil); err != nil {
		t.Fatal(err)
	}
	v, err := rt.RunProgram(program)
	if err != nil {
		return "run: " + err.Error()
	}
	o := v.ToObject(rt)
	run, _ := goja.AssertFunction(o.Get("run"))
	out := ""
	result, err := run(goja.Undefined())
	if err != nil {
		out = errorText(err)
	} else {
		show, _ := goja.AssertFunction(o.Get("show"))
		text, err := show(goja.Undefined(), result)
		out = fmt.Sprint(text, err)
	}
	return fmt.Sprint(o.Get("log"), " -> ", out)
}

// columns are where in a line a pattern meets an error of an iterator: one place for all elements, once repaired.
var columns = regexp.MustCompile(`(test\.js:\d+):\d+`)

var programCounter = regexp.MustCompile(`\(\d+\)`)

// errorText is what a script sees of an error, without what the intrinsics add.
func errorText(err error) string {
	text := err.Error()
	if thrown, ok := err.(*goja.Exception); ok {
		text = thrown.String()
		if o, ok := thrown.Value().(*goja.Object); ok {
			text += fmt.Sprint("\n", o.Get("stack"))
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "at "+FramePrefix) {
			b.WriteString(programCounter.ReplaceAllString(line, ""))
		}
	}
	return b.String()
}

func TestReadPatternsChangesNothing(t *testing.T) {
	t.Parallel()
	repaired := 0
	for n, place := range patternPlaces {
		for _, pattern := range patternForms {
			for m, value := range patternValues {
				if n > 0 && (n+m)%13 != 0 {
					continue
				}
				repaired += comparePattern(t, place, pattern, value)
				if !strings.Contains(place, "V") {
					break
				}
			}
			if !strings.Contains(place, "P") {
				break
			}
		}
	}
	if repaired < 400 {
		t.Errorf("only %d patterns were changed", repaired)
	}
}

// comparePattern runs a snippet as it is and repaired, and counts the patterns that were.
func comparePattern(t *testing.T, place, pattern, value string) (repaired int) {
	t.Helper()
	want := evaluated(t, place, pattern, value, func(*ast.Program) {})
	got := evaluated(t, place, pattern, value, func(tree *ast.Program) {
		ReadPatterns(tree)
		WalkTree(tree, func(node any) func() {
			if name, ok := node.(*ast.Identifier); ok && name.Name == patternName {
				repaired++
			}
			return nil
		})
	})
	if strings.Contains(place, "var a; ") && strings.HasPrefix(want, "compile: ") {
		return repaired // The engine refuses what the language allows.
	}
	if strings.Contains(value, "told(") {
		got, want = columns.ReplaceAllString(got, "$1"), columns.ReplaceAllString(want, "$1")
	}
	if got != want {
		t.Errorf("%s\nwith %s of %s:\n got %s\nwant %s", place, pattern, value, got, want)
	}
	return repaired
}
