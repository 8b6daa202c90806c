package program

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// allowedHere are the calls that only this architecture has. The numbers of the x32 interface are none of those that are
// allowed.
func allowedHere() []uint32 {
	return []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_ARCH_PRCTL, unix.SYS_TIME}
}
