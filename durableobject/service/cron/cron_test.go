package cron_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/service/cron"
	"github.com/tandem-do/tandem/durableobject/storage"
	protocron "github.com/tandem-do/tandem/proto/cron"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// world is an object host with the class, on a disk in memory, and a Worker that notes its events.
type world struct {
	t      *testing.T
	fs     *vfs.MemFS
	router *grpc.ClientConn
	store  *storage.Store
	host   *host.Host
	// clock is the objects', or nil for the bubble's.
	clock *clock.Test

	// mu guards the fields below.
	mu     sync.Mutex
	events []string
	// answer ends an event.
	answer func(ctx context.Context, e protocron.Event) (protocron.Result, error)
}

// in runs a test in a bubble, with a world, from 2000-01-01T00:00:00Z, a Saturday.
func in(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fs: vfs.NewCrashableMem()}
		w.answer = func(context.Context, protocron.Event) (protocron.Result, error) {
			return protocron.Result{Outcome: protocron.OutcomeOK}, nil
		}
		w.start()
		defer w.stop()
		fn(t, w)
	})
}

func (w *world) start() {
	store, err := storage.Open(storage.Options{Dir: "store", FS: w.fs, Clock: w.clock.Clock()})
	if err != nil {
		w.t.Fatal(err)
	}
	router, err := sidecar.Dial("127.0.0.1:1") // lazy: nobody calls it
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := host.New(host.Options{
		Worker: "test", Router: router, Services: []durableobject.Class{cron.Class(cron.Options{Deliver: w.deliver})},
	}, store)
	if err != nil {
		w.t.Fatal(err)
	}
	w.router, w.store, w.host = router, store, h
}

func (w *world) stop() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.host.Drain(now) // it says that not all has ended yet
	if err := errors.Join(w.host.Drain(context.Background()), w.store.Close(), w.router.Close()); err != nil {
		w.t.Error(err)
	}
}

func (w *world) deliver(ctx context.Context, e protocron.Event) (protocron.Result, error) {
	w.mu.Lock()
	w.events = append(w.events, fmt.Sprintf("%s %s %s", e.Worker, e.ScheduledTime.UTC().Format("02T15:04:05"), e.Cron))
	answer := w.answer
	w.mu.Unlock()
	return answer(ctx, e)
}

// take returns the events since the last call.
func (w *world) take() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.events)
	text := strings.Join(w.events, "; ")
	w.events = nil
	return text
}

func call(w *world, method string, arg any) (protocron.Schedules, error) {
	stub := binding.NewNamespace(protocron.UniqueKey, w.host.Local()).GetByName("w")
	return durableobject.Call[protocron.Schedules](w.t.Context(), stub, method, arg)
}

func (w *world) set(crons ...string) {
	w.t.Helper()
	if _, err := call(w, protocron.MethodSet, protocron.Set{Worker: "w", Crons: crons}); err != nil {
		w.t.Fatal(err)
	}
}

// list words what is known of the schedules.
func (w *world) list() string {
	w.t.Helper()
	synctest.Wait()
	s, err := call(w, protocron.MethodList, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	const layout = "02T15:04:05"
	var lines []string
	for _, e := range s.List {
		line := e.Cron + " next " + e.Next.Format(layout)
		if !e.Missed.IsZero() {
			line += " missed " + e.Missed.Format(layout)
		}
		if l := e.Last; l != nil {
			line += fmt.Sprintf(" last %s %q %s", l.ScheduledTime.Format(layout), l.Outcome, l.Error)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "; ")
}

func (w *world) want(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func pass(d time.Duration) { <-time.NewTimer(d).C }

// work takes time, unless it is stopped.
func work(ctx context.Context, d time.Duration) {
	select {
	case <-time.NewTimer(d).C:
	case <-ctx.Done():
	}
}

func TestTimes(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set("*/2 * * * *", "1 0 * * *", "*/2 * * * *", "0 0 1 1 *")
		pass(59 * time.Second)
		w.want("before", w.take(), "")
		pass(time.Second)
		w.want("first", w.take(), "w 01T00:01:00 1 0 * * *")
		pass(4 * time.Minute)
		w.want("more", w.take(), "w 01T00:02:00 */2 * * * *; w 01T00:04:00 */2 * * * *")
		w.want("list", w.list(), `*/2 * * * * next 01T00:06:00 last 01T00:04:00 "ok"; `+
			`1 0 * * * next 02T00:01:00 last 01T00:01:00 "ok"; 0 0 1 1 * next 01T00:00:00`)
		w.set("1 0 * * *")
		pass(24 * time.Hour)
		w.want("what stays", w.take(), "w 02T00:01:00 1 0 * * *")
		w.set()
		pass(48 * time.Hour)
		w.want("none", w.take()+w.list(), "")
		all, err := w.store.Summaries(t.Context(), protocron.UniqueKey, nil, 0, 10)
		if err != nil || len(all) > 1 || len(all) == 1 && (all[0].Keys > 0 || all[0].Alarm != nil) {
			t.Errorf("left on disk: %+v, %v", all, err)
		}
	})
}

// TestMissed: what was due while no host ran is not made up for, unless that is less than a minute ago.
func TestMissed(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set("* * * * *", "0 * * * *")
		w.stop()
		pass(3*time.Hour + 59*time.Second)
		w.start()
		w.want("after hours", w.take(), "w 01T03:00:00 * * * * *; w 01T03:00:00 0 * * * *")
		w.want("list", w.list(), `* * * * * next 01T03:01:00 missed 01T00:01:00 last 01T03:00:00 "ok"; `+
			`0 * * * * next 01T04:00:00 missed 01T01:00:00 last 01T03:00:00 "ok"`)
		w.stop()
		pass(31 * time.Second) // 03:01:30
		w.start()
		w.want("half a minute late", w.take(), "w 01T03:01:00 * * * * *")
		w.stop()
		pass(time.Hour) // 04:01:30
		w.start()
		w.want("more than a minute late", w.take(), "w 01T04:01:00 * * * * *")
		w.want("list", w.list(), `* * * * * next 01T04:02:00 missed 01T03:02:00 last 01T04:01:00 "ok"; `+
			`0 * * * * next 01T05:00:00 missed 01T04:00:00 last 01T03:00:00 "ok"`)
	})
}

