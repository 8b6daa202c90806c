//go:build !linux

package pool

import (
	"os"
	"syscall"
)

// processAttributes put a child into a process group of its own. A child whose parent dies sees the end of its
// input.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// peakBytes is not known: the units of what the system says differ.
func peakBytes(*os.ProcessState) uint64 { return 0 }
