package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandem-do/tandem/e2e/soak"
)

const (
	// growthIdle is by how much the objects' clock moves before memory is measured: all are evicted, and forgotten.
	growthIdle = "3m"
	// growthSlack is by how many bytes a heap may be larger, beside a tenth: pools and buffers differ from moment to moment.
	growthSlack = 1 << 20
	// fillNotes are 64 KiB each: more than all the buffers that a store has before those of full size.
	fillNotes = 400
)

// benchGrowth sends many requests of all kinds and fails if a process holds more at the end than after the first tenth.
func benchGrowth(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		dir := t.TempDir()
		if err := copyProject(t, "e2e/projects/testdata/growth", dir); err != nil {
			return err
		}
		profiles := t.TempDir()
		run, err := startProduction(t, productionOptions{project: dir, ready: "/", profiles: profiles, clock: true})
		if err != nil {
			return err
		}
		g := &growth{run: run, profiles: profiles, table: tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)}
		fmt.Fprintln(g.table, "requests\tprocess\theap\tresident\tgoroutines\tdescriptors\treq/s")
		if err := g.fill(ctx); err != nil {
			return err
		}
		first, err := g.send(ctx, 0, s.requests/10)
		if err != nil {
			return err
		}
		if _, err = g.send(ctx, s.requests/10, s.requests/2); err != nil {
			return err
		}
		last, err := g.send(ctx, s.requests/2, s.requests)
		if err != nil {
			return err
		}
		return last.compare(first)
	})
}

// growth is a run of the benchmark.
type growth struct {
	run      *production
	profiles string
	table    *tabwriter.Writer
}

// holdings are what the processes hold at one moment, by their names.
type holdings struct {
	counts         soak.Counts
	heap, resident map[string]int64
}

// fill writes as much as it takes until the store's buffers have their full size, which no request adds to.
func (g *growth) fill(ctx context.Context) error {
	note := strings.Repeat("x", 64<<10)
	for i := range fillNotes {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/note/fill-%d", g.run.address, i),
			strings.NewReader(note))
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent {
			return fmt.Errorf("POST %s: %s", r.URL, resp.Status)
		}
	}
	return nil
}

// send sends the requests from one number to another, lets all objects be evicted, and measures.
func (g *growth) send(ctx context.Context, from, to int) (holdings, error) {
	h := holdings{heap: map[string]int64{}, resident: map[string]int64{}}
	began := time.Now()
	err := soak.Mix(ctx, soak.MixOptions{
		URL: "http://" + g.run.address, First: from, Requests: to - from, Connections: feeders,
	})
	if err != nil {
		logs, _ := filepath.Glob(filepath.Join(g.run.dir, "*.log"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(log), text[max(0, len(text)-4096):])
		}
		return h, err
	}
	perSecond := float64(to-from) / time.Since(began).Seconds()
	if err := g.run.advance(ctx, growthIdle); err != nil {
		return h, err
	}
	processes := g.run.processes()
	if h.counts, err = soak.Count(ctx, processes, g.profiles); err != nil {
		return h, err
	}
	for _, name := range slices.Sorted(maps.Keys(processes)) {
		h.resident[name] = residentBytes(processes[name])
		if h.heap[name], err = soak.Heap(ctx, processes[name], g.profiles); err != nil {
			return h, err
		}
		fmt.Fprintf(g.table, "%d\t%s\t%.2f MiB\t%.0f MiB\t%d\t%d\t%.0f\n", to, name, mib(h.heap[name]), mib(h.resident[name]),
			h.counts.Goroutines[name], h.counts.Descriptors[name], perSecond)
	}
	return h, g.table.Flush()
}

// compare says what there is more of than before.
func (h holdings) compare(before holdings) error {
	leaks := h.counts.Leaked(before.counts)
	for _, name := range slices.Sorted(maps.Keys(h.heap)) {
		now, was := h.heap[name], before.heap[name]
		fmt.Printf("%s: heap %.3f of what it was, resident memory %.3f\n", name, float64(now)/float64(was),
			float64(h.resident[name])/float64(before.resident[name]))
		if now > was+was/10+growthSlack {
			leaks = append(leaks, fmt.Sprintf("%s has a heap of %.2f MiB, had %.2f MiB", name, mib(now), mib(was)))
		}
	}
	if len(leaks) > 0 {
		return errors.New("grown: " + strings.Join(leaks, "; "))
	}
	return nil
}
