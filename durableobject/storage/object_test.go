package storage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/objectid"
)

var errHook = errors.New("not in turn")

// Every operation asks whether it is within its turn.
func TestOperationsOutsideTheTurnAreRefused(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	o := s.Object("w-Class", testNamespace.FromName("a"), Hooks{
		InTurn: func(context.Context) error { return errHook },
	})
	ctx := t.Context()
	operations := map[string]func() error{
		"get":         func() error { _, _, err := o.Get(ctx, "k", GetOptions{}); return err },
		"getMany":     func() error { _, err := o.GetMany(ctx, []string{"k"}, GetOptions{}); return err },
		"list":        func() error { _, err := o.List(ctx, ListOptions{}); return err },
		"put":         func() error { return o.Put(ctx, []Entry{{"k", nil}}, PutOptions{}) },
		"delete":      func() error { _, err := o.Delete(ctx, []string{"k"}, PutOptions{}); return err },
		"deleteAll":   func() error { return o.DeleteAll(ctx) },
		"sync":        func() error { return o.Sync(ctx) },
		"transaction": func() error { return o.Transaction(ctx, func(context.Context) error { return nil }) },
		"rollback":    func() error { return o.Rollback(ctx) },
		"getAlarm":    func() error { _, _, err := o.Alarm(ctx); return err },
		"setAlarm":    func() error { return o.SetAlarm(ctx, parseTime(t, "+1s"), PutOptions{}) },
		"deleteAlarm": func() error { return o.DeleteAlarm(ctx, PutOptions{}) },
	}
	for name, operation := range operations {
		if err := operation(); !errors.Is(err, errHook) {
			t.Errorf("%s: got %v, want the hook's error", name, err)
		}
	}
	if c := o.Flush(); c != nil {
		t.Error("a refused operation wrote")
	}
}

