package jsclass_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/v8value"
)

// Nothing of an object stays in its isolate once it was evicted.
func TestEvictionLeavesNothing(t *testing.T) {
	bubble(t, counter, []string{"Counter"}, func(w *world) {
		args, err := v8value.MarshalArguments(1)
		if err != nil {
			t.Fatal(err)
		}
		round := func(name string) int64 {
			for n := range 1000 {
				if _, err := w.stub("Counter", fmt.Sprint(name, n)).Call(t.Context(), "increment", args); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(80 * time.Second)
			synctest.Wait()
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		first := round("a")
		if each := (round("b") - first) / 1000; each > 1<<10 {
			t.Errorf("an evicted object leaves %d bytes", each)
		} else {
			t.Logf("an evicted object leaves %d bytes", each)
		}
	})
}
