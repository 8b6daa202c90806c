package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// binaries is where TestMain has built register and tandem.
var binaries string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "linear-")
	if err == nil {
		defer os.RemoveAll(dir)
		const module = "github.com/tandem-do/tandem/"
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", module+"docs/examples/register",
			module+"cmd/tandem")
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

// stack is a router, a worker and a host as real processes, on unix sockets.
type stack struct {
	t            *testing.T
	dir          string
	log          *os.File
	host, router *exec.Cmd
	front        *http.Client
}

func startStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{t: t, dir: t.TempDir()}
	var err error
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.log.Close()
		if text, err := os.ReadFile(s.log.Name()); err == nil && t.Failed() {
			t.Logf("the end of what the processes wrote:\n%s", text[max(0, len(text)-8<<10):])
		}
	})
	s.startRouter()
	s.start("register", "worker", "--listen", s.socket("worker"), "--router", s.socket("router"))
	s.startHost()
	s.front = &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: clients,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.dir, "worker.sock"))
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
	cmd.Stdout, cmd.Stderr = s.log, s.log
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

func (s *stack) startHost() {
	s.t.Helper()
	s.host = s.start("register", "host", "--listen", s.socket("host"), "--router", s.socket("router"),
		"--data", filepath.Join(s.dir, "objects"))
}

func (s *stack) startRouter() {
	s.t.Helper()
	s.router = s.start("tandem", "router", "--listen", s.socket("router"), "--state-dir", filepath.Join(s.dir, "router"))
}

// killHost kills the host in the middle of whatever it does, and starts it anew.
func (s *stack) killHost() {
	s.t.Helper()
	s.kill(s.host)
	s.startHost()
}

// killRouter does the same to the router. The host serves on meanwhile.
func (s *stack) killRouter() {
	s.t.Helper()
	s.kill(s.router)
	s.startRouter()
}

// kill kills a process with SIGKILL.
func (s *stack) kill(cmd *exec.Cmd) {
	s.t.Helper()
	cmd.Process.Kill()
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		s.t.Fatalf("%s ended before it was killed: %v", cmd.Args, err)
	}
}

// outcomes of a call, besides its result.
const (
	notRun  = "not run"
	unknown = "unknown"
)

// send calls a method and returns its result, or why there is none.
func (s *stack) send(ctx context.Context, object string, c call) (json.RawMessage, string) {
	args := map[string]any{
		"write":         map[string]int{"cell": c.Cell, "value": c.Value},
		"compareAndSet": map[string]int{"cell": c.Cell, "value": c.Value, "old": c.Old},
		"swap":          map[string]int{"from": c.Cell, "to": c.To},
		"fill":          c.Value, "tryFill": c.Value,
	}
	body, err := json.Marshal(args[c.Method])
	if err != nil {
		s.t.Error(err)
		return nil, notRun
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	url := "http://register/" + object + "/" + c.Method
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return nil, notRun
	}
	resp, err := s.front.Do(r)
	if err != nil {
		return nil, unknown
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, unknown
	}
	if resp.StatusCode == http.StatusOK {
		return answer, ""
	}
	var failure struct{ Reason, Message string }
	if err := json.Unmarshal(answer, &failure); err != nil {
		s.t.Errorf("%s: %d %s", c.Method, resp.StatusCode, answer)
		return nil, unknown
	}
	switch failure.Reason {
	case "ERROR_REASON_UNPLACED":
		return nil, notRun
	case "ERROR_REASON_DISCONNECTED", "ERROR_REASON_CANCELED", "ERROR_REASON_DEADLINE":
		return nil, unknown
	}
	s.t.Errorf("%s: a kill does not explain this error: %s", c.Method, answer)
	return nil, unknown
}

// pause waits, but for no longer than ctx lives.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
