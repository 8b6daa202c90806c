package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// objectServer is one of the two whose objects are compared.
type objectServer struct {
	name    string
	address string
	pids    []int
	peak    int64
}

// objectWorkload is one kind of request.
type objectWorkload struct {
	name    string
	clients int
	// names is how many objects take the requests in turn; zero means a new object for each.
	names         int
	method        string
	before, after string // of the object's name in the path
}

func objectWorkloads() []objectWorkload {
	var all []objectWorkload
	for _, clients := range []int{32, 256} {
		all = append(all,
			objectWorkload{"in memory, one object", clients, 1, "GET", "/ping/", ""},
			objectWorkload{"get + put, one object", clients, 1, "POST", "/counter/", "/increment"},
			objectWorkload{"get + put, 1,000 objects", clients, 1000, "POST", "/counter/", "/increment"})
	}
	return append(all,
		objectWorkload{"first request, in memory", 32, 0, "GET", "/ping/", ""},
		objectWorkload{"first request, get + put", 32, 0, "POST", "/counter/", "/increment"})
}

// benchObjects alternates rounds of the Go counter and of the same one on workerd, and prints the medians.
func benchObjects(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binaries, err := buildCounter(t)
		if err != nil {
			return err
		}
		counter, err := startCounter(t, counterOptions{binaries: binaries, profiles: s.profiles})
		if err != nil {
			return err
		}
		return compareWithWorkerd(t, s, &objectServer{name: "tandem", address: counter.address, pids: counter.pids()},
			func() (address string, pid int, err error) { return startWorkerd(t) }, objectWorkloads())
	})
}

// compareWithWorkerd is compareAll of one server and, unless that is to be left out, what workerd starts.
func compareWithWorkerd(t *steps, s settings, ours *objectServer, workerd func() (address string, pid int, err error),
	workloads []objectWorkload,
) error {
	servers := []*objectServer{ours}
	if !s.alone {
		address, pid, err := workerd()
		if err != nil {
			return err
		}
		servers = append(servers, &objectServer{name: "workerd", address: address, pids: []int{pid}})
	}
	return compareAll(t.ctx, s, workloads, servers)
}

// wants reports whether a workload is to be run.
func (s settings) wants(w objectWorkload) bool {
	return strings.Contains(fmt.Sprintf("%s @%d", w.name, w.clients), s.only)
}

// compareAll prints a table of the workloads that are wanted, and the servers' memory.
func compareAll(ctx context.Context, s settings, workloads []objectWorkload, servers []*objectServer) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(table, "workload\tconnections\tserver\treq/s\tratio\tp50\tp99\tCPU a request")
	for _, w := range workloads {
		if !s.wants(w) {
			continue
		}
		if err := compareObjects(ctx, s, w, servers, table); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		table.Flush() //nolint:errcheck // standard output
	}
	for _, srv := range servers {
		fmt.Printf("peak resident memory of %s: %.0f MiB\n", srv.name, mib(srv.peak))
	}
	return nil
}

// compareObjects prints a line for each server; ratios are to the last one.
func compareObjects(ctx context.Context, s settings, w objectWorkload, servers []*objectServer, out *tabwriter.Writer,
) error {
	rounds := make([][]result, len(servers))
	for n := range s.rounds {
		for i, srv := range servers {
			r, err := objectRound(ctx, s, w, srv, n)
			if err != nil {
				return fmt.Errorf("%s: %w", srv.name, err)
			}
			rounds[i] = append(rounds[i], r)
		}
	}
	base := median(rounds[len(rounds)-1]).perSecond
	for i, srv := range servers {
		m, ratio := median(rounds[i]), "-"
		if i < len(servers)-1 {
			ratio = fmt.Sprintf("%.2f", m.perSecond/base)
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%.0f\t%s\t%s\t%s\t%s\n", w.name, w.clients, srv.name, m.perSecond, ratio,
			m.p50.Round(10*time.Microsecond), m.p99.Round(10*time.Microsecond), m.cpu.Round(time.Microsecond))
	}
	return nil
}

// objectRound makes each object live, and then the load.
func objectRound(ctx context.Context, s settings, w objectWorkload, srv *objectServer, n int) (result, error) {
	prefix := fmt.Sprintf("%s%d-%d-", w.before, w.clients, w.names)
	if w.names == 0 {
		prefix += strconv.Itoa(n) + "-"
	}
	paths := make([]string, w.names)
	for i := range paths {
		paths[i] = prefix + strconv.Itoa(i) + w.after
	}
	if err := makeLive(srv.address, w.method, paths, checkAnswer); err != nil {
		return result{}, err
	}
	next := -1
	load, err := dialSwarm(srv.address, w.clients, func() (method, path string) {
		next++
		if w.names == 0 {
			return w.method, prefix + strconv.Itoa(next) + w.after
		}
		return w.method, paths[next%w.names]
	}, checkAnswer)
	if err != nil {
		return result{}, err
	}
	r, err := runSwarm(ctx, s, srv.pids, load)
	err = errors.Join(err, load.close())
	for _, pid := range srv.pids {
		peak := peakBytes(pid)
		r.peak += peak
	}
	srv.peak = max(srv.peak, r.peak)
	return r, err
}

// checkAnswer takes a count, JSON, or the greeting.
func checkAnswer(body []byte) error {
	if string(body) == "Hello World!" {
		return nil
	}
	if len(body) == 0 || (body[0] < '1' || body[0] > '9') && body[0] != '{' && body[0] != '[' {
		return fmt.Errorf("not a count: %q", body)
	}
	return nil
}

// makeLive makes each object live.
func makeLive(address, method string, paths []string, check func([]byte) error) error {
	if len(paths) == 0 {
		return nil
	}
	wires, stop, err := dialWires(address, feeders)
	if err != nil {
		return err
	}
	defer stop()
	_, err = eachWorker(feeders, len(paths), func(worker, i int) error {
		body, err := wires[worker].do(method, paths[i])
		if err != nil {
			return err
		}
		return check(body)
	})
	return err
}
