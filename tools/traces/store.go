package traces

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Kinds of keys and their lengths; see the package's comment.
const (
	formatVersion = 1

	keyFormat = 'v'
	keyBytes  = 'b'
	keyTime   = 't'
	keyIndex  = 'i'

	timeKeyLen  = 1 + 8
	indexKeyLen = 1 + 16 + 8
	seqLen      = 8
)

// store keeps spans in Pebble.
type store struct {
	db       *pebble.DB
	log      *slog.Logger
	maxAge   time.Duration
	maxBytes int64

	// mu makes writes one after the other; it guards bytes, seq, oldest and scratch.
	mu sync.Mutex
	// bytes is what the kept spans' entries take.
	bytes int64
	// seq is the last one given out; oldest is at or below the lowest one kept, and spares the trimming
	// from walking over what it deleted.
	seq, oldest uint64
	// scratch holds a record while it is written.
	scratch []byte
}

// openStore opens the store in o.Dir, or in memory. The directory is read before it is written to, so that
// one that is not ours, damaged or of a newer format stays as it is.
func openStore(o Options) (*store, error) {
	fs, dir := vfs.Default, o.Dir
	if dir == "" {
		fs, dir = vfs.NewMem(), "traces"
	}
	s, err := openStoreIn(fs, dir, o)
	if err != nil {
		return nil, fmt.Errorf("open trace store %s: %w", dir, err)
	}
	return s, nil
}

func openStoreIn(fs vfs.FS, dir string, o Options) (*store, error) {
	fresh, err := inspect(fs, dir)
	if err != nil {
		return nil, err
	}
	if fresh {
		if err := fs.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	db, err := pebble.Open(dir, pebbleOptions(fs, o.Log))
	if err != nil {
		return nil, err
	}
	s := &store{db: db, log: o.Log, maxAge: o.MaxAge, maxBytes: o.MaxBytes}
	if fresh {
		err = db.Set([]byte{keyFormat}, []byte{formatVersion}, pebble.Sync)
	}
	if err == nil {
		err = s.recover()
	}
	if err == nil {
		err = s.trim(time.Now())
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// pebbleOptions are sized for a development machine.
func pebbleOptions(fs vfs.FS, log *slog.Logger) *pebble.Options {
	return &pebble.Options{
		FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: pebbleLog{log},
		CacheSize: 16 << 20, MemTableSize: 8 << 20, MaxOpenFiles: 256,
	}
}

// inspect reports whether dir is to be made, and refuses one that must not be opened for writing.
func inspect(fs vfs.FS, dir string) (fresh bool, err error) {
	names, err := fs.List(dir)
	if errors.Is(err, iofs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	// A process that was killed while it made the store leaves the first files, or no key.
	if !slices.ContainsFunc(names, func(n string) bool { return n != "LOCK" && n != "MANIFEST-000001" }) {
		return true, nil
	}
	desc, err := pebble.Peek(dir, fs)
	if err != nil {
		return false, fmt.Errorf("damaged, or not a trace store: %w", err)
	}
	if !desc.Exists {
		return false, errors.New("the directory is neither empty nor a trace store")
	}
	opts := pebbleOptions(fs, slog.New(slog.DiscardHandler))
	opts.ReadOnly = true
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return false, fmt.Errorf("damaged, or in use by another process: %w", err)
	}
	fresh, err = isEmpty(db)
	if err == nil && !fresh {
		err = checkFormat(db)
	}
	return fresh, errors.Join(err, db.Close())
}

// isEmpty reports whether a database has no key.
func isEmpty(db *pebble.DB) (bool, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return false, err
	}
	empty := !it.First()
	return empty, it.Close()
}

// checkFormat refuses a store whose format is not ours.
func checkFormat(db *pebble.DB) error {
	v, closer, err := db.Get([]byte{keyFormat})
	if errors.Is(err, pebble.ErrNotFound) {
		return errors.New("no format version: not a trace store")
	}
	if err != nil {
		return fmt.Errorf("read format version: %w", err)
	}
	defer closer.Close()
	switch {
	case len(v) != 1 || v[0] == 0:
		return errors.New("the format version is damaged")
	case v[0] > formatVersion:
		return fmt.Errorf("format version %d is newer than %d, the newest that this program knows", v[0], formatVersion)
	}
	return nil
}

// recover reads the accounting and the lowest and highest seq.
func (s *store) recover() error {
	v, closer, err := s.db.Get([]byte{keyBytes})
	if err == nil {
		if len(v) == seqLen {
			s.bytes = int64(binary.BigEndian.Uint64(v))
		}
		err = closer.Close()
	}
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("read accounting: %w", err)
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyTime}, UpperBound: []byte{keyTime + 1}})
	if err != nil {
		return err
	}
	if it.First() {
		s.oldest = seqOf(it.Key())
	}
	if it.Last() {
		s.seq = seqOf(it.Key())
	}
	return it.Close()
}

