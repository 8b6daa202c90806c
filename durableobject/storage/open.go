package storage

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The directory of a store:
//
//	STORE    a line that says what this is, the format, the host's ID
//	db/      the Pebble store
//
// STORE is written last when a store is made, so that with it there is always a store.
const (
	storeFile    = "STORE"
	storeTitle   = "tandem object store"
	storeFormat  = 1
	databaseDir  = "db"
	maxStoreFile = 4096
	hostIDBytes  = 16
)

// Open opens the store in a directory, creating it if there is none. Errors name the directory and wrap
// ErrLocked, ErrFormat or ErrCorrupt where these apply; the directory's contents are left as they were then.
func Open(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("open store: no directory given")
	}
	o.Limits = o.Limits.withDefaults()
	if err := o.Limits.validate(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.RecallBytes == 0 {
		o.RecallBytes = defaultRecallBytes
	}
	if o.CacheBytes < 0 || o.RecallBytes < 0 {
		return nil, fmt.Errorf("open store %s: caches of %d and %d bytes", o.Dir, o.CacheBytes, o.RecallBytes)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	return s, nil
}

func open(o Options) (*Store, error) {
	files := o.FS
	if files == nil {
		files = vfs.Default
	}
	database := files.PathJoin(o.Dir, databaseDir)
	// Before anything is touched: already the lock's file would be.
	hostID, err := readStoreFile(files, o.Dir)
	if err != nil {
		return nil, err
	}
	if hostID == "" {
		err = makeDirs(files, o.Dir, database)
	} else if _, serr := files.Stat(database); serr != nil {
		err = fmt.Errorf("%w: %s is there, but not %s: %w", ErrCorrupt, storeFile, databaseDir, serr)
	}
	if err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(database, files)
	if err != nil {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	// Pebble takes a reference of its own.
	defer func() { _ = lock.Close() }()
	if hostID, err = readStoreFile(files, o.Dir); err != nil {
		return nil, err
	}
	return openLocked(o, files, lock, hostID)
}

// openLocked opens the store whose lock is held. An empty hostID means that it was not completely made yet.
func openLocked(o Options, files vfs.FS, lock *pebble.Lock, hostID string) (*Store, error) {
	database := files.PathJoin(o.Dir, databaseDir)
	desc, err := pebble.Peek(database, files)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if hostID != "" && !desc.Exists {
		return nil, fmt.Errorf("%w: %s names a store, but %s holds none", ErrCorrupt, storeFile, databaseDir)
	}
	opts := pebbleOptions(o)
	opts.FS, opts.Lock = files, lock
	if hostID == "" && desc.Exists {
		if err := mustBeEmpty(database, opts.Clone()); err != nil {
			return nil, err
		}
	}
	db, err := pebble.Open(database, opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	s := &Store{
		db: db, dir: o.Dir, log: o.Log, limits: o.Limits, hostID: hostID, clock: o.Clock,
		mostRecalled: o.RecallBytes, broken: make(chan struct{}), commits: make(chan *Commit, 4096),
	}
	s.room.log, s.room.measure = o.Log, func() (vfs.DiskUsage, error) { return files.GetDiskUsage(database) }
	if hostID == "" {
		s.hostID, err = finishMaking(files, o.Dir)
	}
	if err == nil {
		err = s.loadEpoch()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.completing.Go(s.complete)
	return s, nil
}

// pebbleOptions are for many small commits, each synced, and reads of single keys and short ranges. Memtables are small
// enough to stay in a processor's cache: a search for a key that is not there takes a third of a new object's time.
func pebbleOptions(o Options) *pebble.Options {
	opts := &pebble.Options{
		CacheSize:                   o.CacheBytes,
		FormatMajorVersion:          pebble.FormatValueSeparation,
		Logger:                      pebbleLog{o.Log},
		MaxOpenFiles:                256,
		MemTableSize:                8 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return opts
}

// Close waits for the commits on their way and closes the store. Objects fail with ErrClosed afterwards. Its
// error is the store's fault or Pebble's. Closing twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.commits)
	s.mu.Unlock()
	s.completing.Wait()
	err := s.db.Close()
	if fault := s.brokenErr(); fault != nil {
		err = fault // Pebble repeats it
	}
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, err)
	}
	return nil
}

// Epoch returns the host's recorded epoch, 0 if none was set.
func (s *Store) Epoch() uint64 { return s.epoch.Load() }

// SetEpoch records the host's epoch durably. An epoch below the recorded one is refused with ErrStaleEpoch.
func (s *Store) SetEpoch(epoch uint64) error {
	s.epochMu.Lock()
	defer s.epochMu.Unlock()
	if recorded := s.epoch.Load(); epoch <= recorded {
		if epoch == recorded {
			return nil
		}
		return fmt.Errorf("set epoch %d of store %s: %w, %d", epoch, s.dir, ErrStaleEpoch, recorded)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	b := s.db.NewBatch()
	if err := b.Set(metaEpoch, binary.BigEndian.AppendUint64(nil, epoch), nil); err != nil {
		return fmt.Errorf("set epoch of store %s: %w", s.dir, errors.Join(err, b.Close()))
	}
	c := s.applyLocked(b, true)
	<-c.Done() // the store's goroutine always gets there
	if err := c.Err(); err != nil {
		return fmt.Errorf("set epoch of store %s: %w", s.dir, err)
	}
	s.epoch.Store(epoch)
	return nil
}

func (s *Store) loadEpoch() error {
	value, ok, err := s.get(metaEpoch)
	if err != nil || !ok {
		return err
	}
	if len(value) != 8 {
		return fmt.Errorf("%w: epoch of %d bytes", ErrCorrupt, len(value))
	}
	s.epoch.Store(binary.BigEndian.Uint64(value))
	return nil
}

// readStoreFile returns the host's ID, or "" if there is no STORE.
func readStoreFile(files vfs.FS, dir string) (string, error) {
	f, err := files.Open(files.PathJoin(dir, storeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxStoreFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	var format int
	var hostID string
	if !strings.HasPrefix(string(content), storeTitle+"\n") {
		return "", fmt.Errorf("%w: %s does not begin with %q", ErrCorrupt, storeFile, storeTitle)
	}
	rest := string(content[len(storeTitle)+1:])
	if _, err := fmt.Sscanf(rest, "format %d\n", &format); err != nil || format < 1 {
		return "", fmt.Errorf("%w: %s names no format", ErrCorrupt, storeFile)
	}
	if format > storeFormat {
		return "", fmt.Errorf("%w: format %d, this version reads up to %d", ErrFormat, format, storeFormat)
	}
	if _, err := fmt.Sscanf(rest, "format %d\nhost %s\n", &format, &hostID); err != nil {
		return "", fmt.Errorf("%w: %s names no host", ErrCorrupt, storeFile)
	}
	if b, err := hex.DecodeString(hostID); err != nil || len(b) != hostIDBytes {
		return "", fmt.Errorf("%w: %s names a bad host", ErrCorrupt, storeFile)
	}
	return hostID, nil
}

// mustBeEmpty looks into a database that an interrupted attempt to make a store has left, without changing it.
func mustBeEmpty(database string, opts *pebble.Options) (err error) {
	opts.ReadOnly = true
	db, err := pebble.Open(database, opts)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	used := it.First()
	if err := it.Close(); err != nil {
		return err
	}
	if used {
		return fmt.Errorf("%w: %s holds data, but %s is missing", ErrCorrupt, databaseDir, storeFile)
	}
	return nil
}

// finishMaking gives a new store its identity.
func finishMaking(files vfs.FS, dir string) (string, error) {
	var id [hostIDBytes]byte
	rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	hostID := hex.EncodeToString(id[:])
	content := fmt.Sprintf("%s\nformat %d\nhost %s\n", storeTitle, storeFormat, hostID)
	return hostID, writeFile(files, dir, storeFile, content)
}

// writeFile makes a file appear whole or not at all.
func writeFile(files vfs.FS, dir, name, content string) error {
	path := files.PathJoin(dir, name)
	f, err := files.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := files.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(files, dir)
}

func makeDirs(files vfs.FS, dir, database string) error {
	if err := files.MkdirAll(database, 0o700); err != nil {
		return err
	}
	return errors.Join(syncDir(files, dir), syncDir(files, files.PathDir(dir)))
}

func syncDir(files vfs.FS, dir string) error {
	d, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// pebbleLog brings what Pebble has to say to slog.
type pebbleLog struct{ log *slog.Logger }

// Infof is about single flushes and compactions.
func (l pebbleLog) Infof(format string, args ...any) {}

// Errorf reports what Pebble recovers from.
func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Warn("pebble reported an error", "err", fmt.Sprintf(format, args...))
}

// Fatalf reports a broken invariant of the store; going on would risk the data.
func (l pebbleLog) Fatalf(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	l.log.Error("pebble cannot go on", "err", message)
	panic("storage: " + message)
}
