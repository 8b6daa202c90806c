package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Object is the storage of one object: keys and values in the order of their bytes, and one alarm. Writes of
// one turn form one implicit transaction. All methods must be called within a turn of the object's actor; several
// goroutines of that turn may call them. Values are opaque bytes here; package durableobject serializes them.
//
// Errors of every operation: *Error for what the caller did wrong; ErrBroken and ErrClosed wrapped.
type Object struct {
	store     *Store
	namespace string
	id        objectid.ID
	hooks     Hooks

	// mu guards what follows. Lock order: Object.mu, Store.mu, Store.alarmMu.
	mu sync.Mutex
	// prefix begins every key of the object; the room behind it is where keys are put together.
	prefix []byte
	// top is the innermost layer of pending writes; nil when nothing was written since the last flush.
	top *layer
	// last is the newest commit.
	last *Commit
	// name is from SetName. nameStored says that it is on disk.
	name                string
	hasName, nameStored bool
	// running is the token of the alarm whose handler runs, if inAlarm.
	running uint64
	inAlarm bool
	// err makes every operation fail.
	err error
}

// GetOptions change one read.
type GetOptions struct {
	// AllowConcurrency lets other events in while the read is under way. It changes nothing here, since reads do not
	// wait. Like workerd with SQLite.
	AllowConcurrency bool
	// NoCache keeps what is read out of the cache. It changes nothing here.
	NoCache bool
}

// PutOptions change one write.
type PutOptions struct {
	// AllowConcurrency lets other events in while the write is under way. It changes nothing here.
	AllowConcurrency bool
	// AllowUnconfirmed lets what leaves the object not wait for this write.
	AllowUnconfirmed bool
	// NoCache keeps what is written out of the cache. It changes nothing here.
	NoCache bool
}

// ListOptions choose and order what List returns; all that are set apply together.
type ListOptions struct {
	// Start is the first key, inclusive; StartAfter excludes it. Not both.
	Start, StartAfter *string
	// End is where the range ends, exclusive.
	End *string
	// Prefix is what every key must begin with.
	Prefix string
	// Reverse orders from the last key to the first; the range stays the same.
	Reverse bool
	// Limit is the greatest number of entries; zero means no limit.
	Limit int
	GetOptions
}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
}

// Object returns the storage of one object. It is cheap, reads nothing and creates nothing on disk. There must
// be at most one open Object for an ID at a time. A namespace that is empty, longer than 512 bytes or has a NUL
// makes every operation fail.
func (s *Store) Object(namespace string, id objectid.ID, hooks Hooks) *Object {
	o := &Object{store: s, namespace: namespace, id: id, hooks: hooks, prefix: objectPrefix(namespace, id)}
	if !validNamespace(namespace) {
		o.err = fmt.Errorf("storage of object %s: namespace %q is empty, too long or has a NUL", id, namespace)
	}
	return o
}

// ID returns the object's ID.
func (o *Object) ID() objectid.ID { return o.id }

// Namespace returns the unique key of the object's namespace.
func (o *Object) Namespace() string { return o.namespace }

// Get returns the value of a key, and whether there is one. The caller must not change it.
func (o *Object) Get(ctx context.Context, key string, opts GetOptions) (value []byte, ok bool, err error) {
	if o.hooks.Observe != nil {
		defer o.observe(ctx, "get")(&err)
	}
	if err := o.store.limits.checkKey(key); err != nil {
		return nil, false, err
	}
	if err := o.lock(ctx, "get"); err != nil {
		return nil, false, err
	}
	defer o.mu.Unlock()
	return o.readLocked(key)
}

// GetMany returns the entries of those keys that exist, sorted by key.
func (o *Object) GetMany(ctx context.Context, keys []string, opts GetOptions) (entries []Entry, err error) {
	if o.hooks.Observe != nil {
		defer o.observe(ctx, "get")(&err)
	}
	if most := o.store.limits.GetKeys; most > 0 && len(keys) > most {
		return nil, rangeError("Maximum number of key value pairs is %d. %d pairs were provided.", most, len(keys))
	}
	if err := o.store.limits.checkKeys(keys); err != nil {
		return nil, err
	}
	if err := o.lock(ctx, "get"); err != nil {
		return nil, err
	}
	defer o.mu.Unlock()
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	for _, key := range slices.Compact(sorted) {
		value, ok, err := o.readLocked(key)
		if err != nil {
			return nil, err
		}
		if ok {
			entries = append(entries, Entry{Key: key, Value: value})
		}
	}
	return entries, nil
}

// Put sets entries, all in one transaction. It copies the values. When it fails, none is set.
func (o *Object) Put(ctx context.Context, entries []Entry, opts PutOptions) (err error) {
	if o.hooks.Observe != nil {
		defer o.observe(ctx, "put")(&err)
	}
	size := 0
	for i := range entries {
		if err := o.store.limits.checkEntry(&entries[i]); err != nil {
			return err
		}
		size += len(entries[i].Key) + len(entries[i].Value)
	}
	if err := o.lock(ctx, "put"); err != nil {
		return err
	}
	defer o.mu.Unlock()
	if most := o.store.limits.PendingBytes; o.top.pendingBytes()+size > most {
		return rangeError("Writes of one turn cannot be larger than %d bytes in total.", most)
	}
	if len(entries) == 0 {
		return nil
	}
	top := o.topLocked()
	for i := range entries {
		top.set(entries[i].Key, write{value: bytes.Clone(entries[i].Value)})
	}
	top.confirmed = top.confirmed || !opts.AllowUnconfirmed
	return nil
}

