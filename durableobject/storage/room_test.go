package storage

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk that gets full breaks the object whose write it has no room for, and nothing else: what was stored is there, other
// objects are read and give room back, and once there is room everything goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	space := func(free uint64) {
		disk.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: 10 << 30, AvailBytes: free, UsedBytes: 10<<30 - free})
	}
	space(1 << 30)
	s := openTest(t, Options{FS: disk})
	a, b := named(s, "a"), named(s, "b")
	mustPut(t, a, "k", "before")
	mustFlush(t, a)
	mustPut(t, b, "k", "before")
	mustFlush(t, b)

	space(reserveBytes + 100)
	s.room.until.Store(0) // as if the last measurement were old
	mustPut(t, a, "k", "after")
	err := a.Flush().Wait(t.Context())
	if !errors.Is(err, ErrFull) || !errors.Is(err, ErrBroken) {
		t.Fatalf("commit: got %v, want ErrFull and ErrBroken", err)
	}
	if _, _, err := a.Get(t.Context(), "k", GetOptions{}); !errors.Is(err, ErrBroken) {
		t.Errorf("the object whose write was lost: got %v, want ErrBroken", err)
	}
	if err := named(s, "c").SetAlarm(t.Context(), time.Now(), PutOptions{}); err != nil {
		t.Error(err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("the store: %v", err)
	}
	if got := mustGet(t, named(s, "a"), "k"); got != "before" {
		t.Errorf("a: got %q, want what was acknowledged", got)
	}
	if got := mustGet(t, b, "k"); got != "before" {
		t.Errorf("b: got %q, want what was acknowledged", got)
	}
	if _, err := b.Delete(t.Context(), []string{"k"}, PutOptions{}); err != nil {
		t.Error(err)
	}
	mustFlush(t, b)
	r, err := s.Replace(testNamespace.UniqueKey(), testNamespace.FromName("d"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := errors.Join(r.Put("k", []byte("v")), r.Commit(t.Context())); !errors.Is(err, ErrFull) {
		t.Errorf("import: got %v, want ErrFull", err)
	}
	if _, _, err := named(s, "d").Get(t.Context(), "k", GetOptions{}); err != nil {
		t.Error(err)
	}

	space(1 << 30)
	again := named(s, "a")
	mustPut(t, again, "k", "after")
	mustFlush(t, again)
}

// A small disk keeps a share of itself, and a large commit needs room for itself.
func TestRoom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		total, free uint64
		n           int
		want        bool
	}{
		{10 << 30, 1 << 30, 1 << 20, true},
		{10 << 30, 64<<20 + 300, 100, true},
		{10 << 30, 64<<20 + 299, 100, false},
		{10 << 30, 64 << 20, 100, false},
		{10 << 30, 10, 100, false},
		{10 << 30, 1 << 30, 512 << 20, false},
		{100 << 20, 6 << 20, 1000, true},
		{100 << 20, 5 << 20, 1000, false},
	} {
		s := openTest(t, Options{})
		s.room.measure = func() (vfs.DiskUsage, error) {
			return vfs.DiskUsage{TotalBytes: tt.total, AvailBytes: tt.free}, nil
		}
		if got := s.room.take(tt.n); got != tt.want {
			t.Errorf("%d of %d bytes free, %d to write: got %v", tt.free, tt.total, tt.n, got)
		}
	}
}