// Observe is told of each operation once, with its result.
func TestObserve(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	var seen []string
	o := s.Object("w-Class", testNamespace.FromName("a"), Hooks{
		Observe: func(_ context.Context, operation string) func(error) {
			if operation == "sync" {
				return nil
			}
			return func(err error) { seen = append(seen, fmt.Sprintf("%s %v", operation, err)) }
		},
	})
	ctx := t.Context()
	mustPut(t, o, "k", "v")
	_, _, _ = o.Get(ctx, "k", GetOptions{})
	_, _ = o.GetMany(ctx, []string{"k"}, GetOptions{})
	_, _ = o.List(ctx, ListOptions{Limit: -1})
	_, _ = o.Delete(ctx, []string{"k"}, PutOptions{})
	_ = o.Sync(ctx)
	_ = o.SetAlarm(ctx, parseTime(t, "+1s"), PutOptions{})
	_, _, _ = o.Alarm(ctx)
	_ = o.DeleteAlarm(ctx, PutOptions{})
	_ = o.DeleteAll(ctx)
	_ = o.Transaction(ctx, func(context.Context) error { return errHook })
	want := []string{
		"put <nil>", "get <nil>", "get <nil>", "list List limit must be positive.", "delete <nil>",
		"setAlarm <nil>", "getAlarm <nil>", "deleteAlarm <nil>", "deleteAll <nil>", "transaction not in turn",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

// KV-11: sync waits within Await, which flushes as an actor does that gives the turn away.
func TestSyncGivesTheTurnAway(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	var o *Object
	var awaited bool
	o = s.Object("w-Class", testNamespace.FromName("a"), Hooks{
		Await: func(ctx context.Context, fn func(context.Context) error) error {
			o.Flush()
			awaited = true
			return fn(ctx)
		},
	})
	mustPut(t, o, "k", "v")
	if err := o.Sync(t.Context()); err != nil || !awaited {
		t.Fatalf("sync: %v, awaited: %v", err, awaited)
	}
	select {
	case <-o.Last().Done():
	default:
		t.Error("sync returned before the commit was done")
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errHook)
	c := &Commit{done: make(chan struct{})}
	if err := c.Wait(ended); !errors.Is(err, errHook) {
		t.Errorf("wait with an ended context: got %v, want its cause", err)
	}
}

// TX-1: a transaction is one critical section, however it nests, and its error is not the section's.
func TestTransactionIsACriticalSection(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	sections := 0
	var sectionErr error
	o := s.Object("w-Class", testNamespace.FromName("a"), Hooks{
		CriticalSection: func(ctx context.Context, fn func(context.Context) error) error {
			sections++
			if err := fn(ctx); err != nil {
				t.Errorf("the section got %v", err)
			}
			return sectionErr
		},
	})
	err := o.Transaction(t.Context(), func(ctx context.Context) error {
		return o.Transaction(ctx, func(ctx context.Context) error {
			mustPut(t, o, "k", "v")
			return errHook
		})
	})
	if !errors.Is(err, errHook) || sections != 1 {
		t.Errorf("got %v in %d sections, want the function's error in one", err, sections)
	}
	sectionErr = errors.New("broken")
	err = o.Transaction(t.Context(), func(ctx context.Context) error { return nil })
	if !errors.Is(err, sectionErr) {
		t.Errorf("got %v, want the section's error", err)
	}
}

// Without a hook that makes them wait, two transactions at a time are refused, and so is use of a context whose
// transaction has ended.
func TestTransactionsDoNotOverlap(t *testing.T) {
	t.Parallel()
	o := named(openTest(t, Options{}), "a")
	none := func(context.Context) error { return nil }
	var inner context.Context
	err := o.Transaction(t.Context(), func(ctx context.Context) error {
		if err := o.Transaction(t.Context(), none); err == nil {
			t.Error("a second transaction began beside the first")
		}
		if err := o.Transaction(ctx, func(ctx context.Context) error { inner = ctx; return nil }); err != nil {
			t.Error(err)
		}
		if err := o.Transaction(inner, none); err == nil {
			t.Error("a transaction began in one that has ended")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := o.Transaction(inner, none); err == nil {
		t.Error("a transaction began in one that has ended, after all")
	}
}

// A panic in a transaction undoes it and goes on.
func TestTransactionPanics(t *testing.T) {
	t.Parallel()
	o := named(openTest(t, Options{}), "a")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = o.Transaction(t.Context(), func(ctx context.Context) error {
			mustPut(t, o, "k", "half")
			panic("thrown")
		})
	}()
	if got := mustGet(t, o, "k"); got != "none" {
		t.Errorf("got %q, want the write undone", got)
	}
	if err := o.Transaction(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Values are copied on the way in, and what was read stays as it was.
func TestValuesAreCopied(t *testing.T) {
	t.Parallel()
	o := named(openTest(t, Options{}), "a")
	value := []byte("value")
	if err := o.Put(t.Context(), []Entry{{"k", value}}, PutOptions{}); err != nil {
		t.Fatal(err)
	}
	copy(value, "XXXXX")
	pending, _, _ := o.Get(t.Context(), "k", GetOptions{})
	mustFlush(t, o)
	disk, _, _ := o.Get(t.Context(), "k", GetOptions{})
	listed, _ := o.List(t.Context(), ListOptions{})
	mustPut(t, o, "k", "other")
	mustFlush(t, o)
	for what, got := range map[string][]byte{"pending": pending, "disk": disk, "listed": listed[0].Value} {
		if string(got) != "value" {
			t.Errorf("%s: got %q, want %q", what, got, "value")
		}
	}
}

// Limits on what is pending and on what a list returns.
func TestSizeLimits(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{Limits: Limits{PendingBytes: 1000, ListBytes: 500}})
	o := named(s, "a")
	mustPut(t, o, "first", strings.Repeat("x", 900))
	var fault *Error
	err := o.Put(t.Context(), []Entry{{"second", make([]byte, 200)}}, PutOptions{})
	if !errors.As(err, &fault) || fault.Class != "RangeError" {
		t.Errorf("put beyond the limit: got %v, want a RangeError", err)
	}
	err = o.Transaction(t.Context(), func(ctx context.Context) error {
		return o.Put(ctx, []Entry{{"second", make([]byte, 200)}}, PutOptions{})
	})
	if !errors.As(err, &fault) {
		t.Errorf("put beyond the limit in a transaction: got %v, want a RangeError", err)
	}
	if _, err := o.List(t.Context(), ListOptions{}); !errors.As(err, &fault) {
		t.Errorf("list beyond the limit: got %v, want a RangeError", err)
	}
	mustFlush(t, o)
	if _, err := o.List(t.Context(), ListOptions{}); !errors.As(err, &fault) {
		t.Errorf("list of the disk beyond the limit: got %v, want a RangeError", err)
	}
	// The flush made room.
	mustPut(t, o, "second", strings.Repeat("x", 900))
}

// A turn larger than half a memtable takes Pebble's path for large batches.
func TestLargeCommit(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	o := named(openTest(t, Options{FS: disk}), "a")
	value := strings.Repeat("0123456789abcdef", 1<<16)
	for i := range 20 {
		mustPut(t, o, fmt.Sprint("k", i), value)
	}
	mustFlush(t, o)
	mustPut(t, o, "after", "v")
	mustFlush(t, o)
	again := named(openTest(t, Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})}), "a")
	entries, err := again.List(t.Context(), ListOptions{Prefix: "k"})
	if err != nil || len(entries) != 20 {
		t.Fatalf("got %d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if string(e.Value) != value {
			t.Errorf("value of %s is damaged", e.Key)
		}
	}
	if got := mustGet(t, again, "after"); got != "v" {
		t.Errorf("after: got %q", got)
	}
}

// Many objects commit at once from many goroutines while the store is listed, and all is there after a crash.
func TestConcurrentObjects(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	s := openTest(t, Options{FS: disk})
	const objects, turns = 50, 20
	var group sync.WaitGroup
	for i := range objects {
		group.Go(func() {
			o := named(s, fmt.Sprint(i))
			for turn := range turns {
				mustPut(t, o, "turn", fmt.Sprint(turn))
				if err := o.SetAlarm(t.Context(), parseTime(t, "+1h"), PutOptions{}); err != nil {
					t.Error(err)
				}
				c := o.Flush()
				if turn == turns-1 {
					<-c.Done()
				}
			}
		})
	}
	group.Go(func() {
		for range 20 {
			if _, err := s.Objects("w-Class", nil, 0); err != nil {
				t.Error(err)
			}
			if _, err := s.DueAlarms(parseTime(t, "+2h"), AlarmCursor{}, 0); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	again := openTest(t, Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})})
	for i := range objects {
		if got := mustGet(t, named(again, fmt.Sprint(i)), "turn"); got != fmt.Sprint(turns-1) {
			t.Errorf("object %d: got turn %s", i, got)
		}
	}
	page, err := again.DueAlarms(parseTime(t, "+2h"), AlarmCursor{}, 0)
	if err != nil || len(page.Alarms) != objects {
		t.Errorf("got %d alarms, %v, want %d", len(page.Alarms), err, objects)
	}
}

// Commits of one object are done in order, and Last covers them all.
func TestCommitsAreDoneInOrder(t *testing.T) {
	t.Parallel()
	o := named(openTest(t, Options{}), "a")
	var commits []*Commit
	for i := range 200 {
		mustPut(t, o, "k", fmt.Sprint(i))
		commits = append(commits, o.Flush())
	}
	if o.Last() != commits[len(commits)-1] {
		t.Error("Last is not the last commit")
	}
	for i, c := range slices.Backward(commits) {
		<-c.Done()
		for j := range i {
			select {
			case <-commits[j].Done():
			default:
				t.Fatalf("commit %d is done before commit %d", i, j)
			}
		}
	}
}

// Pages of objects and namespaces go on where the last one ended.
func TestPages(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	want := map[objectid.ID]bool{}
	for i := range 2*MaxPage + 10 {
		o := named(s, fmt.Sprint(i))
		mustPut(t, o, "k", "v")
		o.Flush()
		want[o.ID()] = true
	}
	var got []objectid.ID
	var after *objectid.ID
	for {
		page, err := s.Objects("w-Class", after, MaxPage+1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > MaxPage {
			t.Fatalf("a page of %d", len(page))
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = &page[len(page)-1]
	}
	if len(got) != len(want) {
		t.Errorf("got %d objects, want %d", len(got), len(want))
	}
	if !slices.IsSortedFunc(got, func(a, b objectid.ID) int { return strings.Compare(string(a[:]), string(b[:])) }) {
		t.Error("objects are not in order")
	}
}

// An idle object costs less than 500 bytes, also after it wrote.
func TestIdleObjectIsSmall(t *testing.T) {
	s := openTest(t, Options{})
	mustPut(t, named(s, "warm"), "k", "v")
	id := testNamespace.FromName("a")
	const count = 10_000
	objects := make([]*Object, count)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range objects {
		objects[i] = s.Object("worker-SessionClass", id, Hooks{})
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / count; got > 500 {
		t.Errorf("an object costs %d bytes, want at most 500", got)
	}
	runtime.KeepAlive(objects)
	o := named(s, "b")
	mustPut(t, o, "k", "v")
	mustFlush(t, o)
	if o.top != nil || cap(o.prefix) > 256 {
		t.Errorf("an idle object keeps its writes (%v) or %d bytes of a key", o.top, cap(o.prefix))
	}
}
