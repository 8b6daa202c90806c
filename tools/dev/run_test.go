package dev

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// names are the processes of a stack.
var names = []string{nameTraces, nameRouter, nameSandbox, nameAuth, nameHost, nameWorker}

// at returns the index of the first event of a kind, -1 for none.
func at(events []event, name string, kind eventKind) int {
	return slices.IndexFunc(events, func(e event) bool { return e.name == name && e.kind == kind })
}

func TestStartOrderReadyAndDrainOrder(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	ready, seen := r.untilReady(t)

	for _, before := range [][2]string{
		{nameRouter, nameHost}, {nameSandbox, nameHost}, {nameHost, nameWorker}, {nameAuth, nameWorker},
		{nameTraces, nameWorker},
	} {
		if h, s := at(seen, before[0], eventHealthy), at(seen, before[1], eventStarted); h < 0 || s < 0 || h > s {
			t.Errorf("%s became healthy at event %d, %s was started at %d", before[0], h, before[1], s)
		}
	}
	if len(ready.Pids) != len(names) || ready.Pid != os.Getpid() || ready.StateDir != r.o.StateDir {
		t.Errorf("ready file: %+v", ready)
	}
	for _, url := range []string{ready.MCPURL, ready.APIURL, ready.AuthURL, ready.DashboardURL} {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("ready file: URL %q", url)
		}
	}
	table := strings.Split(strings.TrimSpace(r.stdout.String()), "\n")
	if last := table[len(table)-1]; !strings.HasPrefix(last, "ready in ") || !strings.Contains(last, ready.MCPURL) {
		t.Errorf("last line of the table: %q", last)
	}
	for _, want := range []string{
		"claude mcp add --transport http tandem " + ready.MCPURL, ready.StateDir, ready.DashboardURL,
		"npx @modelcontextprotocol/inspector", `{"mcpServers": {"tandem": {"url": "` + ready.MCPURL + `"}}}`,
	} {
		if !strings.Contains(r.stdout.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, r.stdout)
		}
	}

	events, err := r.drain(t)
	if err != nil {
		t.Fatal(err)
	}
	var stopped []string
	for _, e := range events {
		if e.kind == eventStopped {
			stopped = append(stopped, e.name)
		}
	}
	if len(stopped) != 6 || stopped[0] != nameWorker || stopped[1] != nameHost || stopped[5] != nameTraces {
		t.Errorf("drain order: %v", stopped)
	}
	if log := r.stderr.String(); !strings.Contains(log, "worker        | worker says hello\n") {
		t.Errorf("no aligned log line of the worker in:\n%s", log)
	}
	if left := dirNames(t, r.o.StateDir); !slices.Equal(left, []string{formatFile, lockFile}) {
		t.Errorf("left in the state directory: %v", left)
	}
	if _, err := os.Stat(r.o.ReadyFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ready file is still there: %v", err)
	}
}

// dirNames lists a directory.
func dirNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestKilledChildIsRestartedAlone(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	first, _ := r.untilReady(t)
	for _, name := range names {
		before := readReady(t, r.o.ReadyFile)
		syscall.Kill(before.Pids[name], syscall.SIGKILL)
		after, seen := r.untilReady(t)
		for _, other := range names {
			if same := before.Pids[other] == after.Pids[other]; same == (other == name) {
				t.Errorf("after a kill of %s: %s had pid %d, has %d", name, other, before.Pids[other], after.Pids[other])
			}
		}
		if e := seen[0]; e.kind != eventEnded || e.name != name || !strings.Contains(e.err.Error(), "killed") {
			t.Errorf("after a kill of %s: first event %+v", name, e)
		}
	}
	if last := readReady(t, r.o.ReadyFile); last.MCPURL != first.MCPURL {
		t.Errorf("the address moved from %s to %s", first.MCPURL, last.MCPURL)
	}
	if n := strings.Count(r.stdout.String(), "ready in"); n != 1 {
		t.Errorf("the table was printed %d times", n)
	}
}

// A client that connects while the worker is down waits for the next one.
func TestConnectionsWaitForARestart(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	ready, _ := r.untilReady(t)
	origin := strings.TrimSuffix(ready.MCPURL, "/mcp")
	syscall.Kill(ready.Pids[nameWorker], syscall.SIGKILL)
	r.until(t, func(e event) bool { return e.name == nameWorker && e.kind == eventEnded })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatalf("a connection during the restart: %v", err)
	}
	defer res.Body.Close()
	pid, err := io.ReadAll(res.Body)
	again, _ := r.untilReady(t)
	if want := strconv.Itoa(again.Pids[nameWorker]); err != nil || string(pid) != want {
		t.Errorf("answered by pid %s (%v), want %s", pid, err, want)
	}
}

func TestBackoffGrowsAndIsReported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		steady time.Duration
		grows  bool
	}{
		{"short lives", time.Hour, true},
		{"long lives", time.Nanosecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, func(o *Options) {
				o.fake.limits.steady = test.steady
				pass := o.fake.observe
				o.fake.observe = func(e event) {
					if e.name == nameSandbox && e.kind == eventHealthy {
						syscall.Kill(e.pid, syscall.SIGKILL)
					}
					pass(e)
				}
			})
			var waits []time.Duration
			r.until(t, func(e event) bool {
				if e.kind == eventEnded {
					waits = append(waits, e.wait)
				}
				return len(waits) == 4
			})
			if _, err := r.drain(t); err != nil {
				t.Fatal(err)
			}
			if grew := waits[3] > 4*waits[0]; grew != test.grows {
				t.Errorf("waits %v", waits)
			}
			if loop := strings.Contains(r.stderr.String(), "ends again and again"); loop != test.grows {
				t.Errorf("crash loop reported: %v\n%s", loop, r.stderr)
			}
		})
	}
}

