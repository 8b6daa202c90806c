package lease

import (
	"testing"

	"github.com/tandem-do/tandem/router/placement"
)

// Whatever a damaged store holds, it is an error and no panic.
func FuzzLoad(f *testing.F) {
	f.Add(keyEpoch, []byte("12345678"))
	f.Add(prefixLease+"a", encodeRecord(Record{HostID: "a", Epoch: 1}))
	f.Add(placementKey(placement.Slot{Namespace: "x-A", Number: 7}), []byte("a"))
	f.Add(keyFormat, []byte("1"))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		s := &Store{leases: map[string]Record{}, placements: map[placement.Slot]string{}}
		if _, err := s.loadKey(key, value); err != nil {
			return
		}
		if err := s.check(); err == nil && len(s.placements) != 0 {
			t.Errorf("a placement on an unknown host was taken: %q", key)
		}
	})
}
