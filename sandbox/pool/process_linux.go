package pool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// separation is which of the kernel's namespaces a child gets of its own.
type separation struct {
	// flags are those of clone(2).
	flags uintptr
	// off is why there are none; empty when there are.
	off string
}

// ownNamespaces leave a child no network, no process that it could see, no shared memory and no name of the machine.
const ownNamespaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// firstSeparation is what to try first. An unprivileged user needs a namespace of users for the others, in which the child
// is nobody.
func firstSeparation() separation {
	if os.Geteuid() == 0 {
		return separation{flags: ownNamespaces}
	}
	return separation{flags: ownNamespaces | syscall.CLONE_NEWUSER}
}

// next returns what to try where the machine refused s with err. It reports false when the error has another reason, or
// there is nothing left to try.
func (s separation) next(err error) (separation, bool) {
	refused := false
	for _, errno := range []error{syscall.EPERM, syscall.EINVAL, syscall.ENOSPC, syscall.ENOSYS, syscall.EUSERS} {
		refused = refused || errors.Is(err, errno)
	}
	switch {
	case !refused || s.flags == 0:
		return s, false
	case s.flags&syscall.CLONE_NEWUSER == 0:
		return separation{flags: s.flags | syscall.CLONE_NEWUSER}, true
	}
	var why syscall.Errno
	errors.As(err, &why)
	return separation{off: "the machine refuses namespaces: " + why.Error()}, true
}

// protections says what it is.
func (s separation) protections() []frame.Protection {
	return []frame.Protection{
		{Name: "empty_environment"}, {Name: "dies_with_parent"}, {Name: "own_network", Off: s.off},
		{Name: "own_process_ids", Off: s.off}, {Name: "own_ipc", Off: s.off},
	}
}

// processAttributes put a child into namespaces and into a process group of its own, so that a signal to this process's
// group (Ctrl-C in a terminal) leaves it to the drain, and have the kernel kill it when this process dies.
func processAttributes(s separation) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: s.flags}
}

// peakBytes returns the most memory that an ended process had resident.
func peakBytes(s *os.ProcessState) uint64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return uint64(max(0, u.Maxrss)) << 10
	}
	return 0
}

// yieldProcessor has the kernel prefer all others to a child, which leads its process group, and reports whether it does.
func yieldProcessor(pid int) bool {
	const nice = 10
	return syscall.Setpriority(syscall.PRIO_PGRP, pid, nice) == nil
}

// processorTime returns what a process has used, 0 when it cannot be read.
func processorTime(pid int) time.Duration {
	const ticks = 100 // a second, on every system that Go runs on
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the executable is in parentheses and may hold anything; the times are fields 14 and 15 of the whole.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	var sum int64
	for _, field := range fields[11:13] {
		n, _ := strconv.ParseInt(string(field), 10, 64) // a number
		sum += n
	}
	return time.Duration(sum) * time.Second / ticks
}
