package host

import (
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A shard gives back the room of entries that have expired, and keeps those that have not.
func TestShardShrinks(t *testing.T) {
	t.Parallel()
	key := func(i int) (k tableKey) {
		binary.BigEndian.PutUint32(k.id[:], uint32(i))
		return k
	}
	var table table
	for i := range 1000 {
		table.entry(key(i))
	}
	s := table.entry(key(0)).shard
	for i := range 1000 - minShrink {
		s.removeLocked(key(i))
	}
	if s.peak > 1000/2 {
		t.Errorf("after most entries were removed: room for %d", s.peak)
	}
	if got := len(s.entries); got != minShrink || s.entries[key(999)] == nil {
		t.Errorf("%d entries are left, want %d with the last one", got, minShrink)
	}
	for i := range 1000 {
		s.removeLocked(key(i))
	}
	if len(s.entries) != 0 {
		t.Errorf("%d entries are left", len(s.entries))
	}
}

// Entries are looked at in the order of their times, whichever way these came about, and the agenda gives its room back.
func TestAgenda(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := table{memory: newReclaimer()}
		began := time.Now()
		var s *shard
		for i := range 1000 {
			var k tableKey
			binary.BigEndian.PutUint32(k.id[:], uint32(i))
			e := table.entry(k)
			s = e.shard
			s.mu.Lock()
			s.checkLater(e, time.Duration(1000-i)*time.Second) // those made later first
			s.mu.Unlock()
		}
		s.mu.Lock()
		last := s.checks.entries[0]
		s.mu.Unlock()
		last.checkSooner(time.Millisecond)
		for _, c := range []struct {
			after time.Duration
			left  int
		}{{time.Millisecond, 999}, {500 * time.Second, 500}, {999 * time.Second, 1}, {1000 * time.Second, 0}} {
			time.Sleep(time.Until(began.Add(c.after)))
			synctest.Wait()
			s.mu.Lock()
			if len(s.entries) != c.left || s.checks.Len() != c.left {
				t.Errorf("after %v: %d entries and %d checks, want %d", c.after, len(s.entries), s.checks.Len(), c.left)
			}
			if room := cap(s.checks.entries); room > 4*max(c.left, minShrink) {
				t.Errorf("after %v: room for %d checks", c.after, room)
			}
			s.mu.Unlock()
		}
	})
}

// Once evicted objects have expired, the host holds no memory for them. Not parallel, for it looks at the heap.
func TestNothingIsKeptOfEvictedObjects(t *testing.T) {
	const objects = 8_000
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, vfs.NewMem(), (&testClass{}).classes())
		s.serve()
		defer s.close()
		wave := func(name string) uint64 {
			for i := range objects {
				s.serial(fmt.Sprint(name, i))
			}
			if entries, _ := s.host.table.size(); entries < objects {
				t.Fatalf("only %d entries while they live", entries)
			}
			time.Sleep(ExpiryTimeout + time.Second)
			synctest.Wait()
			if entries, _ := s.host.table.size(); entries != 0 {
				t.Fatalf("%d entries are left", entries)
			}
			return heapBytes()
		}
		wave("a") // what the first calls make for good is not the objects'
		before := wave("b")
		// What is kept for objects is kept in every wave; what else the process makes room for now and then, is not.
		var kept float64
		for _, name := range []string{"c", "d", "e"} {
			after := wave(name)
			if kept = (float64(after) - float64(before)) / objects; kept <= 8 {
				return
			}
			before = after
		}
		t.Errorf("%.1f bytes of heap are kept for each evicted object", kept)
	})
}
