package isolate

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// Bounds of DefaultHeapBytes.
const (
	minHeapBytes = 256 << 20
	maxHeapBytes = 4 << 30
)

// patternGrace is how much longer one match of a regular expression that backtracks may take than an event may compute.
const patternGrace = 100 * time.Millisecond

// Guard sets what holds for the whole process, for isolates with these limits: the collector keeps the heap below
// HeapBytes while it can, and regular expressions that backtrack, which nothing interrupts, are given up. An event whose
// match was given up, and which would see that nothing matched, has been stopped by then. It is to be called once, before
// any isolate is made.
func Guard(l Limits) {
	l.ensureDefaults()
	regexp2.DefaultMatchTimeout = max(l.CPU, l.Startup) + patternGrace
	debug.SetMemoryLimit(int64(l.HeapBytes))
}

// DefaultHeapBytes is a heap for scripts that leaves the machine room: a quarter of the memory that the process may have,
// from 256 MiB to 4 GiB.
func DefaultHeapBytes() uint64 {
	most := uint64(maxHeapBytes)
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err == nil {
			most = min(most, n/4)
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(text) {
			fields := bytes.Fields(line)
			if len(fields) < 2 || string(fields[0]) != "MemTotal:" {
				continue
			}
			if kib, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
				most = min(most, kib<<10/4)
			}
		}
	}
	return max(most, minHeapBytes)
}
