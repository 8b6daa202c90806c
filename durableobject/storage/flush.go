package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// clearOneByOne is the number of keys up to which DeleteAll deletes each: a range deletion costs every later read of
// its neighbourhood more.
const clearOneByOne = 64

// Flush takes what is pending and commits it in the background as one batch; it returns nil if nothing is. The
// actor calls it whenever a turn ends or is given away, before anything that was said in that turn leaves. Writes
// of a transaction that is open stay pending until it ends.
func (o *Object) Flush() *Commit {
	o.mu.Lock()
	defer o.mu.Unlock()
	base := o.top.base()
	if base == nil || base.empty() {
		return nil
	}
	taken := *base
	if o.top == base {
		o.top = nil
	} else {
		*base = layer{}
	}
	c := o.commitLocked(&taken)
	if c != nil && c.Err() == nil { // what was refused is nothing to wait for
		o.last = c
	}
	return c
}

// Discard drops what is pending, including open transactions, whose functions then fail.
func (o *Object) Discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.top = nil
}

// Close drops what is pending and makes every later operation fail with ErrClosed. Commits on their way are not
// affected. Closing twice is harmless.
func (o *Object) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.top, o.inAlarm = nil, false
	o.recall.clear()
	if o.err == nil {
		o.err = ErrClosed
	}
}

// Last returns the newest commit of this Object that went to the disk, or nil: once it is done, so is everything that was
// flushed before and not refused.
func (o *Object) Last() *Commit {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// SetName tells the name that the object is addressed by. It is written with the object's next write, if it is
// not on disk yet, and never on its own; a name longer than objectid.MaxNameBytes is dropped.
func (o *Object) SetName(name string) {
	if len(name) > objectid.MaxNameBytes {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.hasName || o.name != name {
		o.name, o.hasName, o.nameStored = name, true, false
	}
}

// Name returns the name from SetName or else from disk, and whether there is one.
func (o *Object) Name() (name string, ok bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usableLocked(); err != nil {
		return "", false, err
	}
	if o.hasName {
		return o.name, true, nil
	}
	value, ok, err := o.store.get(o.key(kindName, ""))
	if err != nil {
		return "", false, fmt.Errorf("name of object %s: %w", o.id, err)
	}
	if ok {
		o.name, o.hasName, o.nameStored = string(value), true, true
	}
	return o.name, ok, nil
}

// commitLocked makes a batch of a layer and applies it. It returns nil when the layer changes nothing on disk. A
// fault in making the batch breaks the object, since its writes are lost.
func (o *Object) commitLocked(l *layer) *Commit {
	s := o.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return failedCommit(err, l.confirmed)
	}
	if l.alarm.kind != alarmKeep || l.cleared {
		mu := s.alarmLock(o.id)
		mu.Lock()
		defer mu.Unlock()
	}
	b := s.db.NewBatchWithSize(64 + l.bytes + (len(l.writes)+3)*(len(o.prefix)+16))
	due, err := o.fill(b, l)
	if err != nil {
		_ = b.Close() // it was not applied
		o.err = fmt.Errorf("%w: commit of object %s: %w", ErrBroken, o.id, err)
		return failedCommit(o.err, l.confirmed)
	}
	if b.Empty() {
		_ = b.Close()
		return nil
	}
	if l.puts() && !s.room.take(b.Len()) {
		_ = b.Close() // it was not applied
		o.err = fmt.Errorf("%w: commit of object %s: %w", ErrBroken, o.id, errFull())
		return failedCommit(o.err, l.confirmed)
	}
	c := s.applyLocked(b, l.confirmed)
	if !s.readOnly {
		o.recallLocked(l)
	}
	if due != nil {
		s.notify(*due)
	}
	return c
}

// recallLocked remembers what a layer has written.
func (o *Object) recallLocked(l *layer) {
	if l.cleared {
		o.recall.clear()
	}
	for key, w := range l.writes {
		if w.uncached {
			o.recall.forget(key)
		} else {
			o.recall.set(key, w)
		}
	}
}

// fill writes a layer into a batch. It returns the alarm that the layer sets, if any.
func (o *Object) fill(b *pebble.Batch, l *layer) (due *DueAlarm, err error) {
	if l.cleared {
		if err := o.fillClear(b); err != nil {
			return nil, err
		}
	}
	puts := 0
	for key, w := range l.writes {
		size := len(o.prefix) + 1 + len(key)
		if w.deleted {
			op := b.DeleteDeferred(size)
			o.fillKey(op.Key, key)
			err = op.Finish()
		} else {
			puts++
			op := b.SetDeferred(size, len(w.value))
			o.fillKey(op.Key, key)
			copy(op.Value, w.value)
			err = op.Finish()
		}
		if err != nil {
			return nil, err
		}
	}
	alarmAfter := false
	if l.alarm.kind != alarmKeep || l.cleared {
		due, alarmAfter, err = o.fillAlarm(b, l.alarm)
		if err != nil {
			return nil, err
		}
	}
	return due, o.fillName(b, puts > 0 || alarmAfter, l.cleared)
}

func (o *Object) fillKey(dst []byte, key string) {
	n := copy(dst, o.prefix)
	dst[n] = kindValue
	copy(dst[n+1:], key)
}

// fillClear deletes all values that are on disk.
func (o *Object) fillClear(b *pebble.Batch) error {
	low, high := append([]byte(nil), o.key(kindValue, "")...), append([]byte(nil), o.key(kindValue+1, "")...)
	return o.store.iterateLocked(low, high, func(it *pebble.Iterator) error {
		n := 0
		for ok := it.First(); ok; ok = it.Next() {
			if n++; n > clearOneByOne {
				return b.DeleteRange(low, high, nil)
			}
			if err := b.Delete(it.Key(), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillName keeps the name on disk exactly while there is something else: it writes the name with the object's first
// put or alarm and deletes it with everything.
func (o *Object) fillName(b *pebble.Batch, remains, cleared bool) error {
	key := o.key(kindName, "")
	if cleared && !remains {
		o.nameStored = false
		ok, err := o.store.hasLocked(key)
		if err != nil || !ok {
			return err
		}
		return b.Delete(key, nil)
	}
	if !remains || !o.hasName || o.nameStored {
		return nil
	}
	stored, ok, err := o.store.getLocked(key)
	if err != nil {
		return err
	}
	o.nameStored = true
	if ok && string(stored) == o.name {
		return nil
	}
	return b.Set(key, []byte(o.name), nil)
}

// Empty reports whether the object has no durable state. Pending writes are not durable yet.
func (o *Object) Empty() (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.usableLocked(); err != nil {
		return false, err
	}
	found, err := o.store.anyKey(o.prefix)
	if err != nil {
		return false, fmt.Errorf("empty: %w", err)
	}
	return !found, nil
}

// anyKey reports whether a key with the prefix is on disk.
func (s *Store) anyKey(prefix []byte) (found bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return false, err
	}
	low := append([]byte(nil), prefix...)
	err = s.iterateLocked(low, append(low, 0xff), func(it *pebble.Iterator) error {
		found = it.First()
		return nil
	})
	return found, err
}
