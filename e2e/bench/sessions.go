package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// benchSessions opens many sessions, waits until their runtimes are torn down, measures what they keep, and wakes each.
func benchSessions(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		const timeout = 20 * time.Second
		stack := startStack(t, fmt.Sprintf("MCP_SESSION_TIMEOUT_MS=%d", timeout.Milliseconds()))
		ready := stack.MustReady(t)
		host, token := ready.PIDs["durableobject"], stack.NewIdentity(t).Token
		client := newHTTPClient(s.clients)
		warm := &mcpClient{http: client, url: ready.MCPURL, token: token}
		if err := warm.open(); err != nil {
			return err
		}
		before := residentBytes(host)
		ids := make([]string, s.sessions)
		took, err := each(s, len(ids), func(i int) error {
			c := &mcpClient{http: client, url: ready.MCPURL, token: token}
			err := c.open()
			ids[i] = c.session
			return err
		})
		if err != nil {
			return err
		}
		opened := residentBytes(host)
		fmt.Printf("opened %d sessions in %s (%.0f/s); %.1f KiB each in the object host while live\n", len(ids),
			took.Round(time.Millisecond), float64(len(ids))/took.Seconds(), float64(opened-before)/1024/float64(len(ids)))
		if err := wait(ctx, timeout+15*time.Second); err != nil { // the timeout, and eviction 10 s after it
			return err
		}
		idle := residentBytes(host)
		fmt.Printf("idle: %.1f KiB each (resident %.0f MiB, %.0f MiB before)\n",
			float64(idle-before)/1024/float64(len(ids)), mib(idle), mib(before))
		return wake(s, *warm, ids)
	})
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wake sends a request to each session and prints how long that took.
func wake(s settings, like mcpClient, ids []string) error {
	latencies := make([]time.Duration, len(ids))
	took, err := each(s, len(ids), func(i int) error {
		c := like
		c.session = ids[i]
		began := time.Now()
		_, _, err := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		latencies[i] = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(latencies)
	fmt.Printf("woke all %d in %s (%.0f/s), p50 %s, p99 %s\n", len(ids), took.Round(time.Millisecond),
		float64(len(ids))/took.Seconds(), latencies[len(ids)/2].Round(10*time.Microsecond),
		latencies[len(ids)*99/100].Round(10*time.Microsecond))
	return nil
}

// each calls f for 0 … n-1, by as many workers as there are clients, and stops at the first error.
func each(s settings, n int, f func(i int) error) (time.Duration, error) {
	return eachWorker(s.clients, n, func(_, i int) error { return f(i) })
}

// eachWorker calls f for 0 … n-1 from this many workers, and stops at the first error.
func eachWorker(workers, n int, f func(worker, i int) error) (time.Duration, error) {
	var next atomic.Int64
	var failure atomic.Pointer[error]
	began := time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for failure.Load() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := f(w, i); err != nil {
					failure.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return time.Since(began), nil
}
