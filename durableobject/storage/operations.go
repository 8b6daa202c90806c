package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

func (o *Object) get(ctx context.Context, key string, opts GetOptions) (value []byte, ok bool, err error) {
	if err := o.store.limits.checkKey(key); err != nil {
		return nil, false, err
	}
	if err := o.lock(ctx, "get"); err != nil {
		return nil, false, err
	}
	defer o.mu.Unlock()
	return o.readLocked(key, opts)
}

func (o *Object) getMany(ctx context.Context, keys []string, opts GetOptions) (entries []Entry, err error) {
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
		value, ok, err := o.readLocked(key, opts)
		if err != nil {
			return nil, err
		}
		if ok {
			entries = append(entries, Entry{Key: key, Value: value})
		}
	}
	return entries, nil
}

func (o *Object) put(ctx context.Context, entries []Entry, opts PutOptions) error {
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
		top.set(entries[i].Key, write{value: bytes.Clone(entries[i].Value), uncached: opts.NoCache})
	}
	top.confirmed = top.confirmed || !opts.AllowUnconfirmed
	return nil
}

func (o *Object) delete(ctx context.Context, keys []string, opts PutOptions) (int, error) {
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

func (o *Object) deleteAll(ctx context.Context, alarm alarmKind) error {
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

func (o *Object) sync(ctx context.Context) error {
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

// readLocked returns what a read sees: pending writes, then the disk.
func (o *Object) readLocked(key string, opts GetOptions) ([]byte, bool, error) {
	if w, known := o.top.get(key); known {
		return w.value, !w.deleted, nil
	}
	if w, known := o.recall.get(key); known {
		return w.value, !w.deleted, nil
	}
	value, ok, err := o.store.get(o.key(kindValue, key))
	if err != nil {
		return nil, false, fmt.Errorf("get: %w", err)
	}
	if !opts.NoCache {
		o.recall.set(key, write{value: value, deleted: !ok})
	}
	return value, ok, nil
}

func (o *Object) existsLocked(key string) (bool, error) {
	if w, known := o.top.get(key); known {
		return !w.deleted, nil
	}
	if w, known := o.recall.get(key); known {
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
