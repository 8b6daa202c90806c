//go:build linux && (amd64 || arm64)

package program

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filterSystemCalls has the kernel refuse, for all threads and for good, every call but those by which the Go runtime
// computes, waits, and reads and writes what is open. The engine gives programs no way to make any; this is for its
// faults. Refused calls fail with EPERM.
func filterSystemCalls() error {
	const (
		setFilter  = 1 // SECCOMP_SET_MODE_FILTER
		allThreads = 1 // SECCOMP_FILTER_FLAG_TSYNC
	)
	filter := systemCallFilter(uint32(os.Getpid()))
	// The filter needs no_new_privs, which is the thread's own; the kernel carries both to the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	r, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	if r != 0 {
		return fmt.Errorf("filter system calls: thread %d cannot follow", r)
	}
	return nil
}

// Offsets in what the kernel gives a filter to look at.
const (
	numberOffset    = 0
	archOffset      = 4
	argumentsOffset = 16
)

// systemCallFilter returns the filter's instructions for the process with this ID. They fall through from call to call;
// what each does ends with a return.
func systemCallFilter(pid uint32) []unix.SockFilter {
	filter := []unix.SockFilter{
		load(archOffset),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(numberOffset),
	}
	on := func(number uint32, then ...unix.SockFilter) {
		filter = append(filter, jump(unix.BPF_JEQ, number, 0, uint8(len(then))))
		filter = append(filter, then...)
	}
	for _, number := range allowedCalls() {
		on(number, allow())
	}
	// Threads, but no processes. The newer call has its flags in memory, where a filter cannot look: C libraries fall
	// back to the older one.
	on(unix.SYS_CLONE, load(argument(0)), jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), allow(), refuse(unix.EPERM))
	on(unix.SYS_CLONE3, refuse(unix.ENOSYS))
	// Signals and limits of this process only.
	on(unix.SYS_TGKILL, load(argument(0)), jump(unix.BPF_JEQ, pid, 0, 1), allow(), refuse(unix.EPERM))
	on(unix.SYS_PRLIMIT64, load(argument(0)), jump(unix.BPF_JEQ, 0, 0, 1), allow(), refuse(unix.EPERM))
	// Memory, but none that can be executed.
	for _, number := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT} {
		on(number, load(argument(2)), jump(unix.BPF_JSET, unix.PROT_EXEC, 1, 0), allow(), refuse(unix.EPERM))
	}
	on(unix.SYS_FCNTL, load(argument(1)),
		jump(unix.BPF_JEQ, unix.F_GETFL, 3, 0), jump(unix.BPF_JEQ, unix.F_SETFL, 2, 0),
		jump(unix.BPF_JEQ, unix.F_GETFD, 1, 0), refuse(unix.EPERM), allow())
	return append(filter, refuse(unix.EPERM))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// argument returns the offset of the lower half of an argument. Both architectures are little-endian.
func argument(n uint32) uint32 { return argumentsOffset + 8*n }

// jump skips this many instructions if the comparison holds, and if it does not.
func jump(comparison uint16, value uint32, holds, fails uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: value, Jt: holds, Jf: fails}
}

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func allow() unix.SockFilter { return ret(unix.SECCOMP_RET_ALLOW) }

func refuse(errno unix.Errno) unix.SockFilter { return ret(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

// allowedCalls are the numbers of the calls that are allowed whatever their arguments. None takes a path, an address or
// the ID of another process.
func allowedCalls() []uint32 {
	return append([]uint32{
		// What is open.
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FSTAT,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2,
		unix.SYS_PPOLL, unix.SYS_PSELECT6,
		// Memory.
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
		// Threads, and the time they wait.
		unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES,
		unix.SYS_GETTIMEOFDAY, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETTID, unix.SYS_GETPID,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		unix.SYS_RESTART_SYSCALL, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
		// Signals that come.
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		// What it has used, and its limits.
		unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_GETRANDOM,
	}, allowedHere()...)
}
