package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/e2e/soak"
)

const (
	coldSessions  = 100
	callsInSeries = 1000
)

// executeBody calls the tool execute with a program that needs no escapes.
func executeBody(code string) string {
	return `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute","arguments":{"code":"` + code + `"}}}`
}

// execute runs a program and fails if it does.
func (c *mcpClient) execute(code string) error {
	_, text, err := c.post(executeBody(code))
	if err == nil && (!strings.Contains(text, `"result"`) || strings.Contains(text, `"isError":true`)) {
		err = fmt.Errorf("execute: %.300s", text)
	}
	return err
}

// benchExecute measures executions: at a rate, the first ones of sessions, calls of tools, and what idle processes hold.
func benchExecute(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		const timeout = 2 * time.Second
		stack := startStack(t, fmt.Sprintf("MCP_SESSION_TIMEOUT_MS=%d", timeout.Milliseconds()))
		ready := stack.MustReady(t)
		like := mcpClient{http: newHTTPClient(s.clients), url: ready.MCPURL, token: stack.NewIdentity(t).Token}
		for range s.rounds {
			if err := atRate(ctx, s, like, pids(ready)); err != nil {
				return fmt.Errorf("%w\n%s", err, stack.Log())
			}
		}
		if err := firstExecutions(ctx, like, timeout); err != nil {
			return err
		}
		if err := toolCalls(s, like); err != nil {
			return err
		}
		if err := wait(ctx, 3*time.Second); err != nil { // a child gives memory back after a second
			return err
		}
		for _, pid := range soak.Children(ready.PIDs["sandbox"]) {
			resident, proportional, err := rollup(pid)
			if err != nil {
				continue // it has ended
			}
			fmt.Printf("idle process for programs: %.1f MiB resident, %.1f MiB its share\n", mib(resident), mib(proportional))
		}
		return nil
	})
}

// atRate has executions begin at a rate, whatever became of those before, and measures from the moment at which each was
// to begin.
func atRate(ctx context.Context, s settings, like mcpClient, pids []int) error {
	workers := make([]mcpClient, s.clients)
	for i := range workers {
		workers[i] = like
		if err := errors.Join(workers[i].open(), workers[i].execute("return 1")); err != nil {
			return err
		}
	}
	n := int64(s.duration.Seconds() * float64(s.rate))
	var next atomic.Int64
	var mu sync.Mutex // guards total and failure
	total, failure := newHistogram(), error(nil)
	before, began := cpuTime(pids), time.Now()
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			for k := next.Add(1) - 1; k < n; k = next.Add(1) - 1 {
				intended := began.Add(time.Duration(k) * time.Second / time.Duration(s.rate))
				if wait(ctx, time.Until(intended)) != nil {
					return
				}
				err := workers[i].execute("return 1")
				took := time.Since(intended)
				mu.Lock()
				failure = errors.Join(failure, err)
				total.RecordValue(took.Microseconds()) //nolint:errcheck // bounded by the client's timeout
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if failure != nil {
		return failure
	}
	r, err := summarize(total, time.Since(began), cpuTime(pids)-before)
	if err != nil {
		return err
	}
	fmt.Printf("execute `return 1`, %d clients, %d/s offered: %.0f/s, p50 %s, p99 %s, max %s, %s of processor time each\n",
		s.clients, s.rate, r.perSecond, r.p50.Round(10*time.Microsecond), r.p99.Round(10*time.Microsecond),
		(time.Duration(total.Max()) * time.Microsecond).Round(10*time.Microsecond), r.cpu.Round(time.Microsecond))
	for i := range workers {
		if err := workers[i].end(); err != nil {
			return err
		}
	}
	return nil
}

// firstExecutions measures the first execution of new sessions, and of sessions that were evicted.
func firstExecutions(ctx context.Context, like mcpClient, timeout time.Duration) error {
	for _, kind := range []string{"new", "evicted"} {
		sessions := make([]mcpClient, coldSessions)
		for i := range sessions {
			sessions[i] = like
			if err := sessions[i].open(); err != nil {
				return err
			}
		}
		if kind == "evicted" {
			if err := wait(ctx, timeout+13*time.Second); err != nil { // eviction is 10 s after the runtime's end
				return err
			}
		}
		latencies := make([]time.Duration, len(sessions))
		for i := range sessions {
			began := time.Now()
			if err := sessions[i].execute("return 1"); err != nil {
				return err
			}
			latencies[i] = time.Since(began)
		}
		slices.Sort(latencies)
		fmt.Printf("first execute of a session, %s: p50 %s, max %s\n", kind,
			latencies[len(latencies)/2].Round(10*time.Microsecond), latencies[len(latencies)-1].Round(10*time.Microsecond))
	}
	return nil
}

// toolCalls measures a call of a tool from inside a program: by programs that make many, one after another.
func toolCalls(s settings, c mcpClient) error {
	if err := c.open(); err != nil {
		return err
	}
	code := fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.search({query: 'policies', limit: 1}); return 1", callsInSeries)
	for range s.rounds {
		began := time.Now()
		if err := c.execute(code); err != nil {
			return err
		}
		fmt.Printf("tool call from inside a program: %s round trip (%d in a row)\n",
			(time.Since(began) / callsInSeries).Round(time.Microsecond), callsInSeries)
	}
	return c.end()
}

// rollup returns what a process has resident, and its share of that where pages are shared.
func rollup(pid int) (resident, proportional int64, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "Rss":
			resident = kib << 10
		case "Pss":
			proportional = kib << 10
		}
	}
	return resident, proportional, nil
}
