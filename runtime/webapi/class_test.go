package webapi

import (
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/isolate"
)

// A copy of an object's properties is a plain object, however it was made, and shows nothing of what the object is.
func TestCopiesOfNatives(t *testing.T) {
	t.Parallel()
	l := &logs{}
	i := newWorker(t, `export default { fetch(request, env, ctx) {
		for (const made of [request, new URL(request.url), new Headers({ a: "b" }), new Response("x")]) {
			for (const copy of [{ ...made }, Object.assign({}, made), Object.create(made)]) {
				const seen = [Object.keys(copy).length, Object.getOwnPropertySymbols(copy).length, Reflect.ownKeys(copy).length];
				let refused = "";
				try { made.constructor === Headers ? Headers.prototype.get.call(copy, "a") : Object.getOwnPropertyDescriptor(
					Object.getPrototypeOf(made), "url" in made ? "url" : "href").get.call(copy);
				} catch (e) { refused = e.message.slice(0, 18); }
				console.log(JSON.stringify([seen, refused, Object.keys(structuredClone(copy)), JSON.stringify({ ...copy })]));
			}
			console.log({ ...made });
		}
		return new Response();
	} }`, isolate.Options{OnLog: l.add}, Options{})
	if _, _, err := get(t, i, "/"); err != nil {
		t.Fatal(err)
	}
	const want = `[[0,0,0],"Illegal invocation",[],"{}"]`
	lines := strings.Split(l.text(), "\n")
	if len(lines) != 16 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for n, line := range lines {
		if n%4 == 3 {
			if line != "{}" {
				t.Errorf("a copy prints as %s", line)
			}
		} else if line != want {
			t.Errorf("line %d: got %s, want %s", n, line, want)
		}
	}
}
