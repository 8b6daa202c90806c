package harness

import (
	"context"
	"os/exec"
	"strings"
)

// Schedules returns what is kept of a Worker's schedules. command makes commands of tandem; where says which objects, as the
// flags of `tandem objects` do.
func Schedules(command func(args ...string) *exec.Cmd, worker string, where ...string) (string, error) {
	args := append([]string{"objects", "show", "@tandem-Cron", "--name", worker}, where...)
	out, err := command(args...).CombinedOutput()
	return string(out), err
}

// AwaitSchedule waits until a Worker's schedule is kept, for at most two minutes: a process tells its schedules once it
// serves. The other arguments are those of Schedules.
func AwaitSchedule(t T, command func(args ...string) *exec.Cmd, worker, schedule string, where ...string) {
	t.Helper()
	awaitOutput(t, "the schedule "+schedule+" was not told",
		func() (string, error) { return Schedules(command, worker, where...) },
		func(out string) bool { return strings.Contains(out, schedule) })
}

// AwaitSchedule waits until a Worker's schedule is kept by the stack.
func (s *Stack) AwaitSchedule(t T, worker, schedule string) {
	t.Helper()
	command := func(args ...string) *exec.Cmd {
		return exec.CommandContext(context.WithoutCancel(t.Context()), s.cmd.Path, args...)
	}
	AwaitSchedule(t, command, worker, schedule, "--state-dir", s.MustReady(t).StateDir)
}
