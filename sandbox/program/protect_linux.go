package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// nobody is the user and the group that a child of a privileged sandbox becomes: the kernel's number for those who own
// nothing.
const nobody = 65534

// protect gives up for good what no program needs, as far as the machine allows it, and says how far that was. Files
// cannot be opened afterwards.
func protect() []frame.Protection {
	var all []frame.Protection
	add := func(name string, err error) {
		p := frame.Protection{Name: name}
		if err != nil {
			p.Off = err.Error()
		}
		all = append(all, p)
	}
	os.Clearenv()
	add("closed_descriptors", closeInherited())
	add("kernel_limits", limitResources())
	add("unprivileged_user", becomeNobody())
	add("no_capabilities", dropCapabilities())
	add("not_dumpable", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	add("landlock", restrictFiles())
	// Last, since it refuses most of what the others do.
	add("system_call_filter", filterSystemCalls())
	return all
}

// closeInherited closes every descriptor but the standard ones and those of the Go runtime's poller.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		switch target, err := os.Readlink("/proc/self/fd/" + e.Name()); {
		case err != nil: // the one of the directory itself, which is closed already
		case target == "anon_inode:[eventpoll]", target == "anon_inode:[eventfd]":
		default:
			_ = unix.Close(fd)
		}
	}
	return nil
}

// becomeNobody gives up the rights of a privileged user. A user in a namespace that does not know it has none.
func becomeNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("leave the groups: %w", err)
	}
	if err := syscall.Setresgid(nobody, nobody, nobody); err != nil {
		return fmt.Errorf("change the group: %w", err)
	}
	if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
		return fmt.Errorf("change the user: %w", err)
	}
	// The change of user has dropped this. It belongs to the thread, which the Go runtime keeps.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// dropCapabilities gives up what a change of user has not taken away, and fails if that does not work.
func dropCapabilities() error {
	if checkCapabilities() == nil {
		return nil
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	// What comes of it is looked at, not taken for granted.
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	return checkCapabilities()
}

// checkCapabilities fails if the thread has capabilities.
func checkCapabilities() error {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return err
	}
	_, rest, found := bytes.Cut(status, []byte("\nCapPrm:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if !found || len(bytes.Trim(line, "0")) > 0 {
		return fmt.Errorf("the process has the capabilities %s", line)
	}
	return nil
}

// landlockThreads is the version of the kernel's interface from which on it restricts all threads at once.
const landlockThreads = 8

// restrictFiles has the kernel's Landlock refuse all access to files, to the network and to processes outside. What is
// open already stays so.
func restrictFiles() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("the kernel offers none: %w", errno)
	}
	rules := landlockRules(int(version))
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("create a ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if version >= landlockThreads {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("give up new privileges: %w", err)
		}
		_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, unix.LANDLOCK_RESTRICT_SELF_TSYNC, 0)
	} else {
		_, _, errno = syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
		if errno == 0 {
			_, _, errno = syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
		}
		if errno == unix.ENOTSUP {
			return errors.New("with this kernel the executable must be built without cgo")
		}
	}
	if errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

// landlockRules returns everything that a version of the kernel's interface can refuse.
func landlockRules(version int) unix.LandlockRulesetAttr {
	rules := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	for _, since := range []struct {
		version int
		field   *uint64
		access  uint64
	}{
		{2, &rules.Handled_access_fs, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, &rules.Handled_access_fs, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{4, &rules.Handled_access_net, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
		{5, &rules.Handled_access_fs, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{6, &rules.Scoped, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	} {
		if version >= since.version {
			*since.field |= since.access
		}
	}
	return rules
}
