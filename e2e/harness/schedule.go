package harness

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// AwaitSchedule waits until what is kept of a Worker's schedules has a text, for at most two minutes: a process tells its
// schedules once it serves. command makes commands of tandem; where says which objects, as the flags of `tandem objects` do.
func AwaitSchedule(t T, command func(args ...string) *exec.Cmd, worker, text string, where ...string) {
	t.Helper()
	args := append([]string{"objects", "show", "@tandem-Cron", "--name", worker}, where...)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); ; <-tick.C {
		out, err := command(args...).CombinedOutput()
		if err == nil && strings.Contains(string(out), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the schedules of %s lack %s: %v\n%s", worker, text, err, out)
		}
	}
}

// AwaitSchedule waits until a Worker's schedule is kept by the stack.
func (s *Stack) AwaitSchedule(t T, worker, schedule string) {
	t.Helper()
	command := func(args ...string) *exec.Cmd {
		return exec.CommandContext(context.WithoutCancel(t.Context()), s.cmd.Path, args...)
	}
	AwaitSchedule(t, command, worker, schedule, "--state-dir", s.MustReady(t).StateDir)
}
