package projects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// workers are the directories of the project of three Workers, the primary one first.
var workers = []string{"web", "accounts", "stock"}

// copyWorkers copies the project of three Workers to a directory that is a project root.
func copyWorkers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "workers"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startWorkers runs some of the Workers of a copy. A state directory of "own" is that of the first of them.
func startWorkers(t *testing.T, dir, state string, names ...string) *project {
	t.Helper()
	o := harness.Options{Binary: binary, Args: nil, Env: []string{"XDG_RUNTIME_DIR="}}
	if state == "own" {
		o.StateDir = filepath.Join(dir, names[0], ".tandem")
	}
	for _, name := range names {
		o.Args = append(o.Args, filepath.Join(dir, name))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := harness.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("log of the stack of %v:\n%s", names, s.Log())
		}
	})
	return &project{t: t, dir: dir, Stack: s}
}

// Three Workers with two object classes, in four processes beside the router's.
func TestWorkers(t *testing.T) {
	p := startWorkers(t, copyWorkers(t), "", workers...)
	ready := p.MustReady(t)
	for _, process := range []string{"worker", "worker:accounts", "worker:stock", "durableobject"} {
		if ready.PIDs[process] == 0 {
			t.Errorf("there is no process %s in %v", process, ready.PIDs)
		}
	}
	if len(ready.Workers) != 3 || ready.Workers["web"] != ready.WorkerURL {
		t.Errorf("Workers %v", ready.Workers)
	}
	p.want("/order", "", `["Broke","not enough money",true,402,3]`)
	p.want("/deposit", "", `10`)
	p.want("/order", "", `{"receipt":"#ann pays 3","left":99}`)
	p.want("/nobody", "", `["TypeError","The entrypoint name Nobody was not found.",true,null,null]`)
	p.want("/other", "", `stock: POST /other`)
	if _, got := p.post("/endless", ""); strings.Count(got, `"Subrequest depth limit exceeded. `) != 3 {
		t.Errorf("endless recursion: got %s", got)
	}
	if status, got := post(t, ready.Workers["accounts"], ""); status != http.StatusOK || got != "accounts speak RPC" {
		t.Errorf("a Worker by its own address: got %d %s", status, got)
	}
	post(t, ready.Workers["stock"]+"/calls", "")
	p.logs("stock         | POST /calls 200 OK")
}

// Each process may be killed, and its callers find the next one; state and other processes' memory stay. What was under way
// has failed, or what was sent before the loss was noticed.
func TestWorkersAreKilled(t *testing.T) {
	p := startWorkers(t, copyWorkers(t), "", workers...)
	p.want("/deposit", "", `10`)
	orders := func(balance, left int) {
		t.Helper()
		p.want("/deposit?user=bob", "", fmt.Sprint(balance))
		p.want("/order?user=bob", "", fmt.Sprintf(`{"receipt":"#bob pays 3","left":%d}`, left))
	}
	orders(10, 99)
	for i, process := range []string{"worker:stock", "worker:accounts", "durableobject", "router"} {
		before := p.MustReady(t).PIDs
		p.Kill(t, process)
		p.until("/accounts", "called by web")
		p.until("/other", "stock: POST /other")
		p.until("/order?user=nobody", "not enough money")
		orders(17+7*i, 98-i)
		after := p.MustReady(t).PIDs
		for name, pid := range before {
			if (after[name] == pid) != (name != process) {
				t.Errorf("after a kill of %s: %s had pid %d, has %d", process, name, pid, after[name])
			}
		}
	}
}

