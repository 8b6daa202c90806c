package alarm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// TestScripts runs testdata: each script drives a scheduler over a store on an in-memory disk, in a bubble whose
// clock begins at 2000-01-01T00:00:00Z. Commands are described at the head of testdata/retries.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t)
			e.start()
			defer func() { e.stop() }()
			datadriven.RunTest(t, path, e.command)
		})
	})
}

// The same scripts come to the same by a test clock, which is advanced where real time would pass.
func TestScriptsByTestClock(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t)
			test, err := clock.OpenTest("")
			if err != nil {
				t.Fatal(err)
			}
			defer test.Close()
			e.test, e.clock = test, test.Clock()
			e.advance(1000 * 24 * time.Hour) // far from real time
			e.start()
			defer func() { e.stop() }()
			datadriven.RunTest(t, path, e.command)
		})
	})
}

// env is a store, a scheduler and a stand-in for the host.
type env struct {
	t           *testing.T
	disk        *vfs.MemFS
	concurrency int
	store       *storage.Store
	scheduler   *Scheduler
	clock       clock.Clock
	test        *clock.Test // nil for real time

	mu       sync.Mutex // guards what follows
	objects  map[objectid.ID]*storage.Object
	names    map[objectid.ID]string
	handlers map[string][]string // what the next runs of an object do; the last stays
	running  map[objectid.ID]int
	log      []string
}

func newEnv(t *testing.T) *env {
	return &env{t: t, disk: vfs.NewCrashableMem(), handlers: map[string][]string{}, names: map[objectid.ID]string{}}
}

var namespace = objectid.NewNamespace("w-Class")

func (e *env) start() {
	e.t.Helper()
	var err error
	if e.store, err = storage.Open(storage.Options{Dir: "/state", FS: e.disk, Clock: e.clock}); err != nil {
		e.t.Fatal(err)
	}
	e.objects, e.running = map[objectid.ID]*storage.Object{}, map[objectid.ID]int{}
	o := Options{Store: e.store, Deliver: e.deliver, Concurrency: e.concurrency}
	if e.scheduler, err = newScheduler(o, func() float64 { return 0 }); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) stop() {
	e.scheduler.Close()
	if err := e.store.Close(); err != nil {
		e.t.Error(err)
	}
}

