package jsclass_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/isolate"
)

const (
	cpuText   = "Error: Durable Object exceeded its CPU time limit and was reset. [reset]"
	stackText = "RangeError: Maximum call stack size exceeded [remote]"
)

// A script that computes for ever is stopped, wherever it does, and its object reset alone; one that recurses ends its
// event. What was written in the turn that was stopped is lost.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := &world{t: t, limits: isolate.Limits{CPU: 300 * time.Millisecond}}
	b := makeBundle(t, "2026-04-01", probe(map[string]string{
		"loop":      `for (;;);`,
		"put":       `await s.put("a", 1)`,
		"later":     `s.put("b", 1); await 0; for (;;);`,
		"microtask": `(function f() { Promise.resolve().then(f); })(); await new Promise(() => {})`,
		"timer":     `setTimeout(() => { for (;;); }); await new Promise(() => {})`,
		"section":   `await this.ctx.blockConcurrencyWhile(async () => { for (;;); })`,
		"txn":       `await s.transaction(async () => { for (;;); })`,
		"sync":      `s.transactionSync(() => { for (;;); })`,
		"getter":    `return { get x() { for (;;); } }`,
		"thrown":    `throw Object.defineProperty(new Error(), "message", { get() { for (;;); } })`,
		"sort":      `[2, 1].sort(() => { for (;;); })`,
		"recurse":   `await 0; (function f() { f(); })()`,
		"well":      `return [await s.get("a"), await s.get("b"), this.calls = (this.calls ?? 0) + 1]`,
	}), "Probe", "SqlProbe")
	defer w.start(b, vfs.NewMem())()
	for n, method := range []string{
		"loop", "later", "microtask", "timer", "section", "txn", "sync", "getter", "thrown", "sort",
	} {
		call := func(name, method string) string {
			class := "Probe"
			if name == "sync" {
				class = "SqlProbe"
			}
			got, err := callStub(t.Context(), w.stub(class, name), method)
			if err != nil {
				return describe(err)
			}
			return got
		}
		call(method, "put")
		for _, c := range [][3]string{
			{method, "well", "[1, undefined, 1]"}, {method, method, cpuText}, {method, "well", "[1, undefined, 1]"},
			{"other", "well", fmt.Sprintf("[undefined, undefined, %d]", n+1)},
		} {
			if got := call(c[0], c[1]); got != c[2] {
				t.Errorf("%s: %s of %s: got %s, want %s", method, c[1], c[0], got, c[2])
			}
		}
	}
	w.want("Probe", "put", "undefined")
	w.want("Probe", "well", "[1, undefined, 1]")

	patient := &world{t: t}
	defer patient.start(b, vfs.NewMem())()
	patient.want("Probe", "well", "[undefined, undefined, 1]")
	patient.wantError("Probe", "recurse", stackText)
	patient.want("Probe", "well", "[undefined, undefined, 2]")
}

// A live object of a small class takes a few kilobytes.
func TestMemoryOfAnObject(t *testing.T) {
	w := &world{t: t}
	defer w.start(makeBundle(t, "2026-04-01", counter, "Counter"), vfs.NewMem())()
	args, err := v8value.MarshalArguments(1)
	if err != nil {
		t.Fatal(err)
	}
	touch := func(from, to int) {
		for n := from; n < to; n++ {
			if _, err := w.stub("Counter", fmt.Sprint(n)).Call(t.Context(), "increment", args); err != nil {
				t.Fatal(err)
			}
		}
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	touch(0, 100)
	before := heap()
	const objects = 1000
	touch(100, 100+objects)
	if each := (heap() - before) / objects; each > 10<<10 {
		t.Errorf("an object takes %d bytes, want 10 KiB at most", each)
	} else {
		t.Logf("an object takes %d bytes", each)
	}
}
