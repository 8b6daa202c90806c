package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// IsStore reports whether a directory of the machine's file system claims to hold a store, without opening it.
func IsStore(dir string) bool {
	_, err := vfs.Default.Stat(vfs.Default.PathJoin(dir, storeFile))
	return err == nil
}

// OpenReadOnly opens an existing store to look into it: nothing in the directory is written, and every write fails
// with ErrReadOnly. It takes the store's lock, so that no host can open it meanwhile. Errors are those of Open, and
// wrap fs.ErrNotExist where there is no store.
func OpenReadOnly(o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	o.Limits = o.Limits.withDefaults()
	s, err := openReadOnly(o)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	return s, nil
}

func openReadOnly(o Options) (*Store, error) {
	hostID, err := readStoreFile(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	if hostID == "" {
		return nil, fmt.Errorf("it holds no store: %w", fs.ErrNotExist)
	}
	database := o.FS.PathJoin(o.Dir, databaseDir)
	desc, err := pebble.Peek(database, o.FS)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if !desc.Exists {
		return nil, fmt.Errorf("%w: %s names a store, but %s holds none", ErrCorrupt, storeFile, databaseDir)
	}
	lock, err := pebble.LockDirectory(database, o.FS)
	if err != nil {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	defer func() { _ = lock.Close() }() // Pebble takes a reference of its own
	opts := pebbleOptions(o)
	opts.FS, opts.Lock, opts.ReadOnly = o.FS, lock, true
	db, err := pebble.Open(database, opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	s := &Store{
		db: db, dir: o.Dir, log: o.Log, limits: o.Limits, hostID: hostID, readOnly: true, clock: o.Clock,
		broken: make(chan struct{}), commits: make(chan *Commit),
	}
	s.room.untold.Store(true) // nothing is written
	if err := s.loadEpoch(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.completing.Go(s.complete)
	return s, nil
}
