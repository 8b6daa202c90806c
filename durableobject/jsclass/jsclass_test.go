package jsclass_test

import (
	"strings"
	"testing"
	"time"
)

const counter = `
	import { DurableObject } from "cloudflare:workers";
	export class Counter extends DurableObject {
		made = Date.now();
		async increment(by = 1) {
			const n = ((await this.ctx.storage.get("n")) ?? 0) + by;
			await this.ctx.storage.put("n", n);
			return n;
		}
		async slow() {
			const n = (await this.ctx.storage.get("n")) ?? 0;
			await new Promise((r) => setTimeout(r, 20));
			await this.ctx.storage.put("n", n + 1);
			return n + 1;
		}
		get greeting() { return this.env.GREETING + " " + this.ctx.id.name; }
		async fetch(request) {
			return new Response(request.method + " " + new URL(request.url).pathname + " " + await request.text(), { status: 299 });
		}
		boom() { throw new TypeError("t"); }
	}
	export default {};
`

func TestCounter(t *testing.T) {
	t.Parallel()
	bubble(t, counter, []string{"Counter"}, func(w *world) {
		w.want("Counter", "increment", "1")
		w.want("Counter", "increment", "6", 5)
		w.wantError("Counter", "boom", "TypeError: t [remote]")
		w.wantError("Counter", "made", `TypeError: The RPC receiver does not implement the method "made". [remote]`)
		w.wantError("Counter", "alarm", "TypeError: 'alarm' is a reserved method and cannot be called over RPC. [remote]")
		w.wantError("Counter", "greeting", `TypeError: "greeting" is not a function. [remote]`)
		if log := w.logged(); !strings.Contains(log, "error: Uncaught TypeError: t\n    at ") {
			t.Errorf("log: %s", log)
		}
		status, body, err := w.fetch("Counter", "POST", "/x", "abc")
		if err != nil || status != 299 || body != "POST /x abc" {
			t.Errorf("fetch: %d %q %v", status, body, err)
		}
	})
}

// Five read-modify-writes over storage alone do not interleave; with a timer in the middle they do.
func TestTurns(t *testing.T) {
	t.Parallel()
	bubble(t, counter, []string{"Counter"}, func(w *world) {
		for _, c := range []struct {
			method string
			want   map[string]int
		}{
			{"increment", map[string]int{"1": 1, "2": 1, "3": 1, "4": 1, "5": 1}},
			{"slow", map[string]int{"6": 5}},
		} {
			results := make(chan string, 5)
			start := time.Now()
			for range 5 {
				go func() {
					v, err := w.call("Counter", c.method)
					if err != nil {
						v = err.Error()
					}
					results <- v
				}()
			}
			got := map[string]int{}
			for range 5 {
				got[<-results]++
			}
			for v, n := range c.want {
				if got[v] != n {
					t.Errorf("%s: got %v, want %v", c.method, got, c.want)
				}
			}
			if took := time.Since(start); took > 30*time.Millisecond {
				t.Errorf("%s took %v", c.method, took)
			}
		}
	})
}
