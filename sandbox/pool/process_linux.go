package pool

import "syscall"

// processAttributes put a child into a process group of its own, so that a signal to this process's group (Ctrl-C
// in a terminal) leaves it to the drain, and have the kernel kill it when this process dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
