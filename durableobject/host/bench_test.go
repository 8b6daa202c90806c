package host

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

func benchClass() []durableobject.Class {
	c := &testClass{methods: methods{}}
	classes := c.classes()
	classes[0].Methods["nothing"] = func(context.Context, any, []byte) ([]byte, error) { return nil, nil }
	return classes
}

func benchStack(b *testing.B, fs vfs.FS, dir string) *stack {
	s := newStackIn(b, fs, dir, benchClass())
	s.place()
	b.Cleanup(s.close)
	return s
}

// BenchmarkIncrement is a get and a put of a counter through Host.Call, durable on the machine's disk, on one hot
// object and on a thousand.
func BenchmarkIncrement(b *testing.B) {
	args, err := v8value.MarshalArguments(1)
	if err != nil {
		b.Fatal(err)
	}
	for _, objects := range []int{1, 1000} {
		for _, callers := range []int{1, 32, 256} {
			b.Run(fmt.Sprintf("objects=%d/callers=%d", objects, callers), func(b *testing.B) {
				s := benchStack(b, vfs.Default, b.TempDir())
				targets := make([]sidecar.Target, objects)
				for i := range targets {
					targets[i] = s.target(fmt.Sprint(i))
				}
				parallel(b, callers, func(i int) error {
					_, err := s.host.Call(b.Context(), targets[i%objects], "increment", args)
					return err
				})
			})
		}
	}
}

// BenchmarkCall is a method that does nothing: the cost of a turn and of both gates.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := benchStack(b, vfs.NewMem(), "store")
			at := s.target("a")
			parallel(b, callers, func(int) error {
				_, err := s.host.Call(b.Context(), at, "nothing", nil)
				return err
			})
		})
	}
}

// BenchmarkIdleObject is what an object costs in memory while it is live and idle, with an instance of 24 bytes.
func BenchmarkIdleObject(b *testing.B) {
	s := benchStack(b, vfs.NewMem(), "store")
	targets := make([]sidecar.Target, b.N)
	for i := range targets {
		targets[i] = s.target(fmt.Sprint("idle", i))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for _, t := range targets {
		if _, err := s.host.Call(b.Context(), t, "nothing", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(b.N), "B/object")
	runtime.KeepAlive(targets)
}

// parallel runs b.N calls on a number of goroutines.
func parallel(b *testing.B, callers int, call func(i int) error) {
	b.ReportAllocs()
	var next atomic.Int64
	errs := make(chan error, callers)
	b.ResetTimer()
	for range callers {
		go func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					errs <- nil
					return
				}
				if err := call(i); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	for range callers {
		if err := <-errs; err != nil {
			b.Error(err)
		}
	}
}
