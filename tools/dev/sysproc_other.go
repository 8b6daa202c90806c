//go:build unix && !linux

package dev

import "syscall"

// childAttributes put a child into a process group of its own, so that a terminal's Ctrl-C reaches the supervisor
// only.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