// A frozen Worker harms nobody but those who call it, and these can give up. It goes on when it is let.
func TestWorkerIsFrozen(t *testing.T) {
	p := startWorkers(t, copyWorkers(t), "", workers...)
	p.want("/other", "", `stock: POST /other`)
	pid := p.MustReady(t).PIDs["worker:stock"]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	p.want("/patient", "", `["TimeoutError","The operation was aborted due to timeout",false,23,null]`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.MustReady(t).WorkerURL+"/other", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(r); err == nil {
		resp.Body.Close()
		t.Errorf("a frozen Worker answered %s", resp.Status)
	}
	for range 3 {
		p.want("/accounts", "", `"accounts, called by web"`)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.want("/other", "", `stock: POST /other`)
}

// One Worker that changes leaves the others alone, and the objects of their classes in the shared host. No process is
// started anew.
func TestWorkerReloadsAlone(t *testing.T) {
	p := startWorkers(t, copyWorkers(t), "", workers...)
	stock := p.MustReady(t).Workers["stock"]
	p.want("/deposit", "", `10`)
	p.want("/order", "", `{"receipt":"#ann pays 3","left":99}`)
	defer keepLive(t, stock+"/calls")()
	before := p.MustReady(t).PIDs
	p.replace("accounts/src/index.ts", "deposit(amount: number) {", "deposit(amount: number) {\n\t\tamount *= 2;")
	p.replace("accounts/src/index.ts", "`accounts, called by", "`new accounts, called by")
	p.until("/accounts", `"new accounts, called by web"`)
	p.untilDoubled(7)
	if _, calls := post(t, stock+"/calls", ""); calls != "2" {
		t.Errorf("the shelf lives since %s calls, want 2", calls)
	}
	after := p.MustReady(t).PIDs
	for name, pid := range before {
		if after[name] != pid {
			t.Errorf("after a change of accounts: %s had pid %d, has %d", name, pid, after[name])
		}
	}
}

// keepLive asks an object for something all the time, so that it is not evicted for idleness however long the test takes,
// until the func that it returns is called.
func keepLive(t *testing.T, address string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			if resp, err := http.DefaultClient.Do(r); err == nil { // that it may fail is no matter here
				resp.Body.Close()
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// untilDoubled deposits until the object adds twice the amount: the host of objects takes a change by itself, perhaps a
// moment after the Worker. balance is what is there.
func (p *project) untilDoubled(balance int) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		_, got := p.answered("/deposit", patience)
		now, err := strconv.Atoi(got)
		if err == nil && now == balance+20 {
			return
		}
		if err != nil || now != balance+10 || time.Now().After(deadline) {
			p.t.Fatalf("a deposit on %d made %s", balance, got)
		}
		balance = now
	}
}

// Bytes flow through two Workers and back while the request is still being sent.
func TestWorkersStream(t *testing.T) {
	p := startWorkers(t, copyWorkers(t), "", workers...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	body, send := io.Pipe()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, p.MustReady(t).WorkerURL+"/count", body)
	if err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	write := func(n int) { _, err := send.Write(make([]byte, n)); wrote <- err }
	go write(10)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, want := range []string{"10 ", "30 "} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if want == "10 " {
			go write(20)
		}
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
		t.Errorf("got %q more, %v", rest, err)
	}
}

// Workers that are started later, from elsewhere in the same project root, join the stack that runs; it may go and come
// back. Those of another root do not meet.
func TestStacksMeet(t *testing.T) {
	dir, other := copyWorkers(t), copyWorkers(t)
	web := startWorkers(t, dir, "own", "web")
	stranger := startWorkers(t, other, "own", "accounts", "stock")
	const absent = `Worker "stock" not found. Make sure it is running`
	if status, got := web.post("/other", ""); status != http.StatusServiceUnavailable || !strings.HasPrefix(got, absent) {
		t.Errorf("a Worker that does not run: got %d %s", status, got)
	}
	if status, got := web.post("/accounts", ""); status != http.StatusInternalServerError || !strings.Contains(got, `Worker "accounts" not found.`) {
		t.Errorf("a method of a Worker that does not run: got %d %s", status, got)
	}
	rest := startWorkers(t, dir, "own", "accounts", "stock")
	if joined := rest.MustReady(t).JoinedPID; joined != web.PID() {
		t.Errorf("the second stack joined %d, want %d", joined, web.PID())
	}
	if joined := stranger.MustReady(t).JoinedPID; joined != 0 {
		t.Errorf("a stack of another root joined %d", joined)
	}
	web.want("/deposit", "", `10`)
	web.want("/order", "", `{"receipt":"#ann pays 3","left":99}`)

	// The first stack goes, with its router; the second one goes on with what it has found, and is found again.
	calls := func() {
		t.Helper()
		if status, got := post(t, rest.MustReady(t).Workers["stock"]+"/calls", ""); status != http.StatusOK || got != "2" {
			t.Errorf("calls of the shelf: got %d %s", status, got)
		}
	}
	calls()
	stop := keepLive(t, rest.MustReady(t).Workers["stock"]+"/calls")
	web.Stop()
	calls()
	stop()
	web = startWorkers(t, dir, "own", "web")
	web.want("/deposit", "", `17`)
	web.want("/order", "", `{"receipt":"#ann pays 3","left":98}`)
	rest.Stop()
	if status, got := web.post("/other", ""); status == http.StatusOK || !strings.Contains(got, `Worker "stock"`) {
		t.Errorf("a Worker that has gone: got %d %s", status, got)
	}
}
