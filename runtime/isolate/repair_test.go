package isolate

import (
	"strings"
	"testing"
)

func TestRepairedPatterns(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		const [top, , other] = "1/2/3".split("/");
		class Pairs { static #all = new Map([["k", 1]]); static list() {
			const out = []; for (const [k, v] of this.#all) out.push(k + v); return out; } }
		export const works = async () => {
			const [a, b = "d"] = await Promise.all([1]);
			let [x, y] = [1, 2]; [x, y] = [y, x];
			return [top, other, Pairs.list(), a, b, x, y, Object.entries({ p: 1 }).map(([k, v]) => k + v)].join();
		};
		export const throws = () => {
			try {
				const [a] = { [Symbol.iterator]() { throw new Error("deep"); } };
			} catch (e) { return e.stack; }
		};
		export const refuses = () => { const [a] = undefined; };
		export const hidden = () => Object.getOwnPropertyNames(globalThis).filter((n) => n.startsWith("#")).length;
	`, Options{})
	for name, want := range map[string]string{"works": "1,3,k1,1,d,2,1,p1", "hidden": "0"} {
		if got, err := call(t, i, name); got != want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, _ := call(t, i, "throws"); strings.Contains(got, "tandem") || strings.Count(got, "    at ") < 2 {
		t.Errorf("the trace is %s", got)
	}
	if _, err := call(t, i, "refuses"); !strings.Contains(errorText(err), "undefined") {
		t.Errorf("a pattern of undefined: %v", err)
	}
}
