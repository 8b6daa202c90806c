package storage

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/durableobject/clock"
)

// Store holds the objects of one host. Its methods may be called from any goroutine.
type Store struct {
	db     *pebble.DB
	dir    string
	log    *slog.Logger
	limits Limits
	hostID string
	clock  clock.Clock
	// readOnly refuses every write.
	readOnly bool

	fault      atomic.Pointer[error] // why the store is broken; nil while it is not
	broken     chan struct{}         // closed when fault is set
	commits    chan *Commit          // applied, sync not yet waited for
	completing sync.WaitGroup        // the goroutine that waits for syncs
	epoch      atomic.Uint64
	// epochMu serializes SetEpoch. Lock order: epochMu, mu.
	epochMu sync.Mutex

	// recalled counts the bytes that objects remember, of mostRecalled.
	recalled     atomic.Int64
	mostRecalled int64

	// room tells when the disk is full.
	room room

	// slow is closed when the commits that are made at present take long; nil when none was made lately.
	slow atomic.Pointer[chan struct{}]

	onAlarm atomic.Pointer[func(DueAlarm)]
	// alarmMu guards the read, change and write of an object's alarm, by a hash of its ID: the object's own flush
	// and package alarm both change it.
	alarmMu [64]sync.Mutex

	// mu guards closed, and keeps db open while it is read-locked.
	mu     sync.RWMutex
	closed bool
}

// HostID returns the store's identity: 32 hex digits, random, made with the store.
func (s *Store) HostID() string { return s.hostID }

// Clock is the time by which the store's objects live.
func (s *Store) Clock() clock.Clock { return s.clock }

// Broken is closed when a sync failed. The process should end then and be started again: see the package
// documentation.
func (s *Store) Broken() <-chan struct{} { return s.broken }

// Err returns why the store is broken or closed, or nil.
func (s *Store) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.usableLocked()
}

func (s *Store) usableLocked() error {
	if s.closed {
		return ErrClosed
	}
	return s.brokenErr()
}
