package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
	"github.com/tandem-do/tandem/sandbox/frame"
)

func TestExecute(t *testing.T) {
	t.Parallel()
	p := newPool(t, testOptions(t))
	for _, tc := range []struct{ name, code, want string }{
		{"value", "return 6 * 7", "42"},
		{"tool", "return tools.echo({a: 1})", `{"a":1}`},
		{"exception", "throw new Error('boom')", "EXCEPTION: boom"},
		{"syntax error", "return (", "SYNTAX_ERROR: SyntaxError: Unexpected end of input (line 1:9)"},
		{"CPU", "for (;;) {}", "EXCEEDED_CPU: CPU limit of 500ms exceeded"},
		{"memory", "const a = []; for (;;) a.push('x'.repeat(1e6))", "EXCEEDED_MEMORY: memory limit of 64 MiB exceeded"},
		{"memory at once", "new ArrayBuffer(4e9)", "EXCEEDED_MEMORY: memory limit of 64 MiB exceeded"},
		{"stack", "eval('['.repeat(1e6))", "EXCEEDED_MEMORY: the program is nested too deeply for its stack"},
		{"output", "for (;;) console.log('x')", "EXCEEDED_OUTPUT: logs and emitted values are larger than 256 KiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if raceDetector && strings.Contains(tc.want, "MEMORY") {
				t.Skip("the race detector's memory breaks the limits")
			}
			program := testProgram(tc.code)
			program.Limits.CPU, program.WallClock = 30*time.Second, time.Minute
			if tc.name == "CPU" {
				program.Limits.CPU = 500 * time.Millisecond
			}
			if got := outcome(execute(t.Context(), p, program)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestWallClock holds that time is up even for a program that uses no processor, and that its logs are kept.
func TestWallClock(t *testing.T) {
	t.Parallel()
	p := newPool(t, testOptions(t))
	program := testProgram("console.log('before'); emit(1); await new Promise(r => setTimeout(r, 60000))")
	program.WallClock = 5 * time.Second
	d, err := execute(t.Context(), p, program)
	if got, want := outcome(d, err), "EXCEEDED_WALL_CLOCK: wall clock limit of 5s exceeded"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"before"}, d.Logs); diff != "" || len(d.EmittedJson) != 1 {
		t.Errorf("logs (-want +got):\n%s\nemitted %q", diff, d.EmittedJson)
	}
}

// TestStoppedClock holds that the time during which the clock is stopped does not count, and that a paused
// program leaves its place to others.
func TestStoppedClock(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes = 1
	p := newPool(t, o)
	program := testProgram("return tools.ask()")
	program.WallClock = 5 * time.Second
	x, err := p.Start(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan uint64, 1)
	ended := make(chan string, 1)
	go func() {
		ended <- outcome(x.Run(t.Context(), func(c *frame.Call) error {
			x.SetClock(true)
			asked <- c.CallID
			return nil
		}))
	}()
	id := <-asked
	// Longer than the wall clock, on a pool with room for one.
	if got := outcome(execute(t.Context(), p, testProgram("await new Promise(r => setTimeout(r, 5500)); return 'other'"))); got != `"other"` {
		t.Fatalf("the other program: %s", got)
	}
	x.SetClock(false)
	if !x.Settle(&frame.Result{CallID: id, Value: []byte(`"yes"`)}) {
		t.Error("the call is not pending")
	}
	if x.Settle(&frame.Result{CallID: id, Value: []byte(`"again"`)}) {
		t.Error("the call was settled twice")
	}
	if got := <-ended; got != `"yes"` {
		t.Errorf("the paused program: %s", got)
	}
	x.SetClock(true)
	if got := outcome(execute(t.Context(), p, testProgram("return 1"))); got != "1" {
		t.Errorf("afterwards: %s", got)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != 0 || p.paused != 0 {
		t.Errorf("%d running and %d paused are left", p.running, p.paused)
	}
}

// TestAbandon holds that a paused program that nobody waits for leaves its child to others if it waits itself, and is
// killed if not.
func TestAbandon(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, code string
		reused     bool
	}{
		{"waits", "emit('x'); const p = tools.ask(); setInterval(() => {}, 1); await p", true},
		{"computes", "tools.ask(); for (;;) await null", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			o.Processes, o.Idle = 1, 1
			if tc.reused {
				o.abandon = time.Minute
			}
			p := newPool(t, o)
			ctx, cancel := context.WithCancelCause(t.Context())
			x, err := p.Start(ctx, testProgram(tc.code))
			if err != nil {
				t.Fatal(err)
			}
			why := errors.New("it is paused for long")
			d, err := x.Run(ctx, func(*frame.Call) error {
				x.SetClock(true)
				time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
				return nil
			})
			if d != nil || !errors.Is(err, why) {
				t.Errorf("got %v, %v", d, err)
			}
			if reused := x.child.cmd.ProcessState == nil; reused != tc.reused {
				t.Errorf("reused is %v", reused)
			}
			if got := outcome(execute(t.Context(), p, testProgram("return 1"))); got != "1" {
				t.Errorf("afterwards: %s", got)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.running != 0 || p.paused != 0 {
				t.Errorf("%d running and %d paused are left", p.running, p.paused)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p := newPool(t, testOptions(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	x, err := p.Start(ctx, testProgram("for (;;) await tools.a()"))
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("the host went away")
	_, err = x.Run(ctx, func(*frame.Call) error { cancel(why); return nil })
	if !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	if x.child.cmd.ProcessState == nil {
		t.Error("the process is not gone")
	}
	if got := outcome(execute(t.Context(), p, testProgram("return 1"))); got != "1" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestBusy holds that programs wait for a bounded time, in a queue of bounded length.
func TestBusy(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes, o.Waiting, o.Wait = 1, 1, 6*time.Second
	p := newPool(t, o)
	program := testProgram("await tools.a()")
	program.WallClock = time.Minute
	x, err := p.Start(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	called := make(chan uint64, 1)
	ended := make(chan string, 1)
	go func() {
		ended <- outcome(x.Run(t.Context(), func(c *frame.Call) error { called <- c.CallID; return nil }))
	}()
	<-called
	results := make(chan string, 2)
	for range 2 {
		go func() { results <- outcome(execute(t.Context(), p, testProgram("return 1"))) }()
	}
	got := map[string]bool{<-results: true, <-results: true}
	want := map[string]bool{
		"error: the sandbox is at capacity: 1 programs wait for a process":    true,
		"error: the sandbox is at capacity: no process became free within 6s": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	x.Settle(&frame.Result{CallID: 1, Thrown: true, Value: []byte("no")})
	if got := <-ended; got != "EXCEPTION: no" {
		t.Errorf("the first program: %s", got)
	}
}

// TestQueue holds that those who wait are served in the order of their coming.
func TestQueue(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes, o.Wait = 1, time.Minute
	p := newPool(t, o)
	first, err := p.Start(t.Context(), testProgram("return tools.a()"))
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			x, err := p.Start(t.Context(), testProgram("return 1"))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if _, err := x.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
		for waiting := 0; waiting <= i; { // until it waits
			runtime.Gosched()
			p.mu.Lock()
			waiting = p.waiting.length
			p.mu.Unlock()
		}
	}
	if _, err := first.Run(t.Context(), func(c *frame.Call) error { first.Settle(&frame.Result{CallID: c.CallID}); return nil }); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestTurns holds that the programs of one organization, however many, delay another one's by one program.
func TestTurns(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes, o.Wait = 1, time.Minute
	p := newPool(t, o)
	first, err := p.Start(t.Context(), testProgram("return tools.a()"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, organization := range []string{"busy", "busy", "busy", "busy", "other"} {
		all.Go(func() {
			program := testProgram("return 1")
			program.Organization = organization
			x, err := p.Start(t.Context(), program)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, organization)
			mu.Unlock()
			if _, err := x.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
		for waiting := 0; waiting <= i; { // until it waits
			runtime.Gosched()
			p.mu.Lock()
			waiting = p.waiting.length
			p.mu.Unlock()
		}
	}
	if _, err := first.Run(t.Context(), func(c *frame.Call) error { first.Settle(&frame.Result{CallID: c.CallID}); return nil }); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if diff := cmp.Diff([]string{"busy", "other", "busy", "busy", "busy"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestShare holds that an organization whose programs take for ever leaves an eighth of the processes to others, also when
// more of them go on after a pause than may run.
func TestShare(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes, o.Wait = 8, 20*time.Second
	p := newPool(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	var paused []*Execution
	begin := func(organization string) error {
		program := testProgram("return tools.a()")
		program.Organization, program.WallClock = organization, time.Minute
		x, err := p.Start(ctx, program)
		if err == nil {
			all.Go(func() { _, _ = x.Run(ctx, func(*frame.Call) error { return nil }) })
			paused = append(paused, x)
		}
		return err
	}
	for i := range 14 {
		if err := begin("busy"); err != nil {
			t.Fatal(err)
		}
		if i < 7 {
			paused[i].SetClock(true)
		}
	}
	for _, x := range paused[:7] {
		x.SetClock(false)
	}
	all.Go(func() {
		program := testProgram("return 1")
		program.Organization = "busy"
		if _, err := p.Start(ctx, program); err == nil {
			t.Error("the organization has all processes")
		}
	})
	for waiting := 0; waiting == 0; {
		runtime.Gosched()
		p.mu.Lock()
		waiting = p.waiting.length
		p.mu.Unlock()
	}
	if err := begin("other"); err != nil {
		t.Errorf("another organization: %v", err)
	}
	cancel()
	all.Wait()
	if p.running != 0 || p.paused != 0 || p.excess != 0 || len(p.runningOf) != 0 {
		t.Errorf("%d running, %d paused, %d beyond, %v are left", p.running, p.paused, p.excess, p.runningOf)
	}
}

// TestBusyOrganization holds that an organization that fills its part of the queue leaves room to the others.
func TestBusyOrganization(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Waiting, o.WaitingPerOrganization = 3, 2
	p := &Pool{}
	var err error
	if p.o, err = o.withDefaults(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ organization, want string }{
		{"a", ""},
		{"a", ""},
		{"a", "the sandbox is at capacity: 2 programs of this organization wait for a process"},
		{"b", ""},
		{"b", "the sandbox is at capacity: 3 programs wait for a process"},
	} {
		p.mu.Lock()
		err := p.roomLocked(tc.organization)
		if err == nil {
			p.waiting.push(&waiter{organization: tc.organization})
		}
		p.mu.Unlock()
		if got := fmt.Sprint(err); err != nil && got != tc.want || err == nil && tc.want != "" {
			t.Errorf("%s: got %v, want %q", tc.organization, err, tc.want)
		}
	}
}

// TestShrink holds that children stay warm that the last half minute needed, and no others.
func TestShrink(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Idle, o.Linger = 1, time.Hour // the ticker does not tick, shrink is called
	p := newPool(t, o)
	var running []*Execution
	for range o.Processes {
		x, err := p.Start(t.Context(), testProgram("return tools.a()"))
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, x)
	}
	for _, x := range running {
		if _, err := x.Run(t.Context(), func(c *frame.Call) error { x.Settle(&frame.Result{CallID: c.CallID}); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for slot := range loadSlots + 2 {
		p.shrink()
		p.mu.Lock()
		idle, children := len(p.idle), len(p.children)
		p.mu.Unlock()
		want := o.Processes
		if slot > loadSlots {
			want = o.Idle
		}
		if idle != want || children < want {
			t.Errorf("look %d: %d of %d children are idle, want %d", slot, idle, children, want)
		}
	}
	if got := outcome(execute(t.Context(), p, testProgram("return 1"))); got != "1" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	p := newPool(t, testOptions(t))
	x, err := p.Start(t.Context(), testProgram("await tools.a()"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Run(t.Context(), func(*frame.Call) error { go p.Close(); return nil })
	if !errors.Is(err, ErrClosed) {
		t.Errorf("the program that ran: %v", err)
	}
	p.Close()
	if _, err := p.Start(t.Context(), testProgram("return 1")); !errors.Is(err, ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
	if err := x.child.cmd.Process.Signal(syscall.Signal(0)); err == nil {
		t.Error("the process is still there")
	}
}

// TestIdleChildKilled holds that a child that is ended from outside is replaced before anyone notices.
func TestIdleChildKilled(t *testing.T) {
	t.Parallel()
	p := newPool(t, testOptions(t))
	var killed []*child
	for len(killed) < p.o.Idle {
		runtime.Gosched()
		p.mu.Lock()
		killed = append([]*child(nil), p.idle...)
		p.mu.Unlock()
	}
	for _, c := range killed {
		c.kill()
		<-c.exited
	}
	for range 3 {
		if got := outcome(execute(t.Context(), p, testProgram("return 1"))); got != "1" {
			t.Error(got)
		}
	}
}

// TestKilled holds that a child that is killed while it runs a program is an outcome with its reason, and that its place
// is filled again.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Processes = 1
	p := newPool(t, o)
	program := testProgram("console.log('here'); await tools.a(); return 1")
	program.Limits.MemoryBytes *= 4 // a child with more memory than its limit would be taken to have died of that
	for range 3 {
		x, err := p.Start(t.Context(), program)
		if err != nil {
			t.Fatal(err)
		}
		d, err := x.Run(t.Context(), func(*frame.Call) error { return x.child.cmd.Process.Signal(syscall.SIGKILL) })
		want := "CRASHED: the program's process was killed from outside, perhaps because the machine is short of memory"
		if got := outcome(d, err); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		} else if diff := cmp.Diff([]string{"here"}, d.Logs); diff != "" {
			t.Errorf("logs (-want +got):\n%s", diff)
		}
		if got := outcome(execute(t.Context(), p, testProgram("return 1"))); got != "1" {
			t.Errorf("afterwards: %s", got)
		}
	}
}

// TestUntrustedChild holds that whatever a child says ends as an outcome.
func TestUntrustedChild(t *testing.T) {
	t.Parallel()
	const broke = "CRASHED: the program broke its process"
	for behaviour, want := range map[string]string{
		"garbage":             broke,
		"cut":                 "CRASHED: the program's process ended unexpectedly",
		"exit":                "CRASHED: the program's process ended unexpectedly",
		"log flood":           "EXCEEDED_OUTPUT: logs and emitted values are larger than 256 KiB",
		"emit garbage":        broke,
		"call out of order":   broke,
		"call flood":          broke,
		"result is no JSON":   broke,
		"result too large":    broke,
		"error without words": broke,
		"ready again":         broke,
		"out of memory":       "EXCEEDED_MEMORY: memory limit of 64 MiB exceeded",
		"silent":              "EXCEEDED_WALL_CLOCK: wall clock limit of 1s exceeded",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, fakeOptions(t, behaviour))
			program := testProgram("return 1")
			program.WallClock = time.Minute
			if behaviour == "silent" || behaviour == "cut" {
				program.WallClock = time.Second
			}
			if behaviour == "cut" { // the process lives on, so only the clock can tell
				want = "EXCEEDED_WALL_CLOCK: wall clock limit of 1s exceeded"
			}
			x, err := p.Start(t.Context(), program)
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(x.Run(t.Context(), func(*frame.Call) error { return nil })); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestChildDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"no such file": {"/does/not/exist"},
		"not a child":  fakeOptions(t, "not ready").Command,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			o.Command = command
			_, err := execute(t.Context(), newPool(t, o), testProgram("return 1"))
			if err == nil || errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "child") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Processes: -1, Waiting: -2, Wait: -1, Linger: -time.Second})
	want := "pool options: Command is empty\nProcesses is -1, less than 0\nWaiting is -2, less than 0\nWait is -1ns, less than 0\nLinger is -1s, less than 0"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var expired atomic.Int64
		c := startClock(10*time.Second, func() { expired.Store(int64(time.Since(begin))) })
		time.Sleep(4 * time.Second)
		if !c.stop() || c.stop() {
			t.Error("stop does not say what it did")
		}
		time.Sleep(time.Hour)
		if !c.start() || c.start() {
			t.Error("start does not say what it did")
		}
		time.Sleep(6*time.Second - 1)
		synctest.Wait()
		if at := time.Duration(expired.Load()); at != 0 {
			t.Errorf("expired after %v", at)
		}
		time.Sleep(2)
		synctest.Wait()
		if at, want := time.Duration(expired.Load()), time.Hour+10*time.Second; at != want {
			t.Errorf("expired after %v, want %v", at, want)
		}
	})
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	p := testProgram("")
	for _, tc := range []struct {
		name string
		d    death
		want string
	}{
		{"wall clock", death{cause: causeWallClock, signal: syscall.SIGKILL}, "EXCEEDED_WALL_CLOCK: wall clock limit of 1m0s exceeded"},
		{"stopped", death{cause: causeStopped}, "EXCEEDED_WALL_CLOCK: the program was paused for more than 1h0m0s"},
		{"protocol", death{cause: causeProtocol}, "CRASHED: the program broke its process"},
		{"stack", death{stderr: "runtime: goroutine stack exceeds 67108864-byte limit\nfatal error: stack overflow"}, "EXCEEDED_MEMORY: the program is nested too deeply for its stack"},
		{"memory", death{stderr: "fatal error: runtime: out of memory"}, "EXCEEDED_MEMORY: memory limit of 64 MiB exceeded"},
		{"memory of the collector", death{stderr: "SIGSEGV: segmentation violation\nPC=0x1 m=3"}, "EXCEEDED_MEMORY: memory limit of 64 MiB exceeded"},
		{"kernel's CPU limit", death{stderr: "SIGXCPU: cpu limit exceeded"}, "EXCEEDED_CPU: CPU limit of 2s exceeded"},
		{"killed with more memory than its limit", death{signal: syscall.SIGKILL, peakBytes: 65 << 20}, "EXCEEDED_MEMORY: memory limit of 64 MiB exceeded"},
		{"killed from outside", death{signal: syscall.SIGKILL}, "CRASHED: the program's process was killed from outside, perhaps because the machine is short of memory"},
		{"killed after all its CPU", death{signal: syscall.SIGKILL, cpu: 3 * time.Second}, "EXCEEDED_CPU: CPU limit of 2s exceeded"},
		{"another fault", death{stderr: "panic: something"}, "CRASHED: the program's process ended unexpectedly"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o, message := verdict(tc.d, p)
			if got := outcome(&sandboxpb.Done{Outcome: o, Error: message}, nil); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func BenchmarkExecute(b *testing.B) {
	p := newPool(b, testOptions(b))
	program := testProgram("return 1")
	for b.Loop() {
		if got := outcome(execute(b.Context(), p, program)); got != "1" {
			b.Fatal(got)
		}
	}
}

func BenchmarkExecuteTypeScript(b *testing.B) {
	p := newPool(b, testOptions(b))
	program := testProgram("const n: number = 1; return n")
	for b.Loop() {
		if got := outcome(execute(b.Context(), p, program)); got != "1" {
			b.Fatal(got)
		}
	}
}

func BenchmarkToolCall(b *testing.B) {
	p := newPool(b, testOptions(b))
	program := testProgram(fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.echo({i}); return 1", b.N))
	program.WallClock, program.Limits.CPU = time.Minute, time.Minute
	b.ResetTimer()
	if got := outcome(execute(b.Context(), p, program)); got != "1" {
		b.Fatal(got)
	}
}