func TestStartFailureNamesProcessAndLog(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, mode, process string
		starts              int
		want                []string
	}{
		{"crash", nameRouter + "=" + modeCrash, nameRouter, 3,
			[]string{"router does not start", "exit status 1", "the disk is on fire"}},
		{"wrong flags", nameAuth + "=" + modeUsage, nameAuth, 1, []string{"auth does not start", "exit status 2"}},
		{"hangs", nameTraces + "=" + modeUnhealthy, nameTraces, 1,
			[]string{"traces does not start", "not healthy after 8s", "traces says hello"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			starts := 0
			r := start(t, func(o *Options) {
				o.fake.env = append(o.fake.env, envMode+"="+test.mode)
				o.fake.limits.startAttempts = 3
				if test.mode == nameTraces+"="+modeUnhealthy {
					o.fake.limits.start = 8 * time.Second // the others have it as well
				}
				o.fake.observe = func(e event) {
					if e.name == test.process && e.kind == eventStarted {
						starts++
					}
				}
			})
			err := <-r.result
			var failed *StartError
			if !errors.As(err, &failed) || failed.Process != test.process || starts != test.starts {
				t.Fatalf("got %v after %d starts", err, starts)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
		})
	}
}

func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	stubborn := func(o *Options) { o.fake.env = append(o.fake.env, envMode+"="+nameHost+"="+modeStubborn) }
	t.Run("by its limit", func(t *testing.T) {
		t.Parallel()
		r := start(t, func(o *Options) { stubborn(o); o.fake.limits.drain = 300 * time.Millisecond })
		r.untilReady(t)
		if _, err := r.drain(t); !errors.Is(err, ErrKilled) {
			t.Errorf("got %v, want ErrKilled", err)
		}
	})
	t.Run("by a second signal", func(t *testing.T) {
		t.Parallel()
		kill := make(chan struct{})
		r := start(t, func(o *Options) { stubborn(o); o.Kill, o.fake.limits.drain = kill, time.Hour })
		r.untilReady(t)
		r.cancel()
		r.watch.wait(t, func(p report) bool { return p.name == nameHost && p.kind == "term" })
		close(kill)
		if err := <-r.result; !errors.Is(err, ErrKilled) {
			t.Errorf("got %v, want ErrKilled", err)
		}
	})
}

// What a process leaves behind when it ends goes with it.
func TestGrandchildrenAreKilled(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.fake.env = append(o.fake.env, envMode+"="+nameSandbox+"="+modeParent) })
	r.untilReady(t)
	young := r.watch.wait(t, func(p report) bool { return p.name == "grandchild" && p.kind == "start" })
	syscall.Kill(readReady(t, r.o.ReadyFile).Pids[nameSandbox], syscall.SIGKILL)
	r.watch.wait(t, func(p report) bool { return p.kind == "gone" && p.pid == young.pid })
}

func TestSecondOnOneStateDirIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	ready, _ := r.untilReady(t)
	o := fakeOptions(t, r.watch)
	o.StateDir, o.ReadyFile = r.o.StateDir, r.o.ReadyFile
	err := Run(t.Context(), o)
	var busy *BusyError
	if !errors.As(err, &busy) || !strings.Contains(err.Error(), "pid "+strconv.Itoa(os.Getpid())) ||
		!strings.Contains(err.Error(), o.StateDir) {
		t.Errorf("got %v", err)
	}
	if again := readReady(t, r.o.ReadyFile); again.MCPURL != ready.MCPURL {
		t.Errorf("the first's ready file was changed")
	}
	other := start(t, nil)
	if second, _ := other.untilReady(t); second.MCPURL == ready.MCPURL {
		t.Errorf("two stacks on %s", ready.MCPURL)
	}
}

func TestBusyPortIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	o := fakeOptions(t, newWatcher(t))
	o.AuthPort = port
	err = Run(t.Context(), o)
	var busy *BusyError
	if !errors.As(err, &busy) {
		t.Fatalf("got %v", err)
	}
	want := []string{"port " + strconv.Itoa(port) + " (--auth-port)", "or 0 for any free one"}
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		want = append(want, "(pid "+strconv.Itoa(os.Getpid())+")")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error lacks %q: %v", w, err)
		}
	}
}

func TestEphemeralLeavesNothing(t *testing.T) {
	tmp := shortDir(t)
	t.Setenv("TMPDIR", tmp)
	r := start(t, func(o *Options) { o.Ephemeral, o.StateDir = true, "" })
	ready, _ := r.untilReady(t)
	if info, err := os.Stat(ready.StateDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory during the run: %v, %v", info, err)
	}
	if _, err := r.drain(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range dirNames(t, tmp) {
		if strings.HasPrefix(name, "tandem-") {
			t.Errorf("%s is left", name)
		}
	}
}

// A state directory with a long path has its sockets elsewhere.
func TestLongStateDir(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.StateDir = filepath.Join(o.StateDir, strings.Repeat("long/", 25)) })
	r.untilReady(t)
	if slices.ContainsFunc(dirNames(t, r.o.StateDir), func(n string) bool { return strings.HasPrefix(n, runPrefix) }) {
		t.Error("the sockets are in the long directory")
	}
	if _, err := r.drain(t); err != nil {
		t.Fatal(err)
	}
}

func TestCanceledStartCleansUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := fakeOptions(t, newWatcher(t))
	if err := Run(ctx, o); err != nil {
		t.Errorf("got %v", err)
	}
	if left := dirNames(t, o.StateDir); !slices.Equal(left, []string{formatFile, lockFile}) {
		t.Errorf("left in the state directory: %v", left)
	}
}