// close ends the store; what it holds stays.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close trace store: %w", err)
	}
	return nil
}

// add keeps spans; when it returns they can be found. One that is there already, which an exporter that
// missed our reply sends again, is replaced.
func (s *store) add(spans []span) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	b := s.db.NewIndexedBatch()
	defer b.Close()
	bytes, seq := s.bytes, s.seq
	for i := range spans {
		seq = max(seq+1, uint64(now.UnixNano()))
		delta, err := s.put(b, &spans[i], seq)
		if err != nil {
			return fmt.Errorf("keep span: %w", err)
		}
		bytes += delta
	}
	if err := s.commitLocked(b, bytes); err != nil {
		return fmt.Errorf("keep spans: %w", err)
	}
	s.seq = seq
	if s.bytes > s.maxBytes {
		if err := s.trimLocked(now); err != nil {
			return err
		}
	}
	return nil
}

// put adds one span to b and returns by how many bytes the store grows.
func (s *store) put(b *pebble.Batch, sp *span, seq uint64) (delta int64, err error) {
	index := indexKey(sp.trace, sp.id)
	old, closer, err := b.Get(index)
	if err == nil {
		key := timeKey(binary.BigEndian.Uint64(old))
		err = closer.Close()
		if err == nil {
			delta, err = sizeOf(b, key)
		}
		if err == nil {
			err = b.Delete(key, nil)
		}
	}
	if err != nil && !errors.Is(err, pebble.ErrNotFound) {
		return 0, err
	}
	s.scratch = appendRecord(s.scratch[:0], sp)
	if err := b.Set(timeKey(seq), s.scratch, nil); err != nil {
		return 0, err
	}
	return entryBytes(s.scratch) - delta, b.Set(index, binary.BigEndian.AppendUint64(nil, seq), nil)
}

// sizeOf returns the bytes of the span at key.
func sizeOf(b *pebble.Batch, key []byte) (int64, error) {
	record, closer, err := b.Get(key)
	if err != nil {
		return 0, err
	}
	return entryBytes(record), closer.Close()
}

// commitLocked applies b with the new accounting.
func (s *store) commitLocked(b *pebble.Batch, bytes int64) error {
	if err := b.Set([]byte{keyBytes}, binary.BigEndian.AppendUint64(nil, uint64(bytes)), nil); err != nil {
		return err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	s.bytes = bytes
	return nil
}

// trimUntil drops what is too old once a minute until ctx ends.
func (s *store) trimUntil(ctx context.Context) error {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := s.trim(now); err != nil {
				s.log.Error("dropping old spans failed", "err", err)
			}
		}
	}
}

// entryBytes is what a span's two entries take: the measure of MaxBytes.
func entryBytes(record []byte) int64 { return int64(timeKeyLen + len(record) + indexKeyLen + seqLen) }

func timeKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, timeKeyLen), keyTime), seq)
}

func seqOf(timeKey []byte) uint64 { return binary.BigEndian.Uint64(timeKey[1:]) }

func indexKey(t traceID, id spanID) []byte {
	k := append(make([]byte, 0, indexKeyLen), keyIndex)
	return append(append(k, t[:]...), id[:]...)
}

// pebbleLog passes Pebble's faults on; its chatter is of no interest here.
type pebbleLog struct{ log *slog.Logger }

var _ pebble.Logger = pebbleLog{}

// Infof implements pebble.Logger.
func (pebbleLog) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Error("trace store fault", "err", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger: Pebble must not go on after it.
func (l pebbleLog) Fatalf(format string, args ...any) {
	panic("trace store: " + fmt.Sprintf(format, args...))
}
