package dev

import "syscall"

// childAttributes put a child into a process group of its own, so that a terminal's Ctrl-C reaches the supervisor
// only, and have the kernel end it with the thread that started it (see spawner). SIGTERM and not SIGKILL: the child
// drains, as on the end of its lifeline; before it watches either, SIGTERM ends it at once.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
