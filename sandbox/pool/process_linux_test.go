package pool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-do/tandem/sandbox/frame"
)

// TestSeparationGivesWay holds that children are kept apart by as much as the machine allows, and that an error of another
// kind is not taken for its refusal.
func TestSeparationGivesWay(t *testing.T) {
	t.Parallel()
	first := separation{flags: ownNamespaces}
	second, ok := first.next(fmt.Errorf("start: %w", syscall.EPERM))
	if !ok || second.flags != ownNamespaces|syscall.CLONE_NEWUSER || second.off != "" {
		t.Errorf("the second is %+v, %v", second, ok)
	}
	third, ok := second.next(syscall.ENOSPC)
	if !ok || third.flags != 0 || !strings.Contains(third.off, "no space") {
		t.Errorf("the third is %+v, %v", third, ok)
	}
	if _, ok := third.next(syscall.EPERM); ok {
		t.Error("there is a fourth")
	}
	if _, ok := first.next(syscall.ENOENT); ok {
		t.Error("a missing executable is taken for a refusal")
	}
}

// TestNamespaces holds that a child has namespaces of its own where it says so, and runs as an unprivileged user.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	p := newPool(t, testOptions(t))
	x, err := p.Start(t.Context(), testProgram("return tools.a()"))
	if err != nil {
		t.Fatal(err)
	}
	pid := x.child.cmd.Process.Pid
	_, off := sortProtections(x.child.protections)
	_, err = x.Run(t.Context(), func(c *frame.Call) error {
		for _, name := range []string{"net", "pid", "ipc", "uts"} {
			mine, err := os.Readlink(filepath.Join("/proc/self/ns", name))
			if err != nil {
				return err
			}
			its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
			if err != nil {
				t.Skipf("cannot look at the child: %v", err) // it is not dumpable, and the test not privileged
			}
			if its == mine && !strings.Contains(strings.Join(off, " "), "own_") {
				t.Errorf("the child shares the namespace %s", its)
			}
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return err
		}
		if strings.Contains(string(status), "\nUid:\t0\t") && !strings.Contains(strings.Join(off, " "), "unprivileged_user") {
			t.Error("the child runs as root")
		}
		x.Settle(&frame.Result{CallID: c.CallID, Value: []byte("1")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
