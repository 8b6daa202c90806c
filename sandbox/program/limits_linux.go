package program

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxDataBytes is more private writable memory than any program's limit comes to.
const maxDataBytes = 2 << 30

// limitResources sets the kernel's limits that hold for all programs. The number of processes is not limited: the kernel
// counts all threads of the user, and the Go runtime dies when it may not start one. A program has no way to start a
// process, and filterSystemCalls refuses it.
func limitResources() error {
	for _, l := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"core size", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, 0},
		{"open files", unix.RLIMIT_NOFILE, 16},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"data", unix.RLIMIT_DATA, maxDataBytes},
	} {
		var before unix.Rlimit
		if err := unix.Getrlimit(l.resource, &before); err != nil {
			return fmt.Errorf("read the limit of %s: %w", l.name, err)
		}
		limit := min(l.max, before.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// dataBytes reads what RLIMIT_DATA counts.
func dataBytes() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(b)
	if len(fields) < 6 {
		return 0, fmt.Errorf("statm has %d fields", len(fields))
	}
	pages, err := strconv.ParseUint(string(fields[5]), 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// armData bounds private writable memory. Not the address space, of which the Go runtime reserves far more
// than it uses.
func armData(bytes uint64) { setSoft(unix.RLIMIT_DATA, bytes) }

// armCPU has the kernel end the process when its processor time is a second beyond limit. Only the soft
// limit moves, since a hard one could not be raised for the next program.
func armCPU(limit time.Duration) {
	setSoft(unix.RLIMIT_CPU, uint64(math.Ceil(limit.Seconds()))+1)
}

func setSoft(resource int, limit uint64) {
	var l unix.Rlimit
	if unix.Getrlimit(resource, &l) == nil {
		l.Cur = min(limit, l.Max)
		_ = unix.Setrlimit(resource, &l)
	}
}
