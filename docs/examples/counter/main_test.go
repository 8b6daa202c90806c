package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binaries is where TestMain has built counter and tandem.
var binaries string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "counter-")
	if err == nil {
		defer os.RemoveAll(dir)
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", ".", "github.com/tandem-do/tandem/cmd/tandem")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		err = cmd.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		return 1
	}
	binaries = dir
	return m.Run()
}

// stack is a router, a host and a worker as real processes, on unix sockets.
type stack struct {
	t     *testing.T
	dir   string
	front *http.Client
}

func startStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{t: t, dir: t.TempDir()}
	s.start("tandem", "router", "--listen", s.socket("router"), "--state-dir", filepath.Join(s.dir, "router"))
	s.start("counter", "worker", "--listen", s.socket("worker"), "--router", s.socket("router"))
	s.front = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(s.socket("worker"), "unix:"))
		},
	}}
	t.Cleanup(s.front.CloseIdleConnections)
	return s
}

func (s *stack) socket(name string) string { return "unix:" + filepath.Join(s.dir, name+".sock") }

// start starts a process that ends with the test.
func (s *stack) start(binary string, args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(binaries, binary), args...)
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	})
	return cmd
}

func (s *stack) startHost() *exec.Cmd {
	s.t.Helper()
	return s.start("counter", "host", "--listen", s.socket("host"), "--router", s.socket("router"),
		"--data", filepath.Join(s.dir, "objects"))
}

// send is try until the host is reachable, for two minutes at most: on a slow machine a host takes longer to start than a
// call waits for it.
func (s *stack) send(method, path string) (code int, body string) {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if code, body = s.try(method, path); code != http.StatusServiceUnavailable {
			break
		}
	}
	return code, body
}

// try returns the status and the body of a response, waiting until the front answers at all.
func (s *stack) try(method, path string) (int, string) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := http.NewRequestWithContext(s.t.Context(), method, "http://counter"+path, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		resp, err := s.front.Do(r)
		if err == nil {
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				s.t.Fatal(err)
			}
			return resp.StatusCode, strings.TrimSpace(string(body))
		}
		select {
		case <-tick.C:
		case <-s.t.Context().Done():
			s.t.Fatal("the worker does not come up")
		}
	}
}

func (s *stack) want(method, path string, status int, body string) {
	s.t.Helper()
	if code, text := s.send(method, path); code != status || text != body {
		s.t.Fatalf("%s %s: got %d %q, want %d %q", method, path, code, text, status, body)
	}
}

// An increment that was acknowledged survives kill -9 of its host, and the next call finds the host that comes back.
// What was in memory only is gone.
func TestIncrementSurvivesKill(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	host := s.startHost()
	for n := 1; n <= 3; n++ {
		s.want("POST", "/counter/visits/increment", 200, fmt.Sprint(n))
		s.want("GET", "/ping/visits", 200, fmt.Sprint(n))
	}
	s.want("POST", "/counter/other/increment", 200, "1")
	host.Process.Kill()
	host.Wait()
	s.startHost()
	s.want("POST", "/counter/visits/increment", 200, "4")
	s.want("GET", "/ping/visits", 200, "1")
	s.want("GET", "/counter/other", 200, `{"value":1,"resets":0,"lateMs":0}`)
}

// An alarm that came due while its host was dead runs once the host is back.
func TestAlarmSurvivesKill(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	host := s.startHost()
	s.want("POST", "/counter/visits/increment", 200, "1")
	if code, body := s.send("POST", "/counter/visits/reset?in=0.2"); code != 200 {
		t.Fatalf("reset: %d %s", code, body)
	}
	host.Process.Kill()
	host.Wait()
	s.startHost()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		var status Status
		_, body := s.send("GET", "/counter/visits")
		if err := json.Unmarshal([]byte(body), &status); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if status.Resets == 0 {
			continue
		}
		if status.Resets != 1 || status.Value != 0 || status.LateMS < 0 {
			t.Fatalf("after the alarm: %s", body)
		}
		return
	}
}

// Bad requests and an object without a host get an answer that says what to do.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	s.want("POST", "/counter/visits/reset?in=soon", 400, "in must be a number of seconds, 0 to 86400")
	if code, body := s.try("GET", "/counter/visits"); code != 503 {
		t.Errorf("without a host: got %d %s, want 503", code, body)
	}
}
