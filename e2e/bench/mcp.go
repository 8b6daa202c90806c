package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// server is one of the two that are compared.
type server struct {
	name  string
	url   string
	token string
	pids  []int
}

// workload is one kind of request, made by each worker on a client of its own.
type workload struct {
	name  string
	peer  bool // whether the bare server does it too
	setup func(*mcpClient) error
	call  func(*mcpClient) error
}

func workloads() []workload {
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	execute := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute","arguments":{"code":"return 1"}}}`
	send := func(body string) func(*mcpClient) error {
		return func(c *mcpClient) error {
			_, text, err := c.post(body)
			if err == nil && !strings.Contains(text, `"result"`) {
				err = fmt.Errorf("no result: %s", text)
			}
			return err
		}
	}
	return []workload{
		{"initialize", true, nil, func(c *mcpClient) error {
			_, _, err := c.post(initializeBody)
			return err
		}},
		{"tools/list", true, (*mcpClient).open, send(list)},
		{"execute `return 1`", false, (*mcpClient).open, send(execute)},
	}
}

// benchMCP alternates rounds of the stack and of a bare go-sdk server, and prints the medians.
func benchMCP(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		stack := startStack(t)
		ready := stack.MustReady(t)
		ours := server{"tandem", ready.MCPURL, stack.NewIdentity(t).Token, pids(ready)}
		address, pid, stop, err := startBare(ctx)
		if err != nil {
			return err
		}
		defer stop()
		bare := server{"go-sdk", address, "", []int{pid}}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
		fmt.Fprintln(table, "workload\tserver\treq/s\tratio\tp50\tp99\tCPU a request")
		for _, w := range workloads() {
			if err := compare(ctx, s, w, []server{ours, bare}, table); err != nil {
				return fmt.Errorf("%s: %w\n%s", w.name, err, stack.Log())
			}
			table.Flush() //nolint:errcheck // standard output
		}
		fmt.Printf("\nresident memory: %s\n", memory(ready.PIDs))
		return nil
	})
}

func compare(ctx context.Context, s settings, w workload, servers []server, out *tabwriter.Writer) error {
	if !w.peer {
		servers = servers[:1]
	}
	rounds := make([][]result, len(servers))
	for range s.rounds {
		for i, srv := range servers {
			r, err := round(ctx, s, w, srv)
			if err != nil {
				return fmt.Errorf("%s: %w", srv.name, err)
			}
			rounds[i] = append(rounds[i], r)
		}
	}
	baseline := 0.0
	if len(servers) > 1 {
		baseline = median(rounds[1]).perSecond
	}
	for i, srv := range servers {
		m := median(rounds[i])
		ratio := "-"
		if i == 0 && baseline > 0 {
			ratio = fmt.Sprintf("%.2f", m.perSecond/baseline)
		}
		fmt.Fprintf(out, "%s\t%s\t%.0f\t%s\t%s\t%s\t%s\n", w.name, srv.name, m.perSecond, ratio,
			m.p50.Round(10*time.Microsecond), m.p99.Round(10*time.Microsecond), m.cpu.Round(time.Microsecond))
	}
	return nil
}

func round(ctx context.Context, s settings, w workload, srv server) (result, error) {
	client := newHTTPClient(s.clients)
	defer client.CloseIdleConnections()
	workers := make([]*mcpClient, s.clients)
	for i := range workers {
		workers[i] = &mcpClient{http: client, url: srv.url, token: srv.token}
		if w.setup != nil {
			if err := w.setup(workers[i]); err != nil {
				return result{}, err
			}
		}
	}
	r, err := runLoad(ctx, s, srv.pids, func(i int) error { return w.call(workers[i]) })
	if err == nil && w.setup != nil {
		for _, c := range workers {
			if err := c.end(); err != nil {
				return result{}, err
			}
		}
	}
	return r, err
}

// end ends the client's session.
func (c *mcpClient) end() error {
	r, err := http.NewRequest("DELETE", c.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Mcp-Session-Id", c.session)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	return nil
}

// median returns the round with the median rate, with the best latencies of all rounds.
func median(rounds []result) result {
	sorted := slices.SortedFunc(slices.Values(rounds), func(a, b result) int {
		return int(a.perSecond - b.perSecond)
	})
	m := sorted[len(sorted)/2]
	for _, r := range rounds {
		m.p50, m.p99 = min(m.p50, r.p50), min(m.p99, r.p99)
	}
	return m
}

func memory(pids map[string]int) string {
	var parts []string
	for name, pid := range pids {
		parts = append(parts, fmt.Sprintf("%s %.0f MiB", name, float64(residentBytes(pid))/(1<<20)))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
