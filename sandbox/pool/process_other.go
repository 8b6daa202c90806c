//go:build !linux

package pool

import "syscall"

// processAttributes put a child into a process group of its own. A child whose parent dies sees the end of its
// input.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
