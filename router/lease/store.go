package lease

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/router/placement"
)

// MaxHosts is how many hosts a store remembers.
const MaxHosts = 1000

// ErrFull is returned by Grant for a new host when MaxHosts are known.
var ErrFull = errors.New("too many hosts are known")

// Options say how a store is opened.
type Options struct {
	// Dir is the store's directory. It is created, and locked until Close.
	Dir string
	// FS is the file system; nil means the disk.
	FS vfs.FS
	// Log takes the store's log; nil discards it.
	Log *slog.Logger
}

// Record is a host's lease.
type Record struct {
	// HostID names the host's store, Incarnation the start of its process: 32 hex digits each.
	HostID      string `json:"host_id"`
	Incarnation string `json:"incarnation"`
	// Address is where the host serves, a gRPC target.
	Address string `json:"address"`
	// Namespaces are the unique keys that it serves.
	Namespaces []string `json:"namespaces"`
	// Epoch is what calls to this incarnation carry.
	Epoch uint64 `json:"epoch"`
	// Ended is true when the host has left.
	Ended bool `json:"ended,omitempty"`
}

// Store is an open store. What Grant, End and Place do is seen at once by this store's readers, and is on
// disk when Commit has returned nil. After an error of Commit the store must be closed.
type Store struct {
	db     *pebble.DB
	lock   *pebble.Lock
	staged *pebble.Batch // nil when nothing is staged

	epoch      uint64
	leases     map[string]Record
	placements map[placement.Slot]string
}

// Grant gives a host its lease. A new incarnation gets an epoch above every one before; the same one keeps
// its epoch, and may say another address or other namespaces. rec's Epoch is one that a new one must be above, as well;
// Ended is ignored. It returns
// ErrFull for a new host too many.
func (s *Store) Grant(rec Record) (Record, error) {
	have, known := s.leases[rec.HostID]
	if !known && len(s.leases) >= MaxHosts {
		return Record{}, fmt.Errorf("grant a lease to host %s: %w: %d", rec.HostID, ErrFull, len(s.leases))
	}
	rec.Ended = false
	above := rec.Epoch
	rec.Epoch = have.Epoch
	if !known || have.Incarnation != rec.Incarnation {
		s.epoch = max(s.epoch, above) + 1
		rec.Epoch = s.epoch
		s.stage(keyEpoch, encodeEpoch(s.epoch))
	}
	s.putLease(rec)
	return rec, nil
}

// End notes that a host has left, so that it is not taken for alive when the router restarts. A lease under
// another epoch is left alone.
func (s *Store) End(hostID string, epoch uint64) {
	rec, ok := s.leases[hostID]
	if !ok || rec.Epoch != epoch || rec.Ended {
		return
	}
	rec.Ended = true
	s.putLease(rec)
}

func (s *Store) putLease(rec Record) {
	s.leases[rec.HostID] = rec
	s.stage(prefixLease+rec.HostID, encodeRecord(rec))
}

// Lease returns a host's lease.
func (s *Store) Lease(hostID string) (Record, bool) {
	rec, ok := s.leases[hostID]
	return rec, ok
}

// Leases calls yield with every lease, in no order.
func (s *Store) Leases(yield func(Record) bool) {
	for _, rec := range s.leases {
		if !yield(rec) {
			return
		}
	}
}

// Place binds a slot to a host for good. It panics when the slot is placed: a host's store is local, so a
// slot that moved would lose its objects.
func (s *Store) Place(slot placement.Slot, hostID string) {
	if have, ok := s.placements[slot]; ok {
		panic(fmt.Sprintf("lease: slot %d of %q is placed on host %s already", slot.Number, slot.Namespace, have))
	}
	s.Move(slot, hostID)
}

// Move binds a slot to another host than before, whose store has its objects from now on.
func (s *Store) Move(slot placement.Slot, hostID string) {
	s.placements[slot] = hostID
	s.stage(placementKey(slot), []byte(hostID))
}

// Placement returns the host of a slot.
func (s *Store) Placement(slot placement.Slot) (hostID string, ok bool) {
	hostID, ok = s.placements[slot]
	return hostID, ok
}

// Epoch returns the highest epoch granted.
func (s *Store) Epoch() uint64 { return s.epoch }

// Commit puts everything staged on disk, as one.
func (s *Store) Commit() error {
	if s.staged == nil {
		return nil
	}
	b := s.staged
	s.staged = nil
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("commit to the router's store: %w", err)
	}
	return b.Close()
}

// Close closes the store; what was not committed is lost.
func (s *Store) Close() error {
	var err error
	if s.staged != nil {
		err = s.staged.Close()
	}
	return errors.Join(err, s.db.Close(), s.lock.Close())
}

func (s *Store) stage(key string, value []byte) {
	if s.staged == nil {
		s.staged = s.db.NewBatch()
	}
	if err := s.staged.Set([]byte(key), value, nil); err != nil {
		panic(fmt.Sprintf("lease: stage %q: %v", key, err)) // a batch in memory takes every key
	}
}
