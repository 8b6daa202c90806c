package host

import (
	"encoding/binary"
	"testing"
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
