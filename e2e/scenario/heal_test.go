package scenario

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// Any one process can be killed: the others go on, it comes back, and the session that was open before still works.
func TestKillEachProcess(t *testing.T) {
	t.Parallel()
	s, node := start(t, harness.Options{}), harness.StartNode(t)
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	opts.SessionID = first.SessionID
	for _, process := range []string{"sandbox", "router", "traces", "auth", "worker", "durableobject"} {
		s.Kill(t, process)
		expectWorking(t, node.Connect(t, opts), first.SessionID)
	}
	// A new account needs all of them.
	opts.SessionID, opts.Token = "", s.NewIdentity(t).Token
	if r := node.Connect(t, opts).Execute(t, "return 6 * 7"); r.Text != "42" {
		t.Errorf("execute gave %+v", r)
	}
}

// A process that dies while programs run there is no hang: the call ends, with a value or an error that says so.
func TestKillSandboxDuringExecution(t *testing.T) {
	t.Parallel()
	s, node := start(t, harness.Options{}), harness.StartNode(t)
	token := s.NewIdentity(t).Token
	c := node.Connect(t, harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: token})
	done := make(chan harness.ToolResult, 1)
	go func() {
		code := makes("begun") + `await new Promise(r => setTimeout(r, 240000))`
		r, err := c.CallTool("execute", map[string]any{"code": code})
		if err != nil {
			r = harness.ToolResult{IsError: true, Text: err.Error()}
		}
		done <- r
	}()
	headers := map[string]string{"Authorization": "Bearer " + token}
	for deadline := time.Now().Add(time.Minute); ; pause(t, 50*time.Millisecond) { // until the program runs
		made := harness.Do(t, "GET", s.MustReady(t).APIURL+"/api/policies", headers, nil)
		if strings.Contains(made.Body, "made.begun") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program does not begin: %d %s", made.Status, made.Body)
		}
	}
	s.Kill(t, "sandbox")
	timer := time.NewTimer(50 * time.Second) // the client itself gives up after a minute
	defer timer.Stop()
	select {
	case r := <-done:
		if !r.IsError || !strings.Contains(r.Text, "Error: ") {
			t.Errorf("the execution ended as %+v", r)
		}
	case <-timer.C:
		t.Fatal("the execution hangs")
	}
	if r := c.Execute(t, "return 6 * 7"); r.Text != "42" {
		t.Errorf("the next execution gave %+v", r)
	}
}

// The children do not outlive their parent, however it ends.
func TestChildrenDieWithParent(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{
		"SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGINT": syscall.SIGINT, "SIGKILL": syscall.SIGKILL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sig) {
				t.Skip("these tests run under nohup, and so does the stack")
			}
			s := start(t, harness.Options{StateDir: t.TempDir()})
			ready := s.MustReady(t)
			if err := s.Signal(sig); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			select {
			case <-s.Exited():
			case <-ctx.Done():
				t.Fatal("the supervisor does not end")
			}
			for process, pid := range ready.PIDs {
				if err := waitGone(ctx, pid); err != nil {
					t.Errorf("%s (%d) lives on: %v", process, pid, err)
				}
			}
		})
	}
}

func waitGone(ctx context.Context, pid int) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for syscall.Kill(pid, 0) == nil {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return nil // dead, and waiting for a parent to collect it
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// State is kept across a restart of everything: session, account and signing key.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := harness.StartNode(t)
	s := start(t, harness.Options{StateDir: dir})
	opts := harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token}
	first := node.Connect(t, opts)
	first.Execute(t, "return 1")
	port := portOf(t, opts.URL)
	auth := portOf(t, s.MustReady(t).AuthURL)
	s.Stop()

	again := start(t, harness.Options{StateDir: dir, Args: []string{"--port", port, "--auth-port", auth}})
	if again.MustReady(t).MCPURL != opts.URL {
		t.Fatalf("endpoint moved from %s to %s", opts.URL, again.MustReady(t).MCPURL)
	}
	opts.SessionID = first.SessionID
	expectWorking(t, node.Connect(t, opts), first.SessionID)
}

// What cannot work is refused at start, with the name of what is wrong.
func TestRefusedAtStart(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{StateDir: t.TempDir()})
	ready := s.MustReady(t)
	foreign := t.TempDir()
	if err := os.WriteFile(foreign+"/notes.txt", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{"--port", "0", "--dashboard-port", "0", "--auth-port", "0"}
	for name, tt := range map[string]struct {
		args []string
		env  string
		want []string
	}{
		"busy port":      {args: []string{"--ephemeral", "--port", portOf(t, ready.MCPURL)}, want: []string{portOf(t, ready.MCPURL), "--port"}},
		"state in use":   {args: append(free, "--state-dir", ready.StateDir), want: []string{strconv.Itoa(s.PID())}},
		"foreign folder": {args: append(free, "--state-dir", foreign), want: []string{foreign}},
		"unknown flag":   {args: []string{"--ephemerel"}, want: []string{"--ephemeral"}},
		"port range":     {args: []string{"--port", "70000"}, want: []string{"port", "65535"}},
		"timeout range":  {args: append(free, "--ephemeral"), env: "MCP_SESSION_TIMEOUT_MS=0", want: []string{"MCP_SESSION_TIMEOUT_MS"}},
		"timeout not a number": {args: append(free, "--ephemeral"), env: "MCP_SESSION_TIMEOUT_MS=soon",
			want: []string{"MCP_SESSION_TIMEOUT_MS"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, shared.binary, append([]string{"dev"}, tt.args...)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), tt.env)
			out, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Fatalf("it was not refused: %v\n%s", err, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("it says nothing of %q:\n%s", want, out)
				}
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.ReadFile(foreign + "/notes.txt"); err != nil {
			t.Errorf("the foreign folder was touched: %v", err)
		}
		if r := harness.Do(t, "GET", ready.APIURL+"/healthz", nil, nil); r.Status != http.StatusOK {
			t.Errorf("the first stack was disturbed: %d", r.Status)
		}
	})
}
