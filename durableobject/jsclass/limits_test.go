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

// A script that computes for ever or recurses is stopped; other objects, and the object itself, go on.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := &world{t: t, limits: isolate.Limits{CPU: 100 * time.Millisecond}}
	defer w.start(makeBundle(t, "2026-04-01", probe(map[string]string{
		"loop":    `for (;;);`,
		"later":   `await s.put("a", 1); for (;;);`,
		"recurse": `await 0; (function f() { f(); })()`,
		"well":    `return [await s.get("a"), this.calls = (this.calls ?? 0) + 1]`,
	}), "Probe"), vfs.NewMem())()
	w.want("Probe", "well", "[undefined, 1]")
	w.wantError("Probe", "loop", "Error: Worker exceeded CPU time limit. [remote]")
	w.wantError("Probe", "later", "Error: Worker exceeded CPU time limit. [remote]")
	w.wantError("Probe", "recurse", "RangeError: Maximum call stack size exceeded [remote]")
	w.want("Probe", "well", "[1, 2]")
	if got, err := callStub(t.Context(), w.stub("Probe", "other"), "well"); err != nil || got != "[undefined, 1]" {
		t.Errorf("another object: %s %v", got, err)
	}
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
