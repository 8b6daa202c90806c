package lease

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/router/placement"
)

const (
	// formatVersion is the layout of the keys and values, as doc.go has it.
	formatVersion = "1"

	// The store is small: a few thousand placements.
	cacheBytes    = 1 << 20
	memTableBytes = 1 << 20
	maxOpenFiles  = 64
)

// ErrFormat is returned by Open for a directory that holds something else, a store of a later version, or a
// damaged one. The directory is left as it was.
var ErrFormat = errors.New("not a router store that this version can open")

// Open opens the store in o.Dir, and creates it in a directory that is missing or empty. Errors, each of which
// names the directory: ErrFormat, and that the directory is locked or cannot be used. Everything in the
// store is read before any of it is written.
func Open(o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open router store %q: %w", o.Dir, err)
	}
	return s, nil
}

func open(o Options) (*Store, error) {
	if err := o.FS.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	fresh, err := isFresh(o)
	if err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	if err != nil {
		return nil, fmt.Errorf("lock it (is another router running on it?): %w", err)
	}
	s := &Store{lock: lock, leases: map[string]Record{}, placements: map[placement.Slot]string{}}
	if err := s.openLocked(o, fresh); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// isFresh reports whether the directory holds nothing, or what a process leaves that was killed in the first moments of
// making a store, and fails when it holds something that is not Pebble's.
func isFresh(o Options) (bool, error) {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return false, err
	}
	fresh := true
	for _, name := range names {
		fresh = fresh && (name == "LOCK" || name == "MANIFEST-000001")
	}
	if fresh {
		return true, nil
	}
	desc, err := pebble.Peek(o.Dir, o.FS)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !desc.Exists {
		return false, fmt.Errorf("%w: the directory holds something else", ErrFormat)
	}
	return false, nil
}

// openLocked reads the store without writing, then opens it for writing.
func (s *Store) openLocked(o Options, fresh bool) error {
	if !fresh {
		db, err := openPebble(o, s.lock, true)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if err := errors.Join(s.load(db), db.Close()); err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	db, err := openPebble(o, s.lock, false)
	if err != nil {
		return err
	}
	if err := db.Set([]byte(keyFormat), []byte(formatVersion), pebble.Sync); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	return nil
}

func openPebble(o Options, lock *pebble.Lock, readOnly bool) (*pebble.DB, error) {
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	return pebble.Open(o.Dir, &pebble.Options{
		FS: o.FS, Lock: lock, ReadOnly: readOnly, Cache: cache,
		MemTableSize: memTableBytes, MaxOpenFiles: maxOpenFiles,
		FormatMajorVersion: pebble.FormatNewest, Logger: pebbleLog{o.Log},
	})
}

// load reads and checks everything.
func (s *Store) load(db *pebble.DB) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	formatted := false
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		isFormat, err := s.loadKey(string(it.Key()), value)
		if err != nil {
			return errors.Join(err, it.Close())
		}
		formatted = formatted || isFormat
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	// A store that crashed while it was created has no key at all.
	if !formatted && (s.epoch != 0 || len(s.leases)+len(s.placements) != 0) {
		return errors.New("it has no format version")
	}
	return s.check()
}

// check holds the records against each other.
func (s *Store) check() error {
	for _, rec := range s.leases {
		if rec.Epoch == 0 || rec.Epoch > s.epoch {
			return fmt.Errorf("host %s has epoch %d, the highest granted is %d", rec.HostID, rec.Epoch, s.epoch)
		}
	}
	for slot, host := range s.placements {
		if _, ok := s.leases[host]; !ok {
			return fmt.Errorf("slot %d of %q is placed on unknown host %q", slot.Number, slot.Namespace, host)
		}
	}
	return nil
}

// pebbleLog gives Pebble's log to slog.
type pebbleLog struct{ log *slog.Logger }

// Infof implements pebble.Logger.
func (l pebbleLog) Infof(format string, args ...any) {
	l.log.Debug("store", "text", fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Error("store failed", "err", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger: the store cannot go on, so neither may the process.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	panic("lease: " + fmt.Sprintf(format, args...))
}
