package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// EnvReadyFile names a ready file of a stack that is already up; with it set, no stack is started.
const EnvReadyFile = "TANDEM_E2E_READY_FILE"

// The timeouts of the application that the tests run with.
const (
	SessionTimeout = 3 * time.Second
	// PausedTimeout is longer than any test keeps a call waiting for its approval, however slow the machine is.
	PausedTimeout = 20 * time.Minute
)

// Ready is the content of the ready file.
type Ready struct {
	MCPURL       string         `json:"mcp_url"`
	APIURL       string         `json:"api_url"`
	AuthURL      string         `json:"auth_url"`
	DashboardURL string         `json:"dashboard_url"`
	WorkerURL    string         `json:"worker_url"`
	StateDir     string         `json:"state_dir"`
	PIDs         map[string]int `json:"pids"`
	// Workers are the origins of all Workers by name; JoinedPID is the supervisor's whose router the stack uses.
	Workers   map[string]string `json:"workers"`
	JoinedPID int               `json:"joined_pid"`
}

// Stack is a running stack.
type Stack struct {
	readyFile string
	cmd       *exec.Cmd // nil when the stack is not ours
	exited    chan struct{}
	log       *tail
}

// Options say how Start starts a stack.
type Options struct {
	// Binary is the tandem executable.
	Binary string
	// Args are further flags of `tandem dev`.
	Args []string
	// Env are further variables, NAME=value.
	Env []string
	// StateDir is kept between starts; empty means --ephemeral.
	StateDir string
	// TestClock starts the stack with a clock that Advance moves, and with the default timeouts.
	TestClock bool
}

// Attach returns the stack that EnvReadyFile names, if it is set.
func Attach() (*Stack, bool) {
	file, ok := os.LookupEnv(EnvReadyFile)
	return &Stack{readyFile: file, log: &tail{}}, ok && file != ""
}

// Build builds the tandem executable into dir and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "tandem")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/tandem-do/tandem/cmd/tandem")
	// As it is meant to be: static, which the sandbox's Landlock needs on most kernels.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tandem: %w\n%s", err, out)
	}
	return binary, nil
}

// Start starts a stack on free ports and waits until it is ready.
func Start(ctx context.Context, o Options) (*Stack, error) {
	dir, err := os.MkdirTemp("", "tandem-e2e-")
	if err != nil {
		return nil, err
	}
	s := &Stack{readyFile: filepath.Join(dir, "ready.json"), exited: make(chan struct{}), log: &tail{}}
	args := []string{"dev", "--port", "0", "--dashboard-port", "0", "--auth-port", "0", "--ready-file", s.readyFile}
	if o.StateDir == "" {
		args = append(args, "--ephemeral")
	} else {
		args = append(args, "--state-dir", o.StateDir)
	}
	if o.TestClock {
		args = append(args, "--test-clock")
	}
	s.cmd = exec.Command(o.Binary, append(args, o.Args...)...)
	s.cmd.Dir = dir
	s.cmd.Env = os.Environ()
	if !o.TestClock {
		s.cmd.Env = append(s.cmd.Env,
			fmt.Sprintf("MCP_SESSION_TIMEOUT_MS=%d", SessionTimeout.Milliseconds()),
			fmt.Sprintf("MCP_PAUSED_SESSION_IDLE_TIMEOUT_MS=%d", PausedTimeout.Milliseconds()))
	}
	s.cmd.Env = append(s.cmd.Env, o.Env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start tandem: %w", err)
	}
	go func() {
		s.cmd.Wait() //nolint:errcheck // the exit is what is waited for; ExitCode tells how
		close(s.exited)
	}()
	if _, err := s.WaitReady(ctx, func(Ready) bool { return true }); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%w\n%s", err, s.Log())
	}
	return s, nil
}

// Ready reads the ready file.
func (s *Stack) Ready() (Ready, error) {
	var r Ready
	data, err := os.ReadFile(s.readyFile)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

// WaitReady polls the ready file until it says what is wanted.
func (s *Stack) WaitReady(ctx context.Context, want func(Ready) bool) (Ready, error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if r, err := s.Ready(); err == nil && want(r) {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return Ready{}, fmt.Errorf("waiting for the ready file: %w", ctx.Err())
		case <-s.exited:
			return Ready{}, errors.New("tandem dev has exited")
		case <-ticker.C:
		}
	}
}

// MustReady is Ready for a test.
func (s *Stack) MustReady(t T) Ready {
	t.Helper()
	r, err := s.Ready()
	if err != nil {
		t.Fatalf("ready file: %v", err)
	}
	return r
}

// Kill kills one process of the stack with SIGKILL and waits until its successor is ready.
func (s *Stack) Kill(t T, process string) {
	t.Helper()
	before := s.MustReady(t)
	pid, ok := before.PIDs[process]
	if !ok {
		t.Fatalf("the ready file names no process %q: %v", process, before.PIDs)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %s: %v", process, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	after, err := s.WaitReady(ctx, func(r Ready) bool { return r.PIDs[process] != pid && r.PIDs[process] != 0 })
	if err != nil {
		t.Fatalf("after kill -9 of %s: %v\n%s", process, err, s.Log())
	}
	for name, was := range before.PIDs {
		if name != process && after.PIDs[name] != was {
			t.Errorf("kill -9 of %s restarted %s as well", process, name)
		}
	}
}

// Owned reports whether this test run has started the stack.
func (s *Stack) Owned() bool { return s.cmd != nil }

// Signal sends a signal to the supervisor.
func (s *Stack) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// PID returns the supervisor's process id.
func (s *Stack) PID() int { return s.cmd.Process.Pid }

// Exited is closed when the supervisor has ended.
func (s *Stack) Exited() <-chan struct{} { return s.exited }

// ExitCode returns the supervisor's exit code, once it has ended.
func (s *Stack) ExitCode() int { return s.cmd.ProcessState.ExitCode() }

// Stop ends a stack that this test run has started: drained, or killed after a minute.
func (s *Stack) Stop() {
	if s.cmd == nil {
		return
	}
	defer os.RemoveAll(filepath.Dir(s.readyFile))
	s.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended already
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		s.Signal(syscall.SIGKILL) //nolint:errcheck // as above
		<-s.exited
	}
}

// Log returns the end of what the stack has printed.
func (s *Stack) Log() string { return s.log.String() }

// tail keeps the last 64 KiB that were written to it.
type tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 64<<10; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// Response is an HTTP response with its body read to the end.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request and reads the response to its end, within a minute.
func Do(t T, method, url string, header map[string]string, body []byte) Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute) // cleanups call it too
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", method, url, err)
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(data)}
}
