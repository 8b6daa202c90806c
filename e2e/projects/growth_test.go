package projects

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-do/tandem/e2e/harness"
	"github.com/tandem-do/tandem/e2e/soak"
)

const (
	// growthWarm requests make what is kept from then on, growthMore must leave nothing.
	growthWarm, growthMore = 2000, 4000
	// growthHeap is by how much a process's heap may differ, in bytes: buffers and pools do from moment to moment. A
	// request that leaves 300 bytes is found.
	growthHeap = 300 * growthMore

	// liveObjects are live at once in a host that may have liveFiles open, of liveObjectHeap bytes each.
	liveObjects, liveFiles, liveObjectHeap = 2000, 64, 10 << 10
)

// An object in JavaScript that is live costs little memory, and no descriptor.
func TestLiveObjects(t *testing.T) {
	profiles := t.TempDir()
	p, err := tryStart(t, "counter", nil, "", harness.Options{Env: []string{"TANDEM_PROFILE_DIR=" + profiles}})
	if err != nil {
		t.Fatal(err)
	}
	host := p.MustReady(t).PIDs["durableobject"]
	limit := &unix.Rlimit{Cur: liveFiles, Max: liveFiles}
	if err := unix.Prlimit(host, unix.RLIMIT_NOFILE, limit, nil); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 2 * time.Minute}
	defer client.CloseIdleConnections()
	visit := func(from, to int) int64 {
		t.Helper()
		for i := from; i < to; i++ {
			s := step{path: fmt.Sprint("/increment?by=0&name=", i), want: `{"n":0}`}
			if fault := s.run(t, client, p.MustReady(t).WorkerURL); fault != "" {
				t.Fatal(fault)
			}
		}
		heap, err := soak.Heap(t.Context(), host, profiles)
		if err != nil {
			t.Fatal(err)
		}
		return heap
	}
	const some = 100 // the isolates are there
	before := visit(0, some)
	// On a machine that takes more than ten seconds for it the first ones are evicted by then: less is found.
	heap := (visit(some, liveObjects) - before) / (liveObjects - some)
	if heap > liveObjectHeap {
		t.Errorf("a live object has %d bytes of heap, want at most %d", heap, liveObjectHeap)
	}
}

// Requests of all kinds, errors and clients that go away among them, leave neither memory nor goroutines nor descriptors
// behind once the objects have been evicted.
func TestNoGrowth(t *testing.T) {
	modules, err := filepath.Abs(modulesDir)
	if err != nil {
		t.Fatal(err)
	}
	profiles := t.TempDir()
	p, err := tryStart(t, "growth", nil, modules, harness.Options{
		TestClock: true, Args: []string{"--trace-ratio", "0.01"}, Env: []string{"TANDEM_PROFILE_DIR=" + profiles},
	})
	if err != nil {
		t.Fatal(err)
	}
	ready := p.MustReady(t)
	pids := maps.Clone(ready.PIDs)
	delete(pids, "traces") // it keeps what it is told
	first, requests := 0, growthWarm
	heapsOf := func() map[string]int64 {
		t.Helper()
		heaps := map[string]int64{}
		for name, pid := range pids {
			if heaps[name], err = soak.Heap(t.Context(), pid, profiles); err != nil {
				t.Fatal(err)
			}
		}
		return heaps
	}
	holds := func() (soak.Counts, map[string]int64) {
		t.Helper()
		o := soak.MixOptions{URL: ready.WorkerURL, First: first, Requests: requests, Connections: 16}
		if err := soak.Mix(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		first, requests = first+requests, growthMore
		p.Advance(t, 3*time.Minute)
		heaps := heapsOf()
		counts, err := soak.Count(t.Context(), pids, profiles)
		if err != nil {
			t.Fatal(err)
		}
		return counts, heaps
	}
	before, heaps := holds()
	_, after := holds()
	grown := func() (faults []string) {
		for name, was := range heaps {
			if now := after[name]; now > was+growthHeap {
				faults = append(faults, fmt.Sprintf("%s has a heap of %d bytes after %d requests more, had %d", name, now, growthMore, was))
			}
		}
		return faults
	}
	for deadline := time.Now().Add(time.Minute); len(grown()) > 0 && time.Now().Before(deadline); after = heapsOf() {
		<-time.NewTimer(time.Second).C // what clients left ends in its own time
	}
	for _, fault := range grown() {
		t.Error(fault)
	}
	counts, err := soak.Settle(t.Context(), before, 2*time.Minute, func() (soak.Counts, error) {
		return soak.Count(t.Context(), pids, profiles)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range counts.Leaked(before) {
		t.Error(leak)
	}
}