// Delete removes keys and returns how many existed.
func (o *Object) Delete(ctx context.Context, keys []string, opts PutOptions) (count int, err error) {
	if o.hooks.Observe != nil {
		defer o.observe(ctx, "delete")(&err)
	}
	if err := o.store.limits.checkKeys(keys); err != nil {
		return 0, err
	}
	if err := o.lock(ctx, "delete"); err != nil {
		return 0, err
	}
	defer o.mu.Unlock()
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	existing := sorted[:0]
	for _, key := range slices.Compact(sorted) {
		ok, err := o.existsLocked(key)
		if err != nil {
			return 0, err
		}
		if ok {
			existing = append(existing, key)
		}
	}
	if len(existing) == 0 {
		return 0, nil
	}
	top := o.topLocked()
	for _, key := range existing {
		top.set(key, write{deleted: true})
	}
	top.confirmed = top.confirmed || !opts.AllowUnconfirmed
	return len(existing), nil
}

// DeleteAll removes every key, the alarm and the name. It fails within a transaction.
func (o *Object) DeleteAll(ctx context.Context) error { return o.deleteAll(ctx, alarmDelete) }

// DeleteAllExceptAlarm is DeleteAll as it was before compatibility date 2026-02-24: the alarm stays.
func (o *Object) DeleteAllExceptAlarm(ctx context.Context) error { return o.deleteAll(ctx, alarmKeep) }

func (o *Object) deleteAll(ctx context.Context, alarm alarmKind) (err error) {
	if o.hooks.Observe != nil {
		defer o.observe(ctx, "deleteAll")(&err)
	}
	if err := o.lock(ctx, "deleteAll"); err != nil {
		return err
	}
	defer o.mu.Unlock()
	top := o.topLocked()
	if top.parent != nil {
		return plainError("Cannot call deleteAll() within a transaction")
	}
	top.writes, top.bytes, top.cleared, top.confirmed = nil, 0, true, true
	if alarm == alarmDelete {
		top.alarm = alarmWrite{kind: alarmDelete}
	}
	return nil
}

// Sync returns when all earlier writes are durable. The turn is given away meanwhile. Writes of a transaction
// that is open do not count.
func (o *Object) Sync(ctx context.Context) (err error) {
	if o.hooks.Observe != nil {
		defer o.observe(ctx, "sync")(&err)
	}
	if err := o.lock(ctx, "sync"); err != nil {
		return err
	}
	o.mu.Unlock()
	wait := func(ctx context.Context) error {
		if c := o.Last(); c != nil {
			return c.Wait(ctx)
		}
		return nil
	}
	if o.hooks.Await != nil {
		return o.hooks.Await(ctx, wait)
	}
	o.Flush()
	return wait(ctx)
}

// lock checks that an operation may be made and takes the mutex; it is not held when lock fails.
func (o *Object) lock(ctx context.Context, operation string) error {
	if o.hooks.InTurn != nil {
		if err := o.hooks.InTurn(ctx); err != nil {
			return err
		}
	}
	o.mu.Lock()
	err := o.err
	if err == nil && o.top != nil && o.top.rolledBack {
		err = plainError("Cannot %s() on rolled back transaction", operation)
	}
	if err != nil {
		o.mu.Unlock()
	}
	return err
}

func (o *Object) observe(ctx context.Context, operation string) func(*error) {
	end := o.hooks.Observe(ctx, operation)
	return func(err *error) {
		if end != nil {
			end(*err)
		}
	}
}

// topLocked returns the layer that takes writes.
func (o *Object) topLocked() *layer {
	if o.top == nil {
		o.top = new(layer)
	}
	return o.top
}

// key puts a key of the object together. It is overwritten by the next call.
func (o *Object) key(kind byte, rest string) []byte {
	return append(append(o.prefix, kind), rest...)
}

// readLocked returns what a read sees: pending writes, then the disk.
func (o *Object) readLocked(key string) ([]byte, bool, error) {
	if w, known := o.top.get(key); known {
		return w.value, !w.deleted, nil
	}
	value, ok, err := o.store.get(o.key(kindValue, key))
	if err != nil {
		return nil, false, fmt.Errorf("get: %w", err)
	}
	return value, ok, nil
}

func (o *Object) existsLocked(key string) (bool, error) {
	if w, known := o.top.get(key); known {
		return !w.deleted, nil
	}
	ok, err := o.store.has(o.key(kindValue, key))
	if err != nil {
		return false, fmt.Errorf("delete: %w", err)
	}
	return ok, nil
}

// get returns a copy of the value of a key on disk.
func (s *Store) get(key []byte) ([]byte, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.getLocked(key)
}

func (s *Store) getLocked(key []byte) ([]byte, bool, error) {
	if err := s.usableLocked(); err != nil {
		return nil, false, err
	}
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = bytes.Clone(value)
	return value, true, closer.Close()
}

// has reports whether a key is on disk.
func (s *Store) has(key []byte) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hasLocked(key)
}

func (s *Store) hasLocked(key []byte) (bool, error) {
	if err := s.usableLocked(); err != nil {
		return false, err
	}
	_, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}

func (l *Limits) checkKey(key string) error {
	if len(key) > l.KeyBytes {
		return rangeError("Keys cannot be larger than %d bytes. A key of size %d was provided.", l.KeyBytes, len(key))
	}
	return nil
}

func (l *Limits) checkKeys(keys []string) error {
	for _, key := range keys {
		if err := l.checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

func (l *Limits) checkEntry(e *Entry) error {
	if err := l.checkKey(e.Key); err != nil {
		return err
	}
	if len(e.Value) > l.ValueBytes+l.ValueSlackBytes {
		return rangeError("Values cannot be larger than %d bytes. A value of size %d was provided.",
			l.ValueBytes, len(e.Value))
	}
	return nil
}
