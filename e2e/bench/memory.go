package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tandem-do/tandem/e2e/soak"
)

const (
	// memoryIsolates is how many isolates a process has at the end, when the cost of one is measured.
	memoryIsolates = 16
	// memoryObjects are live at once, in a host that may have memoryFiles open.
	memoryObjects = 10_000
	memoryFiles   = 1024
	// sampleObjects are enough that each of the isolates has some.
	sampleObjects = 256
)

// benchMemory measures what JavaScript keeps: idle processes, isolates, live objects.
func benchMemory(ctx context.Context) error {
	return attempt(ctx, func(t *steps) error {
		for _, p := range []project{helloProject(), honoProject()} {
			dir := t.TempDir()
			if err := p.make(t, dir); err != nil {
				return err
			}
			if err := isolateMemory(t, p, dir); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return objectMemory(t)
	})
}

// isolateMemory prints what processes have when nothing but a first request was made, and what isolates add.
func isolateMemory(t *steps, p project, dir string) error {
	profiles := t.TempDir()
	run, err := startProduction(t, productionOptions{
		project: dir, ready: p.path, isolates: memoryIsolates, profiles: profiles,
	})
	if err != nil {
		return err
	}
	defer run.stop()
	processes := run.processes()
	for _, name := range slices.Sorted(maps.Keys(processes)) {
		resident, _, err := rollup(processes[name])
		if err != nil {
			return err
		}
		heap, err := soak.Heap(t.ctx, processes[name], profiles)
		if err != nil {
			return err
		}
		fmt.Printf("%s: idle %s: %.1f MiB resident, %.1f MiB of heap\n", p.name, name, mib(resident), mib(heap))
	}
	w := newMeter(t.ctx, profiles, processes["worker"])
	if err := waitAtOnce(run.address, memoryIsolates); err != nil {
		return err
	}
	heap, resident, err := w.growth()
	fmt.Printf("%s: an isolate of the worker: %.2f MiB of heap, %.2f MiB resident\n", p.name,
		mib(heap)/(memoryIsolates-1), mib(resident)/(memoryIsolates-1))
	return err
}

// waitAtOnce sends n requests at once, each of which takes a while: so each has an isolate to itself, if there are as many.
func waitAtOnce(address string, n int) error {
	wires, stop, err := dialWires(address, n)
	if err != nil {
		return err
	}
	defer stop()
	_, err = eachWorker(n, n, func(worker, _ int) error {
		_, err := wires[worker].do("GET", "/wait/1000")
		return err
	})
	return err
}

// objectMemory prints what live objects and the isolates under them hold.
func objectMemory(t *steps) error {
	dir, hello := t.TempDir(), helloProject()
	if err := hello.make(t, dir); err != nil {
		return err
	}
	profiles := t.TempDir()
	run, err := startProduction(t, productionOptions{
		project: dir, ready: "/ping/ready", files: memoryFiles, profiles: profiles,
	})
	if err != nil {
		return err
	}
	defer run.stop()
	pid := run.host.cmd.Process.Pid
	ping := func(w *wire, i int) error {
		_, err := w.do("GET", path("/ping/o", i, ""))
		return err
	}
	if _, err := feed(run.address, sampleObjects, ping); err != nil { // all isolates are there
		return err
	}
	m := newMeter(t.ctx, profiles, pid)
	// An object is evicted 10 s after its last call: calls go round until all are live at once.
	made, err := feed(run.address, memoryObjects, ping)
	if err != nil {
		return err
	}
	again, err := feed(run.address, memoryObjects, ping)
	if err != nil {
		return err
	}
	heap, resident, err := m.growth()
	if err != nil {
		return err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	fmt.Printf("%d live objects: made in %s, called again in %s (all live if under 10s)\n", memoryObjects,
		made.Round(time.Millisecond), again.Round(time.Millisecond))
	fmt.Printf("a live object: %.2f KiB of heap, %.2f KiB resident; files: %d of %d\n",
		float64(heap)/1024/(memoryObjects-sampleObjects), float64(resident)/1024/(memoryObjects-sampleObjects),
		len(files), memoryFiles)
	return err
}

// meter measures by how much a process grows.
type meter struct {
	ctx      context.Context // of the benchmark
	profiles string
	pid      int
	// heap and resident were there at first.
	heap, resident int64
	err            error
}

// newMeter begins to measure.
func newMeter(ctx context.Context, profiles string, pid int) *meter {
	m := &meter{ctx: ctx, profiles: profiles, pid: pid}
	m.heap, m.err = soak.Heap(ctx, pid, profiles)
	m.resident = residentBytes(pid)
	return m
}

// growth returns what came since, of the heap after a collection, and resident before that.
func (m *meter) growth() (heap, resident int64, err error) {
	resident = residentBytes(m.pid)
	if m.err != nil {
		return 0, 0, m.err
	}
	heap, err = soak.Heap(m.ctx, m.pid, m.profiles)
	return heap - m.heap, resident - m.resident, err
}
