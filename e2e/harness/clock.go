package harness

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// Advance moves the clock of a stack with Options.TestClock, by the command that people use, and returns when what became
// due is done.
func (s *Stack) Advance(t T, by time.Duration) {
	t.Helper()
	if out, err := s.Clock(t, "advance", by.String(), "--wait", "2m"); err != nil {
		t.Fatalf("advance the clock by %v: %v\n%s\n%s", by, err, out, s.Log())
	}
}

// Clock runs a command of `tandem clock` against the stack, and returns what it prints.
func (s *Stack) Clock(t T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args = append([]string{"clock", "--state-dir", s.MustReady(t).StateDir}, args...)
	out, err := exec.CommandContext(ctx, s.cmd.Path, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
