package env_test

import (
	"runtime"
	"testing"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// maxIsolateBytes bounds the heap of a small script's isolate, with all globals. An isolate has half of it.
const maxIsolateBytes = 1 << 20

// An isolate with all that scripts are offered stays small, since a process has one for each processor.
func TestIsolateMemory(t *testing.T) { // not parallel: the heap is the process's
	program, err := isolate.Compile(isolate.Source{
		Name: "worker.js", Code: `(function () { return { default: { fetch: () => new Response("1") } }; })`,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := env.Options{Manifest: &bundle.Manifest{Name: "w", CompatibilityDate: "2026-04-01"}}
	start := func() *isolate.Isolate {
		i, err := isolate.New(t.Context(), program, o.Isolate(webapi.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	defer start().Close() // what is compiled once a process is there
	before := heapBytes()
	const n = 8
	for range n {
		defer start().Close()
	}
	if each := (heapBytes() - before) / n; each > maxIsolateBytes {
		t.Errorf("an isolate has a heap of %d bytes, want at most %d", each, maxIsolateBytes)
	}
}

// heapBytes returns what is in use after a collection.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second one frees what the first one's finalizers held
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far less than 2^63
}
