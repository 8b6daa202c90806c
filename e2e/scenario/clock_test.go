package scenario

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// The defaults of the application, which a stack with a test clock has.
const (
	defaultSessionTimeout = 5 * time.Minute
	defaultPausedTimeout  = 9 * time.Minute
	defaultApprovalWindow = 4 * time.Minute
)

// disposals returns the spans of disposals of a session's runtime.
func disposals(t *testing.T, s *harness.Stack) []harness.Span {
	t.Helper()
	return s.SearchSpans(t, url.Values{"operation": {"mcp.session.idle_runtime_dispose"}})
}

// Scenario 3 with the true timeout and without waiting: a session whose runtime was idle for five minutes.
func TestClockResumeAfterIdle(t *testing.T) {
	t.Parallel()
	s, node := start(t, harness.Options{TestClock: true}), harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	first.Close(t)
	s.Advance(t, defaultSessionTimeout-2*time.Minute)
	opts.SessionID = first.SessionID
	if n := len(disposals(t, s)); n != 0 {
		t.Fatalf("%d runtimes were disposed of before their time", n)
	}
	s.Advance(t, 2*time.Minute+time.Second)
	waitDisposals(t, s, 1)
	expectWorking(t, node.Connect(t, opts), first.SessionID)
}

// waitDisposals waits until that many disposals are in the trace store.
func waitDisposals(t *testing.T, s *harness.Stack, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(disposals(t, s)) < want {
		select {
		case <-ctx.Done():
			t.Fatalf("%d disposals, want %d", len(disposals(t, s)), want)
		case <-tick.C:
		}
	}
}

// Scenario 6 with the true approval window: a pause is there to the end of its four minutes and expired after them.
func TestClockPauseExpires(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{TestClock: true}))
	lost, kept := g.pausedExecution(t), ""
	g.stack.Advance(t, defaultApprovalWindow-time.Minute)
	kept = g.pausedExecution(t)
	g.stack.Advance(t, time.Minute+time.Second)
	c := g.node.Connect(t, g.opts)
	r := c.Resume(t, lost, "accept")
	if !r.IsError || !strings.Contains(r.Text, "run the execute tool again") ||
		r.StructuredContent["status"] != "execution_expired" {
		t.Errorf("resume of an expired pause gave %+v", r)
	}
	expectResumed(t, c.Resume(t, kept, "accept"))
	expectResumed(t, c.Resume(t, pauseID(t, c.Execute(t, guardedCode)), "accept"))
}

// A paused execution keeps its session's runtime for longer than idleness would, as long as it can be approved.
func TestClockPausedSession(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{
		TestClock: true, Args: []string{"--approval-window", "1h"},
	}))
	id := g.pausedExecution(t)
	g.stack.Advance(t, defaultPausedTimeout-2*time.Minute)
	if n := len(disposals(t, g.stack)); n != 0 {
		t.Errorf("%d runtimes were disposed of while an execution was paused", n)
	}
	g.stack.Advance(t, 2*time.Minute+time.Second)
	waitDisposals(t, g.stack, 1)
	r := g.node.Connect(t, g.opts).Resume(t, id, "accept")
	if r.StructuredContent["status"] != "execution_expired" {
		t.Errorf("the execution outlived its session's runtime: %+v", r)
	}
}

// What is kept of a settled execution: its outcome for ten minutes, that it settled for a day, then nothing.
func TestClockRetention(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, start(t, harness.Options{TestClock: true, Args: []string{"--session-timeout", "24h"}}))
	id := g.pausedExecution(t)
	c := g.node.Connect(t, g.opts)
	first := c.Resume(t, id, "accept")
	expectResumed(t, first)
	for _, step := range []struct {
		by   time.Duration
		want string
	}{
		{by: 9 * time.Minute},
		{by: 2 * time.Minute, want: "execution_already_settled"},
		{by: 23 * time.Hour, want: "execution_already_settled"},
		{by: time.Hour, want: "execution_not_found"},
	} {
		g.stack.Advance(t, step.by)
		r := c.Resume(t, id, "accept")
		if status := r.StructuredContent["status"]; step.want == "" && r.Text != first.Text || step.want != "" && status != step.want {
			t.Errorf("after %v more: %v %q, want %q", step.by, status, r.Text, step.want)
		}
	}
}

// The clock outlives its host and its stack, and such a directory is refused by real time.
func TestClockRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, harness.Options{TestClock: true, StateDir: dir})
	expectAhead := func(s *harness.Stack) {
		t.Helper()
		if out, err := s.Clock(t, "show"); err != nil || !strings.HasSuffix(out, ", 48h ahead of real time") {
			t.Errorf("clock show: %q, %v", out, err)
		}
	}
	s.Advance(t, 48*time.Hour)
	expectAhead(s)
	s.Kill(t, "durableobject")
	expectAhead(s)
	s.Stop()
	expectAhead(start(t, harness.Options{TestClock: true, StateDir: dir + "/."}))
}

// What the clock refuses, each with the reason.
func TestClockRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, harness.Options{TestClock: true, StateDir: dir})
	s.Advance(t, 90*time.Minute)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"backwards":   {[]string{"advance", "-1h"}, "backwards"},
		"too far":     {[]string{"advance", "90000h"}, "87600h"},
		"no duration": {[]string{"advance", "tomorrow"}, "tomorrow"},
	} {
		if out, err := s.Clock(t, tt.args...); err == nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
	if out, err := shared.stack.Clock(t, "advance", "1h"); err == nil || !strings.Contains(out, "--test-clock") {
		t.Errorf("a stack by real time: %v, %s", err, out)
	}
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shared.binary,
		"dev", "--state-dir", dir, "--port", "0", "--dashboard-port", "0", "--auth-port", "0")
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), "1h30m0s ahead") {
		t.Errorf("by real time: %v\n%s", err, out)
	}
}