func TestOutcomes(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set("0 * * * *")
		for _, tc := range []struct {
			answer func(context.Context, protocron.Event) (protocron.Result, error)
			after  time.Duration
			want   string
		}{
			{func(context.Context, protocron.Event) (protocron.Result, error) {
				return protocron.Result{Outcome: "exception"}, nil
			}, 0, `"exception"`},
			{func(context.Context, protocron.Event) (protocron.Result, error) {
				return protocron.Result{}, errors.New("nobody is there")
			}, 0, `"internalError" nobody is there`},
			{func(ctx context.Context, _ protocron.Event) (protocron.Result, error) {
				work(ctx, 12*time.Minute)
				return protocron.Result{Outcome: "ok"}, nil
			}, 10 * time.Minute, `""`},
			{func(ctx context.Context, _ protocron.Event) (protocron.Result, error) {
				<-ctx.Done()
				return protocron.Result{}, ctx.Err()
			}, 16 * time.Minute, `"exceededWallTime" the event took longer than 15 minutes`},
		} {
			w.mu.Lock()
			w.answer = tc.answer
			w.mu.Unlock()
			pass(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + tc.after)))
			_, got, _ := strings.Cut(w.list(), " last ")
			_, got, _ = strings.Cut(got, " ")
			w.want("outcome", got, tc.want)
		}
	})
}

// TestHostEnds: an event that runs when its host's machine ends is not delivered again.
func TestHostEnds(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.answer = func(ctx context.Context, _ protocron.Event) (protocron.Result, error) {
			<-ctx.Done()
			return protocron.Result{}, context.Cause(ctx)
		}
		w.set("0 * * * *")
		pass(time.Hour + time.Second)
		crashed := w.fs.CrashClone(vfs.CrashCloneCfg{}) // what is not synced is lost
		w.stop()
		w.fs = crashed
		w.start()
		w.want("events", w.take(), "w 01T01:00:00 0 * * * *")
		w.want("list", w.list(), `0 * * * * next 01T02:00:00 last 01T01:00:00 "unknown"`)
	})
}

// TestOverlap: a slow event holds up no later one, and too many are not delivered.
func TestOverlap(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.answer = func(ctx context.Context, e protocron.Event) (protocron.Result, error) {
			work(ctx, 10*time.Minute+30*time.Second)
			return protocron.Result{Outcome: e.ScheduledTime.UTC().Format("15:04")}, nil
		}
		w.set("* * * * *")
		pass(5*time.Minute + time.Second)
		if got := strings.Count(w.take(), ";"); got != 4 {
			t.Errorf("%d events", got+1)
		}
		pass(7 * time.Minute) // 00:12: the first has ended, but is not the last
		w.want("list", w.list(), `* * * * * next 01T00:13:00 last 01T00:12:00 ""`)
		w.set()
		pass(time.Hour)
		w.take()

		w.answer = func(ctx context.Context, _ protocron.Event) (protocron.Result, error) {
			work(ctx, 14*time.Minute)
			return protocron.Result{Outcome: "ok"}, nil
		}
		many := make([]string, 70) // all are due at the same time
		for i := range many {
			many[i] = "0" + strings.Repeat(",0", i) + " * * * *"
		}
		w.set(many...)
		pass(time.Hour)
		if got := strings.Count(w.take(), ";"); got != 63 {
			t.Errorf("%d events", got+1)
		}
		if got := strings.Count(w.list(), "loadShed"); got != 6 {
			t.Errorf("%d shed", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			set  protocron.Set
			want string
		}{
			{protocron.Set{Crons: []string{"* * * * *", "bad"}}, `schedule "bad": `},
			{protocron.Set{Crons: make([]string, 1001)}, "a Worker may have at most 1000 schedules, not 1001"},
			{protocron.Set{Address: strings.Repeat("x", 2049)}, "address has 2049 bytes, at most 2048"},
			{protocron.Set{Address: "localhost:8787"}, `address "localhost:8787" is no origin`},
			{protocron.Set{Address: "http://u:p@x"}, `address "http://u:p@x" is no origin`},
		} {
			_, err := call(w, protocron.MethodSet, tc.set)
			e, ok := errors.AsType[*durableobject.Error](err)
			if !ok || e.Name != protocron.ErrorName || !strings.HasPrefix(e.Message, tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		}
		w.want("list", w.list(), "")
	})
}

// TestClock: an advance of a test clock returns when what became due has been delivered and has ended.
func TestClock(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.stop()
		test, err := clock.OpenTest("")
		if err != nil {
			t.Fatal(err)
		}
		w.clock = test
		w.start()
		ended := 0
		w.answer = func(ctx context.Context, _ protocron.Event) (protocron.Result, error) {
			work(ctx, time.Second) // of real time
			w.mu.Lock()
			defer w.mu.Unlock()
			ended++
			return protocron.Result{Outcome: "ok"}, nil
		}
		w.set("*/10 * * * *")
		if _, err := test.Advance(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		now := ended
		w.mu.Unlock()
		if now != 6 {
			t.Errorf("%d events have ended", now)
		}
		w.stop()
		test.Close()
		w.clock = nil
		w.start()
	})
}
