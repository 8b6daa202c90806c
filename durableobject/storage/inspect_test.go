package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/objectid"
)

const inspected = "w-Class"

func inspectedID(name string) objectid.ID { return objectid.NewNamespace(inspected).FromName(name) }

// fillObject gives an object a name, some keys and an alarm, durably.
func fillObject(t testing.TB, s *Store, name string, keys int, alarm time.Time) *Object {
	t.Helper()
	o := s.Object(inspected, inspectedID(name), Hooks{})
	o.SetName(name)
	for i := range keys {
		mustPut(t, o, fmt.Sprintf("k%04d", i), "v")
	}
	if !alarm.IsZero() {
		if err := o.SetAlarm(t.Context(), alarm, PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mustFlush(t, o)
	return o
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	fillObject(t, s, "many", 12, time.Time{})
	fillObject(t, s, "alarm", 0, at)
	fillObject(t, s, "both", 3, at)
	got := map[string]Summary{}
	var after *objectid.ID
	for {
		page, err := s.Summaries(t.Context(), inspected, after, 2, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, o := range page {
			got[o.Name] = o
		}
		after = &page[len(page)-1].ID
	}
	alarm := &AlarmState{ScheduledTime: at, Due: at}
	want := map[string]Summary{
		"many":  {ID: inspectedID("many"), Name: "many", HasName: true, Keys: 5, MoreKeys: true},
		"alarm": {ID: inspectedID("alarm"), Name: "alarm", HasName: true, Alarm: alarm},
		"both":  {ID: inspectedID("both"), Name: "both", HasName: true, Alarm: alarm, Keys: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok, err := s.Summary(t.Context(), inspected, inspectedID("none"), 1); ok || err != nil {
		t.Errorf("an object without state: %v, %v", ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Summaries(ctx, inspected, nil, 0, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("a read whose caller has gone: %v", err)
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	o := s.Object(inspected, inspectedID("a"), Hooks{})
	for _, key := range []string{"a", "b\x00", "b1", "b2", "b\xff", "c"} {
		mustPut(t, o, key, "of "+key)
	}
	mustFlush(t, o)
	fillObject(t, s, "b", 3, time.Time{})
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		prefix string
		after  *string
		limit  int
		want   []string
	}{
		{"", nil, 9, []string{"a", "b\x00", "b1", "b2", "b\xff", "c"}},
		{"b", nil, 9, []string{"b\x00", "b1", "b2", "b\xff"}},
		{"b", text("b1"), 9, []string{"b2", "b\xff"}},
		{"b", text("c"), 9, nil},
		{"", text("b\xff"), 9, []string{"c"}},
		{"", text(""), 1, []string{"a"}},
		{"x", nil, 9, nil},
	} {
		var got []string
		err := s.Scan(t.Context(), inspected, inspectedID("a"), tt.prefix, tt.after, func(key, value []byte) (bool, error) {
			if string(value) != "of "+string(key) {
				t.Errorf("value of %q is %q", key, value)
			}
			got = append(got, string(key))
			return len(got) < tt.limit, nil
		})
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("prefix %q after %v: got %q, %v; want %q", tt.prefix, tt.after, got, err, tt.want)
		}
	}
	fault := errors.New("enough")
	if err := s.Scan(t.Context(), inspected, inspectedID("a"), "", nil, func(_, _ []byte) (bool, error) {
		return true, fault
	}); !errors.Is(err, fault) {
		t.Errorf("the func's error became %v", err)
	}
}

// What a read tells is on disk: it survives a crash right after.
func TestReadsTellWhatIsOnDisk(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		disk := vfs.NewCrashableMem()
		s := openTest(t, Options{Dir: "store", FS: disk})
		o := s.Object(inspected, inspectedID("a"), Hooks{})
		mustPut(t, o, "k", "v")
		o.Flush() // applied, and on its way
		seen := 0
		err := s.Scan(t.Context(), inspected, inspectedID("a"), "", nil, func(_, _ []byte) (bool, error) {
			seen++
			return true, nil
		})
		crashed := disk.CrashClone(vfs.CrashCloneCfg{})
		if err != nil || seen != 1 {
			t.Fatalf("saw %d keys, %v", seen, err)
		}
		again := openTest(t, Options{Dir: "store", FS: crashed})
		if got := mustGet(t, again.Object(inspected, inspectedID("a"), Hooks{}), "k"); got != "v" {
			t.Fatalf("run %d: what was told is gone after a crash: %q", i, got)
		}
	}
}

// A replacement is there whole, with alarm, index entry and name, and nothing of the old state is.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	id := inspectedID("a")
	fillObject(t, s, "a", 100, time.Now().Add(time.Hour)).Close()
	fillObject(t, s, "b", 2, time.Time{})
	var set []DueAlarm
	s.OnAlarm(func(d DueAlarm) { set = append(set, d) })
	due := time.UnixMilli(2000)
	r, err := s.Replace(inspected, id)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(r.SetName("a"), r.Put("x", []byte("1")), r.Put("y", nil), r.SetAlarm(AlarmState{
		ScheduledTime: time.UnixMilli(1000), Due: due, Retries: 3, Counted: 2,
	}))
	if err == nil {
		err = r.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	got, _, err := s.Summary(t.Context(), inspected, id, 1000)
	want := Summary{ID: id, Name: "a", HasName: true, Keys: 2, Alarm: &AlarmState{time.UnixMilli(1000), due, 3, 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	page, err := s.DueAlarms(time.Now().Add(2*time.Hour), AlarmCursor{}, 0)
	if err != nil || len(page.Alarms) != 1 || !page.Alarms[0].Due.Equal(due) || page.Alarms[0].Retries != 3 {
		t.Errorf("alarm index: %+v, %v", page, err)
	}
	if len(set) != 1 || !set[0].Due.Equal(due) {
		t.Errorf("the scheduler was told %+v", set)
	}
	if err := s.Remove(t.Context(), inspected, id); err != nil {
		t.Fatal(err)
	}
	if page, err = s.DueAlarms(time.Now().Add(2*time.Hour), AlarmCursor{}, 0); err != nil || len(page.Alarms) != 0 {
		t.Errorf("alarm index after the removal: %+v, %v", page, err)
	}
	if ids, err := s.Objects(inspected, nil, 0); err != nil || len(ids) != 1 || ids[0] != inspectedID("b") {
		t.Errorf("objects after the removal: %v, %v", ids, err)
	}
}

// A crash keeps the old state or the new one.
func TestReplaceIsAtomic(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	s := openTest(t, Options{Dir: "store", FS: disk})
	fillObject(t, s, "a", 10, time.Time{}).Close()
	r, err := s.Replace(inspected, inspectedID("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 20 {
		if err := r.Put(fmt.Sprintf("n%02d", i), bytes.Repeat([]byte("x"), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...int) {
		t.Helper()
		again := openTest(t, Options{Dir: "store", FS: disk.CrashClone(vfs.CrashCloneCfg{})})
		got, _, err := again.Summary(t.Context(), inspected, inspectedID("a"), 1000)
		if err != nil || !slices.Contains(want, got.Keys) {
			t.Errorf("%d keys after a crash, want one of %v; %v", got.Keys, want, err)
		}
	}
	check(10)
	if err := r.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(20)
}

func TestReplacementLimits(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{Limits: LegacyLimits()})
	r, err := s.Replace(inspected, inspectedID("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	now := time.Now()
	for name, err := range map[string]error{
		"key":      r.Put(strings.Repeat("k", maxKeyBytes+1), nil),
		"value":    r.Put("k", make([]byte, maxValueBytes+1)),
		"name":     r.SetName(strings.Repeat("n", 1025)),
		"no time":  r.SetAlarm(AlarmState{}),
		"counts":   r.SetAlarm(AlarmState{ScheduledTime: now, Due: now, Retries: 1, Counted: 2}),
		"too late": r.SetAlarm(AlarmState{ScheduledTime: now, Due: time.UnixMilli(maxAlarmMillis + 1)}),
	} {
		var limit *Error
		if !errors.As(err, &limit) {
			t.Errorf("%s: got %v, want an *Error", name, err)
		}
	}
	if _, err := s.Replace("a\x00b", inspectedID("a")); err == nil {
		t.Error("a bad namespace is taken")
	}
	if err := r.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids, err := s.Objects(inspected, nil, 0); err != nil || len(ids) != 0 {
		t.Errorf("what was refused left something: %v, %v", ids, err)
	}
}

func TestHastenAlarm(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	fillObject(t, s, "a", 0, at)
	now := time.Now()
	d, ok, err := s.HastenAlarm(t.Context(), inspected, inspectedID("a"), now)
	if err != nil || !ok || !d.ScheduledTime.Equal(at) || d.Due.After(now) {
		t.Fatalf("got %+v, %v, %v", d, ok, err)
	}
	page, err := s.DueAlarms(now, AlarmCursor{}, 0)
	if err != nil || len(page.Alarms) != 1 || !page.Alarms[0].Same(d) {
		t.Fatalf("due alarms: %+v, %v", page, err)
	}
	if _, fresh, err := s.CheckAlarm(page.Alarms[0]); err != nil || !fresh {
		t.Errorf("the run is stale: %v, %v", fresh, err)
	}
	if page, err = s.DueAlarms(at, AlarmCursor{}, 0); err != nil || len(page.Alarms) != 1 {
		t.Errorf("the index has an entry too many: %+v, %v", page, err)
	}
	if _, ok, err := s.HastenAlarm(t.Context(), inspected, inspectedID("none"), now); ok || err != nil {
		t.Errorf("no alarm: %v, %v", ok, err)
	}
}

// files returns the content of every file in a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Looking into a store changes no file of it, not even after a crash that left a log to replay.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	fillObject(t, s, "a", 5, time.Now().Add(time.Hour))
	if _, err := OpenReadOnly(Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("a store in use: got %v, want ErrLocked", err)
	}
	crashed := filepath.Join(t.TempDir(), "store") // as a kill -9 leaves it: nothing is closed
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, crashed} {
		before := files(t, dir)
		s, err := OpenReadOnly(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		o, ok, err := s.Summary(t.Context(), inspected, inspectedID("a"), 10)
		if err != nil || !ok || o.Keys != 5 || o.Alarm == nil {
			t.Errorf("got %+v, %v, %v", o, ok, err)
		}
		if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) {
			t.Errorf("a store that is looked at: got %v, want ErrLocked", err)
		}
		if err := s.Remove(t.Context(), inspected, inspectedID("a")); !errors.Is(err, ErrReadOnly) {
			t.Errorf("remove: got %v, want ErrReadOnly", err)
		}
		w := s.Object(inspected, inspectedID("a"), Hooks{})
		mustPut(t, w, "k", "v")
		if c := w.Flush(); !errors.Is(c.Wait(t.Context()), ErrReadOnly) {
			t.Errorf("flush: got %v, want ErrReadOnly", c.Err())
		}
		if err := errors.Join(s.Settle(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, files(t, dir)); diff != "" {
			t.Errorf("files have changed: %s", diff)
		}
	}
	for name, dir := range map[string]string{"missing": filepath.Join(dir, "none"), "empty": t.TempDir()} {
		if _, err := OpenReadOnly(Options{Dir: dir}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s directory: got %v", name, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s directory: something was made in it", name)
		}
	}
}
