package pool

import (
	"os"
	"syscall"
)

// processAttributes put a child into a process group of its own, so that a signal to this process's group (Ctrl-C
// in a terminal) leaves it to the drain, and have the kernel kill it when this process dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// peakBytes returns the most memory that an ended process had resident.
func peakBytes(s *os.ProcessState) uint64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return uint64(max(0, u.Maxrss)) << 10
	}
	return 0
}
