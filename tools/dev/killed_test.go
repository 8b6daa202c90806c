package dev

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// startSupervisor runs a stack of fakes under a supervisor of its own, and returns when it is ready.
func startSupervisor(t *testing.T, w *watcher, o Options, mode string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(struct{ Executable, StateDir, ReadyFile string }{o.Executable, o.StateDir, o.ReadyFile})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=supervisor", envOptions+"="+string(text), envWatch+"="+w.path,
		envMode+"="+mode)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			cmd.Process.Kill()
		}
		cmd.Wait()
	})
	var said strings.Builder
	for b := make([]byte, 4096); !strings.Contains(said.String(), "ready in"); {
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("the supervisor ended before it was ready: %v", err)
		}
		said.Write(b[:n])
	}
	return cmd
}

func TestChildrenDieWithAKilledSupervisor(t *testing.T) {
	t.Parallel()
	modes := map[string]string{"by the lifeline": "*=" + modeNoSignal, "by the kernel": "*=" + modeNoLife}
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if mode == "*="+modeNoLife && runtime.GOOS != "linux" {
				t.Skip("this system has no parent-death signal")
			}
			w := newWatcher(t)
			cmd := startSupervisor(t, w, fakeOptions(t, w), mode)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			gone := map[string]bool{}
			for len(gone) < len(names) {
				gone[w.wait(t, func(p report) bool { return p.kind == "gone" }).name] = true
			}
		})
	}
}

// A stack that was killed is followed by another on the same ports and directory, though its children may still hold
// them for a moment.
func TestRestartAfterAKilledSupervisor(t *testing.T) {
	t.Parallel()
	w := newWatcher(t)
	o := fakeOptions(t, w)
	cmd := startSupervisor(t, w, o, nameWorker+"="+modeStubborn)
	before := readReady(t, o.ReadyFile)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Wait()
	var once sync.Once
	r := start(t, func(n *Options) {
		n.StateDir, n.ReadyFile = o.StateDir, o.ReadyFile
		n.Port = portOf(t, before.MCPURL)
		n.Stderr = writerFunc(func(line string) {
			if strings.Contains(line, "waiting for the processes of a killed tandem dev") {
				once.Do(func() { syscall.Kill(before.Pids[nameWorker], syscall.SIGKILL) })
			}
		})
	})
	if after, _ := r.untilReady(t); after.MCPURL != before.MCPURL || after.Pid == before.Pid {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// writerFunc is a writer that hands on what is written.
type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) { f(string(p)); return len(p), nil }

// portOf returns the port of a URL.
func portOf(t *testing.T, url string) int {
	t.Helper()
	_, rest, _ := strings.Cut(url, "://")
	rest, _, _ = strings.Cut(rest, "/")
	_, text, err := net.SplitHostPort(rest)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
