package pool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// TestYield holds that a program that computes for long yields to others, and that one that waits does not.
func TestYield(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes = 1
	p := newPool(t, o)
	for _, tc := range []struct {
		name, code string
		nice       int
	}{
		{"waits", "await new Promise(r => setTimeout(r, 1500)); await tools.a()", 0},
		{"computes", "for (;;) { await tools.a(); for (let i = 0; i < 1e5; i++); }", 10},
	} {
		program := testProgram(tc.code)
		program.WallClock, program.Limits.CPU = 20*time.Second, 20*time.Second
		x, err := p.Start(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		pid, got := x.child.cmd.Process.Pid, 0
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		_, _ = x.Run(ctx, func(c *frame.Call) error {
			raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid)
			if got = 20 - raw; err != nil || got == tc.nice {
				return errors.New("that is all")
			}
			x.Settle(&frame.Result{CallID: c.CallID, Value: []byte("1")})
			return nil
		})
		cancel()
		if got != tc.nice {
			t.Errorf("a program that %s has the nice value %d, want %d", tc.name, got, tc.nice)
		}
	}
}
