package jsclass_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
)

// counterModule is what e2e/bench measures, with the same over fetch.
const counterModule = `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
	pings = 0;
	async increment(by) {
		const n = ((await this.ctx.storage.get("value")) ?? 0) + by;
		await this.ctx.storage.put("value", n);
		return n;
	}
	ping() { return ++this.pings; }
	async fetch(request) { return new Response(String(++this.pings)); }
}
export default {};`

// BenchmarkCall is a call's whole way in the host, without a network and with a disk that costs nothing.
func BenchmarkCall(b *testing.B) {
	code := makeBundle(b, "2026-08-20", counterModule, "Counter")
	args, err := v8value.MarshalArguments(1)
	if err != nil {
		b.Fatal(err)
	}
	method := func(name string) func(context.Context, *binding.Stub) error {
		return func(ctx context.Context, s *binding.Stub) error {
			_, err := s.Call(ctx, name, args)
			return err
		}
	}
	for _, bench := range []struct {
		name  string
		call  func(context.Context, *binding.Stub) error
		names int // of objects; none means a new one for each call
	}{
		{"ping", method("ping"), 1},
		{"fetch", func(ctx context.Context, s *binding.Stub) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://object/", nil)
			if err != nil {
				return err
			}
			resp, err := s.Fetch(ctx, r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		}, 1},
		{"increment", method("increment"), 1},
		{"increment-1000", method("increment"), 1000},
		{"fresh", method("ping"), 0},
	} {
		b.Run(bench.name, func(b *testing.B) {
			w := &world{t: b}
			end := w.start(code, vfs.NewMem())
			defer end()
			objects := binding.NewNamespace("w-Counter", w.host.Local())
			var next atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(16)
			before := cpuTime(b)
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					n := int(next.Add(1))
					if bench.names > 0 {
						n %= bench.names
					}
					if err := bench.call(b.Context(), objects.GetByName(strconv.Itoa(n))); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is the processor time of the process so far, which says more than time on a machine that others use.
func cpuTime(b *testing.B) int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
