package alarm

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
)

func openStore(t *testing.T, disk vfs.FS) *storage.Store {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: "/state", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish ends a run the way an actor does.
func finish(t *testing.T, o *storage.Object, d storage.DueAlarm, ok bool) {
	t.Helper()
	if begun, err := o.BeginAlarm(d); err != nil || !begun {
		t.Errorf("begin alarm: %v %v", begun, err)
	}
	if err := o.EndAlarm(ok); err != nil {
		t.Error(err)
	}
	if c := o.Flush(); c != nil {
		<-c.Done()
	}
}

// Ten thousand alarms due at one instant all run once, at that instant, and never more than Concurrency of them, nor
// goroutines for them, at a time.
//
//nolint:paralleltest // it counts the process's goroutines
func TestManyAlarmsAtOnce(t *testing.T) {
	const alarms, concurrency = 10_000, 100
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, vfs.NewMem())
		defer func() { _ = store.Close() }()
		due := time.Now().Add(time.Hour)
		for i := range alarms {
			o := store.Object("w-Class", namespace.FromName(fmt.Sprint(i)), storage.Hooks{})
			if err := o.SetAlarm(t.Context(), due, storage.PutOptions{}); err != nil {
				t.Fatal(err)
			}
			o.Flush()
		}
		var mu sync.Mutex
		runs, running, most := map[objectid.ID]int{}, 0, 0
		idle := runtime.NumGoroutine()
		deliver := func(_ context.Context, d storage.DueAlarm) Outcome {
			mu.Lock()
			runs[d.ID]++
			running++
			most = max(most, running)
			mu.Unlock()
			if !time.Now().Equal(due) {
				t.Errorf("run at %v, want %v", time.Now(), due)
			}
			finish(t, store.Object("w-Class", d.ID, storage.Hooks{}), d, true)
			mu.Lock()
			running--
			mu.Unlock()
			return OK
		}
		s, err := New(Options{Store: store, Concurrency: concurrency, Deliver: deliver})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > idle+10 {
			t.Errorf("%d goroutines while %d alarms are pending, %d before", n, alarms, idle)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(runs) != alarms {
			t.Errorf("%d of %d alarms ran", len(runs), alarms)
		}
		for id, n := range runs {
			if n != 1 {
				t.Errorf("alarm of %s ran %d times", id, n)
			}
		}
		if most > concurrency {
			t.Errorf("%d runs at a time, want at most %d", most, concurrency)
		}
		s.Close()
		page, err := store.DueAlarms(time.Now().Add(time.Hour), storage.AlarmCursor{}, 0)
		if err != nil || len(page.Alarms) > 0 {
			t.Errorf("%d alarms are left, %v", len(page.Alarms), err)
		}
	})
}

// Close ends the contexts of runs and waits for them; the alarm stays.
func TestCloseWaitsForRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, vfs.NewMem())
		defer func() { _ = store.Close() }()
		returned := false
		s, err := New(Options{Store: store, Deliver: func(ctx context.Context, d storage.DueAlarm) Outcome {
			<-ctx.Done()
			time.Sleep(time.Second) // what the handler does to end
			returned = true
			return Failed
		}})
		if err != nil {
			t.Fatal(err)
		}
		o := store.Object("w-Class", namespace.FromName("a"), storage.Hooks{})
		if err := o.SetAlarm(t.Context(), time.Now(), storage.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		o.Flush()
		synctest.Wait()
		s.Close()
		if !returned {
			t.Error("Close did not wait for the run")
		}
		s.Close()
		page, err := store.DueAlarms(time.Now(), storage.AlarmCursor{}, 0)
		if err != nil || len(page.Alarms) != 1 || page.Alarms[0].Retries != 0 {
			t.Errorf("got %+v, %v, want the alarm as it was", page.Alarms, err)
		}
	})
}

func TestNewRefusesBadOptions(t *testing.T) {
	t.Parallel()
	store := openStore(t, vfs.NewMem())
	defer func() { _ = store.Close() }()
	deliver := func(context.Context, storage.DueAlarm) Outcome { return OK }
	for name, o := range map[string]Options{
		"no store":             {Deliver: deliver},
		"no deliver":           {Store: store},
		"negative concurrency": {Store: store, Deliver: deliver, Concurrency: -1},
		"too much concurrency": {Store: store, Deliver: deliver, Concurrency: 1 << 20},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

// A store that breaks stops the scheduler's work but neither spins nor hangs it.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		store := openStore(t, vfs.NewMem())
		s, err := New(Options{Store: store, Log: lineLog(&log),
			Deliver: func(context.Context, storage.DueAlarm) Outcome { return OK }})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil { // the wrong way round
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		s.Close()
		if n := strings.Count(log.String(), "\n"); n < 1 || n > 25 {
			t.Errorf("%d lines were logged in ten minutes:\n%s", n, log.String())
		}
	})
}

// Random settings, deletions, outcomes and crashes: an alarm that was set and left alone runs, at its time or after,
// and at rest none is left over.
func TestRandomAlarms(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			randomAlarms(t, rand.New(rand.NewPCG(seed, 1)))
		})
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

func randomAlarms(t *testing.T, rng *rand.Rand) {
	e := newEnv(t)
	e.concurrency = 1 + rng.IntN(4)
	e.start()
	names := []string{"a", "b", "c", "d", "e"}
	steps := []string{"ok", "ok", "fail", "internal", "take=3s,ok", "take=1s,fail", "set=2s,fail", "set=0s,flush,ok"}
	for _, name := range names {
		for range 10 {
			e.handlers[name] = append(e.handlers[name], steps[rng.IntN(len(steps))])
		}
		e.handlers[name] = append(e.handlers[name], "ok")
	}
	set := map[string]time.Time{} // settings that nothing may have undone
	for range 40 {
		name := names[rng.IntN(len(names))]
		switch rng.IntN(8) {
		case 0:
			o := e.object(name)
			_ = o.DeleteAlarm(t.Context(), storage.PutOptions{})
			if c := o.Flush(); c != nil {
				<-c.Done()
			}
			delete(set, name)
		case 1:
			clone := e.disk.CrashClone(vfs.CrashCloneCfg{})
			e.stop()
			e.disk = clone
			e.start()
		case 2, 3:
			delay := time.Duration(rng.IntN(5000)) * time.Millisecond
			e.set(name, delay.String())
			set[name] = time.Now().Add(delay)
		default:
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	page, err := e.store.DueAlarms(time.Now().Add(1000*time.Hour), storage.AlarmCursor{}, 0)
	if err != nil || len(page.Alarms) > 0 {
		t.Errorf("%d alarms are left at rest, %v", len(page.Alarms), err)
	}
	for name, at := range set {
		clock := at.UTC().Format("15:04:05.000")
		ran := slices.ContainsFunc(e.log, func(line string) bool {
			return strings.HasPrefix(line[13:], name+" ") && line[:12] >= clock
		})
		if !ran {
			t.Errorf("alarm of %s at %s did not run:\n%s", name, clock, strings.Join(e.log, "\n"))
		}
	}
	e.stop()
}

func lineLog(b *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
