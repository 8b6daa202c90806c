//go:build linux && (amd64 || arm64)

package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// attempt is something that a child which was taken over might try.
type attempt struct {
	name string
	try  func() error
}

// breakouts are the attempts. Where the processes of these tests may do everything, the attempts must still do no harm:
// those that would are made with arguments that the kernel refuses as invalid once it has let the call through.
func breakouts() []attempt {
	parent := os.Getppid()
	open := func(path string) error {
		f, err := os.Open(path)
		if err == nil {
			_ = f.Close()
		}
		return err
	}
	raw := func(number uintptr, a ...uintptr) error {
		a = append(a, 0, 0, 0, 0, 0, 0)
		if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
	return []attempt{
		// First, before something else has its number.
		{"use an inherited descriptor", func() error { return raw(unix.SYS_FSTAT, 3, uintptr(unsafe.Pointer(&unix.Stat_t{}))) }},
		{"open a file", func() error { return open("/etc/passwd") }},
		{"read a directory", func() error { return open("/") }},
		{"create a file", func() error { return os.WriteFile(os.TempDir()+"/tandem-confined", nil, 0o600) }},
		{"remove a file", func() error { return os.Remove(os.TempDir() + "/tandem-confined") }},
		{"look at a file", func() error { _, err := os.Stat("/etc/passwd"); return err }},
		{"open a file on another thread", func() error {
			other := make(chan error)
			go func() { other <- open("/etc/passwd") }()
			return <-other
		}},
		{"read the parent's environment", func() error { return open(fmt.Sprintf("/proc/%d/environ", parent)) }},
		{"read the parent's memory", func() error { return open(fmt.Sprintf("/proc/%d/mem", parent)) }},
		{"read its own first environment", func() error { return open("/proc/self/environ") }},
		{"listen", func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				_ = l.Close()
			}
			return err
		}},
		{"make a socket", func() error { return raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM) }},
		{"start a process", func() error { return exec.Command("/bin/true").Run() }},
		{"execute in place", func() error { return unix.Exec("/does/not/exist", nil, nil) }},
		{"fork", func() error {
			pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			if pid == 0 {
				_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			return nil
		}},
		{"signal the parent", func() error { return unix.Kill(parent, 0) }},
		{"signal a thread of the parent", func() error { return unix.Tgkill(parent, parent, 0) }},
		{"trace the parent", func() error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(parent), 1) }},
		{"write to the parent's memory", func() error {
			_, err := unix.ProcessVMWritev(parent, []unix.Iovec{{}}, []unix.RemoteIovec{{}}, 0)
			return err
		}},
		{"look at the parent's limits", func() error {
			return unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
		}},
		{"raise its own limits", func() error {
			return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 17, Max: 17})
		}},
		{"become root again", func() error { return raw(unix.SYS_SETUID, 0) }},
		{"get a namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"mount", func() error { return unix.Mount("none", "/does/not/exist", "tmpfs", 0, "") }},
		{"be dumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
		{"run machine code", func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		}},
		{"take a gigabyte", func() error {
			_, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		}},
		{"keep a file in memory", func() error { _, err := unix.MemfdCreate("x", 0); return err }},
		{"queue calls to the kernel", func() error {
			var parameters [120]byte
			return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)))
		}},
		{"load a program into the kernel", func() error { return raw(unix.SYS_BPF) }},
		{"use the kernel's keys", func() error { return raw(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, 1<<32-3, 1) }},
		{"read a secret in the environment", func() error {
			if os.Getenv("SECRET") == "" {
				return unix.EPERM
			}
			return nil
		}},
	}
}

// refused reports whether the kernel did not let a call through. One that it let through may have failed all the same.
func refused(err error) bool {
	for _, errno := range []error{unix.EPERM, unix.EACCES, unix.EBADF, unix.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// confinement is what a process says of itself after it was confined.
type confinement struct {
	// Off has the protections that are off, with the reason.
	Off map[string]string
	// Worked are the attempts that worked.
	Worked []string
}

// confined is the body of the process that the tests look at: it sets up one protection, or all, and tries to break out.
func confined(which string) {
	// Before anything else, while that is allowed.
	attempts := breakouts()
	var report confinement
	report.Off = map[string]string{}
	base, err := dataBytes()
	if err != nil {
		report.Off["memory is not measured"] = err.Error()
	}
	if which == "all" {
		for _, p := range protect() {
			if p.Off != "" {
				report.Off[p.Name] = p.Off
			}
		}
		armData(base + 64<<20)
	} else if err := map[string]func() error{
		"landlock": restrictFiles, "filter": filterSystemCalls, "user": becomeNobody, "descriptors": closeInherited,
	}[which](); err != nil {
		report.Off[which] = err.Error()
	}
	for _, a := range attempts {
		if !refused(a.try()) {
			report.Worked = append(report.Worked, a.name)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(report)
}

// confineProcess runs a process that protects the machine as it is told.
func confineProcess(t *testing.T, which string) confinement {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	cmd := exec.Command(exe, confinedArgument, which)
	cmd.Env = []string{"SECRET=1"}
	cmd.ExtraFiles = []*os.File{secret}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var c confinement
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("report %q: %v", out, err)
	}
	return c
}

// TestConfined holds that a child that was taken over gets at nothing.
func TestConfined(t *testing.T) {
	t.Parallel()
	c := confineProcess(t, "all")
	if diff := cmp.Diff([]string(nil), c.Worked); diff != "" {
		t.Errorf("what worked (-want +got):\n%s", diff)
	}
	for name, why := range c.Off {
		if name != "landlock" || !strings.Contains(why, "built without cgo") && !strings.Contains(why, "offers none") {
			t.Errorf("%s is off: %s", name, why)
		}
	}
}

// TestEachProtection holds that each of those that overlap refuses its part alone, so that the others are a second wall.
func TestEachProtection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		which   string
		refuses []string
	}{
		{"filter", []string{
			"open a file", "open a file on another thread", "create a file", "remove a file", "look at a file", "listen",
			"make a socket", "start a process", "fork", "signal the parent", "trace the parent", "run machine code",
			"read the parent's memory", "keep a file in memory", "look at the parent's limits",
		}},
		{"landlock", []string{
			"open a file", "open a file on another thread", "read a directory", "create a file", "start a process",
			"read the parent's memory", "signal the parent",
		}},
		{"user", []string{"become root again", "read the parent's environment"}},
		{"descriptors", []string{"use an inherited descriptor"}},
	} {
		t.Run(tc.which, func(t *testing.T) {
			t.Parallel()
			c := confineProcess(t, tc.which)
			if why := c.Off[tc.which]; why != "" {
				t.Skipf("not on this machine: %s", why)
			}
			for _, name := range tc.refuses {
				if slices.Contains(c.Worked, name) {
					t.Errorf("it lets through: %s", name)
				}
			}
		})
	}
}

// TestReadySaysProtections holds that a child tells what stands between its programs and the machine.
func TestReadySaysProtections(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range startChild(t).protections {
		names = append(names, p.Name)
	}
	want := []string{
		"closed_descriptors", "kernel_limits", "unprivileged_user", "no_capabilities", "not_dumpable", "landlock",
		"system_call_filter",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("protections (-want +got):\n%s", diff)
	}
}
