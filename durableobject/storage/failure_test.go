package storage

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

var testNamespace = objectid.NewNamespace("w-Class")

func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = "/state"
	}
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func named(s *Store, name string) *Object {
	return s.Object(testNamespace.UniqueKey(), testNamespace.FromName(name), Hooks{})
}

func mustPut(t testing.TB, o *Object, key, value string) {
	t.Helper()
	if err := o.Put(context.Background(), []Entry{{key, []byte(value)}}, PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

func mustFlush(t testing.TB, o *Object) {
	t.Helper()
	c := o.Flush()
	if c == nil {
		t.Fatal("nothing was pending")
	}
	if err := c.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// mustGet returns the value of a key, or "none".
func mustGet(t testing.TB, o *Object, key string) string {
	t.Helper()
	value, ok, err := o.Get(context.Background(), key, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "none"
	}
	return string(value)
}

// walFault fails syncs, or writes, of the log while it is on.
type walFault struct {
	on   atomic.Bool
	kind errorfs.OpKind
}

func (f *walFault) String() string { return "walFault" }

func (f *walFault) MaybeError(op errorfs.Op) error {
	if f.on.Load() && op.Kind == f.kind && strings.HasSuffix(filepath.Base(op.Path), ".log") {
		return errorfs.ErrInjected
	}
	return nil
}

// mustAllFail tries every operation.
func mustAllFail(t *testing.T, s *Store, want error, objects ...*Object) {
	t.Helper()
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	for _, o := range objects {
		_, _, err := o.Get(ctx, "k", GetOptions{})
		check("get", err)
		_, err = o.GetMany(ctx, []string{"k"}, GetOptions{})
		check("get many", err)
		_, err = o.List(ctx, ListOptions{})
		check("list", err)
		check("put", o.Put(ctx, []Entry{{"k", nil}}, PutOptions{}))
		_, err = o.Delete(ctx, []string{"k"}, PutOptions{})
		check("delete", err)
		check("delete all", o.DeleteAll(ctx))
		check("sync", o.Sync(ctx))
		check("transaction", o.Transaction(ctx, func(context.Context) error { return nil }))
		check("set alarm", o.SetAlarm(ctx, time.Now(), PutOptions{}))
		check("delete alarm", o.DeleteAlarm(ctx, PutOptions{}))
		_, _, err = o.Alarm(ctx)
		check("alarm", err)
		_, err = o.BeginAlarm(DueAlarm{})
		check("begin alarm", err)
		_, err = o.Empty()
		check("empty", err)
		_, _, err = o.Name()
		check("name", err)
		if c := o.Flush(); c != nil {
			check("commit", c.Err())
		}
	}
	_, err := s.DueAlarms(time.Now(), AlarmCursor{}, 0)
	check("due alarms", err)
	_, err = s.DropAlarm(DueAlarm{})
	check("drop alarm", err)
	_, err = s.Namespaces("", 0)
	check("namespaces", err)
	check("set epoch", s.SetEpoch(1<<40))
	check("err", s.Err())
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	o, pending := named(s, "a"), named(s, "b")
	mustPut(t, pending, "k", "v")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustAllFail(t, s, ErrClosed, o)
	if err := pending.Flush().Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("commit of what was pending: got %v, want ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// Close waits for the commits on their way.
func TestCloseFinishesCommits(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s := openTest(t, Options{FS: disk})
	o := named(s, "a")
	var commits []*Commit
	for range 100 {
		mustPut(t, o, "k", "v")
		commits = append(commits, o.Flush())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, c := range commits {
		select {
		case <-c.Done():
		default:
			t.Fatalf("commit %d is not done", i)
		}
		if err := c.Err(); err != nil {
			t.Errorf("commit %d: %v", i, err)
		}
	}
}

// G-8: a sync or write of the log that fails is the commit's error, and nothing is acknowledged or read from then
// on, of any object; what was acknowledged before is intact when the store is opened again, and the write that failed
// is whole or absent.
func TestFailedSyncBreaksTheStore(t *testing.T) {
	t.Parallel()
	kinds := map[string]errorfs.OpKind{
		"sync": errorfs.OpFileSyncData, "write": errorfs.OpFileWrite,
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := vfs.NewCrashableMem()
			fault := &walFault{kind: kind}
			s, err := Open(Options{Dir: "/state", FS: errorfs.Wrap(disk, fault)})
			if err != nil {
				t.Fatal(err)
			}
			a, b, pending := named(s, "a"), named(s, "b"), named(s, "d")
			mustPut(t, pending, "k", "pending")
			mustPut(t, a, "k", "before")
			mustFlush(t, a)
			mustPut(t, b, "k", "before")
			mustFlush(t, b)

			fault.on.Store(true)
			mustPut(t, a, "k", "after")
			mustPut(t, a, "l", "after")
			c := a.Flush()
			err = c.Wait(t.Context())
			if !errors.Is(err, ErrBroken) || !errors.Is(err, errorfs.ErrInjected) {
				t.Fatalf("commit: got %v, want ErrBroken with the cause", err)
			}
			<-s.Broken()
			mustAllFail(t, s, ErrBroken, a, b, named(s, "c"))
			if err := pending.Flush().Wait(t.Context()); !errors.Is(err, ErrBroken) {
				t.Errorf("commit of what was pending: got %v, want ErrBroken", err)
			}
			clone := disk.CrashClone(vfs.CrashCloneCfg{})
			if err := s.Close(); !errors.Is(err, ErrBroken) {
				t.Errorf("close: got %v, want ErrBroken", err)
			}
			again := openTest(t, Options{FS: clone})
			for _, name := range []string{"a", "b"} {
				if got := mustGet(t, named(again, name), "k"); got != "before" {
					t.Errorf("object %s after the crash: got %q, want what was acknowledged", name, got)
				}
			}
		})
	}
}
