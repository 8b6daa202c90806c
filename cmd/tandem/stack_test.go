package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandem-do/tandem/tools/dev"
)

// stack is a `tandem dev` with the real processes, all of them this test binary.
type stack struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	ready string
}

// startStack starts a stack on free ports and waits for the line that says ready.
func startStack(t *testing.T, args ...string) *stack {
	t.Helper()
	s := &stack{ready: filepath.Join(t.TempDir(), "ready.json")}
	s.cmd = exec.Command(os.Args[0], append([]string{
		"dev", "--port", "0", "--dashboard-port", "0", "--auth-port", "0", "--ready-file", s.ready}, args...)...)
	s.cmd.Stderr = t.Output()
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cmd.Process.Signal(syscall.SIGTERM) // an error means that the test has ended it
		s.cmd.Wait()
	})
	s.lines = bufio.NewScanner(out)
	for s.lines.Scan() {
		if strings.HasPrefix(s.lines.Text(), "ready in ") {
			t.Log(s.lines.Text())
			return s
		}
	}
	t.Fatalf("ended before it was ready: %v", s.cmd.Wait())
	return nil
}

// read reads the ready file.
func (s *stack) read(t *testing.T) dev.Ready {
	t.Helper()
	var r dev.Ready
	text, err := os.ReadFile(s.ready)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waitPid waits until the ready file names another process than pid.
func (s *stack) waitPid(t *testing.T, name string, pid int) dev.Ready {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if r := s.read(t); r.Pids[name] != pid {
			return r
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test ended first")
		}
	}
}

// status makes a request without authentication.
func status(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func TestRealStack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := startStack(t, "--state-dir", dir)
	first := s.read(t)
	if got := status(t, first.MCPURL); got != http.StatusUnauthorized {
		t.Errorf("MCP endpoint without a token: %d", got)
	}
	if got := status(t, first.DashboardURL+"/api/spans/search"); got != http.StatusOK {
		t.Errorf("span search: %d", got)
	}
	for name, pid := range first.Pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		before := s.read(t)
		after := s.waitPid(t, name, pid)
		for other, pid := range after.Pids {
			if other != name && before.Pids[other] != pid {
				t.Errorf("a kill of %s restarted %s", name, other)
			}
		}
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if _, err := os.Stat(s.ready); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ready file is still there: %v", err)
	}
	again := startStack(t, "--state-dir", dir)
	if got := status(t, again.read(t).MCPURL); got != http.StatusUnauthorized {
		t.Errorf("MCP endpoint after a restart: %d", got)
	}
}

// A killed supervisor takes its children with it: their port can be listened on.
func TestRealStackDiesWithItsSupervisor(t *testing.T) {
	t.Parallel()
	s := startStack(t, "--state-dir", filepath.Join(t.TempDir(), "state"))
	r := s.read(t)
	s.cmd.Process.Kill()
	for _, url := range []string{r.MCPURL, r.AuthURL, r.DashboardURL, r.OTLPEndpoint} {
		address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			l, err := net.Listen("tcp", address)
			if err == nil {
				l.Close()
				break
			}
			select {
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatalf("%s is still served: %v", address, err)
			}
		}
	}
}