func (e *env) object(name string) *storage.Object {
	id := namespace.FromName(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.objects[id] == nil {
		e.objects[id] = e.store.Object(namespace.UniqueKey(), id, storage.Hooks{})
		e.objects[id].SetName(name)
	}
	return e.objects[id]
}

func (e *env) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = append(e.log, e.clock.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// next returns what the object's next run does.
func (e *env) next(name string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	steps := e.handlers[name]
	if len(steps) == 0 {
		return "ok"
	}
	if len(steps) > 1 {
		e.handlers[name] = steps[1:]
	}
	return steps[0]
}

// deliver does what the host would.
func (e *env) deliver(ctx context.Context, d storage.DueAlarm) Outcome {
	if e.clock.Now().Before(d.ScheduledTime) || e.clock.Now().Before(d.Due) {
		e.t.Errorf("alarm of %s is early", d.Name)
	}
	e.enter(d.ID, 1)
	defer e.enter(d.ID, -1)
	o := e.object(d.Name)
	ok, err := o.BeginAlarm(d)
	if err != nil {
		e.t.Error(err)
	}
	if !ok {
		e.note("%s stale", d.Name)
		return Stale
	}
	step := e.next(d.Name)
	e.note("%s retry=%d: %s", d.Name, d.Retries, step)
	outcome := e.handle(ctx, o, step)
	if outcome == Interrupted {
		return outcome
	}
	if err := o.EndAlarm(outcome == OK); err != nil {
		e.t.Error(err)
	}
	if c := o.Flush(); c != nil {
		<-c.Done()
	}
	return outcome
}

func (e *env) enter(id objectid.ID, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[id] += n; e.running[id] > 1 {
		e.t.Error("two runs of one object overlap")
	}
}

// handle runs one step such as "fail", "set=2s,fail", "take=10s,ok".
func (e *env) handle(ctx context.Context, o *storage.Object, step string) Outcome {
	for _, part := range strings.Split(step, ",") {
		verb, value, _ := strings.Cut(part, "=")
		delay, _ := time.ParseDuration(value)
		switch verb {
		case "set":
			if err := o.SetAlarm(ctx, e.clock.Now().Add(delay), storage.PutOptions{}); err != nil {
				e.t.Error(err)
			}
		case "delete":
			if err := o.DeleteAlarm(ctx, storage.PutOptions{}); err != nil {
				e.t.Error(err)
			}
		case "flush":
			o.Flush()
		case "take":
			over := make(chan struct{})
			defer e.clock.AfterFunc(delay, func() { close(over) }).Stop()
			select {
			case <-over:
			case <-ctx.Done():
				e.note("ended: %v", context.Cause(ctx))
				return Internal
			}
		case "ok":
			return OK
		case "fail":
			return Failed
		case "internal":
			return Internal
		case "nohandler":
			return NoHandler
		default:
			e.t.Errorf("unknown step %q", part)
		}
	}
	return OK
}

func (e *env) command(t *testing.T, td *datadriven.TestData) string {
	switch td.Cmd {
	case "set": // set OBJECT=DELAY …, each a turn
		for _, a := range td.CmdArgs {
			e.set(a.Key, a.Vals[0])
		}
	case "delete":
		for _, a := range td.CmdArgs {
			o := e.object(a.Key)
			if err := o.DeleteAlarm(t.Context(), storage.PutOptions{}); err != nil {
				t.Error(err)
			}
			<-o.Flush().Done()
		}
	case "handler": // handler OBJECT: a line for each run
		e.mu.Lock()
		e.handlers[td.CmdArgs[0].Key] = strings.Split(strings.TrimSpace(td.Input), "\n")
		e.mu.Unlock()
	case "advance":
		d, err := time.ParseDuration(td.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		e.advance(d)
	case "stop":
		e.stop()
	case "start":
		e.start()
	case "crash":
		clone := e.disk.CrashClone(vfs.CrashCloneCfg{})
		e.stop()
		e.disk = clone
		e.start()
	case "concurrency":
		e.stop()
		fmt.Sscan(td.CmdArgs[0].Key, &e.concurrency)
		e.start()
	case "alarms":
		return e.alarms()
	default:
		t.Fatalf("%s: unknown command %s", td.Pos, td.Cmd)
	}
	synctest.Wait()
	return e.takeLog()
}

// advance lets time pass.
func (e *env) advance(d time.Duration) {
	if e.test == nil {
		time.Sleep(d)
		return
	}
	ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
	defer cancel()
	a, err := e.test.Advance(ctx, d)
	if err != nil || a.Left > 0 {
		e.t.Errorf("advance by %v: %+v, %v", d, a, err)
	}
}

func (e *env) set(name, delay string) {
	o := e.object(name)
	d, err := time.ParseDuration(delay)
	if err != nil {
		e.t.Fatal(err)
	}
	if err := o.SetAlarm(e.t.Context(), e.clock.Now().Add(d), storage.PutOptions{}); err != nil {
		e.t.Fatal(err)
	}
	<-o.Flush().Done()
}

func (e *env) takeLog() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	// What happens at one instant has no order.
	slices.Sort(e.log)
	for _, line := range e.log {
		fmt.Fprintln(&b, line)
	}
	e.log = nil
	return b.String()
}

// alarms says what getAlarm gives for each object that was ever named.
func (e *env) alarms() string {
	var b strings.Builder
	e.mu.Lock()
	objects := maps.Clone(e.objects)
	e.mu.Unlock()
	lines := []string{}
	for _, o := range objects {
		name, _, _ := o.Name()
		at, ok, err := o.Alarm(e.t.Context())
		if err != nil {
			e.t.Error(err)
		}
		if ok {
			lines = append(lines, name+" "+at.UTC().Format("15:04:05.000"))
		} else {
			lines = append(lines, name+" none")
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}
