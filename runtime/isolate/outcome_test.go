package isolate

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/dop251/goja"
)

func TestIsAsync(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		class C { async method() {} async "quoted"() {} static async fixed() {} async() {} plain() {} }
		const o = { async method() {}, async [Symbol.iterator]() {}, async () {}, async: (async) => async, get f() { return 1; } };
		const { method, plain, async: named } = C.prototype;
		const computed = o[Symbol.iterator], quoted = C.prototype.quoted, fixed = C.fixed, property = o.async;
		const bound = method.bind({}), lied = Object.assign(() => 1, { toString: () => "async x" });
		const proxy = new Proxy(method, { apply: () => new Promise(() => {}) });
		export default {
			true: { arrow: async () => {}, bare: async (x) => x, f: async function () {}, method, computed, quoted, fixed },
			false: { plain, named, property, lied, proxy, bound, C, f() {}, g: function async() {}, native: Math.max },
		};
	`, Options{})
	for _, want := range []string{"true", "false"} {
		functions := i.Exports().Get("default").(*goja.Object).Get(want).(*goja.Object)
		for _, name := range functions.Keys() {
			if got := i.IsAsync(functions.Get(name).(*goja.Object)); strconv.FormatBool(got) != want {
				t.Errorf("%s: got %v", name, got)
			}
		}
	}
}

// An event ends when its handler's promise settles, also in the turn of another event, and with other events of that turn.
func TestOutcomeInAnotherTurn(t *testing.T) {
	t.Parallel()
	var logged []string
	i := newIsolate(t, `
		const open = {}, gate = new Promise((resolve) => { open.resolve = resolve; });
		const fork = {}, bad = new Promise((resolve, reject) => { fork.reject = reject; });
		let waiting = 0;
		const wait = () => { waiting++; setTimeout(() => {}, 1e6); };
		export const first = async () => { wait(); return "first " + await gate; };
		export const second = async () => { wait(); return gate; };
		export const plain = () => { wait(); return gate; };
		export const failing = async () => { wait(); await bad; };
		export const caught = async () => { wait(); try { await bad; } catch (e) { return "caught " + e.message; } };
		export const count = () => waiting;
		export const last = async () => { fork.reject(new Error("forked")); open.resolve("open"); await null; return "last"; };
	`, Options{OnLog: func(e Entry) { logged = append(logged, e.Text) }})
	want := map[string]string{
		"first": "first open", "second": "open", "plain": "open", "failing": "Error: forked", "caught": "caught forked",
		"last": "last",
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(name string) bool { return name == "last" })
	var mu sync.Mutex
	got := map[string]string{}
	end := func(name string) {
		v, err := call(t, i, name)
		if err != nil {
			v = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		got[name] = v
	}
	var waiting sync.WaitGroup
	for _, name := range names {
		waiting.Go(func() { end(name) })
	}
	for n := "0"; n != "5"; {
		var err error
		if n, err = call(t, i, "count"); err != nil {
			t.Fatal(err)
		}
	}
	end("last")
	waiting.Wait()
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(logged) > 0 {
		t.Errorf("logged %q", logged)
	}
}
