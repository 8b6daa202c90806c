package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Replacement collects the whole state that an object is to have in place of what it has. It is held in memory until
// Commit, and belongs to the goroutine that made it.
type Replacement struct {
	store     *Store
	namespace string
	id        objectid.ID
	prefix    []byte
	batch     *pebble.Batch // begins with the deletion of all that there is; nil once it is the store's
	bytes     int
	keys      int
	name      *string
	alarm     *AlarmState
}

// Replace returns a replacement without any state. Close it, whether it was committed or not.
func (s *Store) Replace(namespace string, id objectid.ID) (*Replacement, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return nil, err
	}
	if !validNamespace(namespace) {
		return nil, fmt.Errorf("namespace %q is empty, too long or has a NUL", namespace)
	}
	r := &Replacement{
		store: s, namespace: namespace, id: id, prefix: objectPrefix(namespace, id), batch: s.db.NewBatch(),
	}
	if err := r.batch.DeleteRange(r.prefix, afterObject(namespace, id), nil); err != nil {
		r.Close()
		return nil, fmt.Errorf("replace object %s: %w", id, err)
	}
	return r, nil
}

// SetName sets the object's name. It counts only together with a key or an alarm.
func (r *Replacement) SetName(name string) error {
	if len(name) > objectid.MaxNameBytes {
		return rangeError("The name has %d bytes, at most %d are allowed.", len(name), objectid.MaxNameBytes)
	}
	r.name = &name
	return nil
}

// SetAlarm sets the object's alarm. A due time in the past makes it run at once.
func (r *Replacement) SetAlarm(a AlarmState) error {
	scheduled, due := a.ScheduledTime.UnixMilli(), a.Due.UnixMilli()
	if scheduled <= 0 || scheduled > maxAlarmMillis || due <= 0 || due > maxAlarmMillis ||
		a.Retries < 0 || a.Counted < 0 || a.Counted > a.Retries {
		return rangeError("The alarm has an impossible time or count.")
	}
	r.alarm = &a
	return nil
}

// Put sets one key. It fails, with an *Error, for what exceeds every limit that a store can have: what is restored
// may have been written under other limits than this store's.
func (r *Replacement) Put(key string, value []byte) error {
	most := Limits{KeyBytes: maxKeyBytes, ValueBytes: maxValueBytes}
	if err := most.checkEntry(&Entry{Key: key, Value: value}); err != nil {
		return err
	}
	op := r.batch.SetDeferred(len(r.prefix)+1+len(key), len(value))
	n := copy(op.Key, r.prefix)
	op.Key[n] = kindValue
	copy(op.Key[n+1:], key)
	copy(op.Value, value)
	r.bytes += len(key) + len(value)
	r.keys++
	return op.Finish()
}

// Bytes returns the size of the keys and values that were put, Keys their number.
func (r *Replacement) Bytes() int { return r.bytes }

// Keys returns how many keys were put.
func (r *Replacement) Keys() int { return r.keys }

// Close gives back the memory. Closing twice is harmless.
func (r *Replacement) Close() {
	if r.batch != nil {
		_ = r.batch.Close() // it only returns the memory
		r.batch = nil
	}
}

// Commit gives the object the collected state as one commit, and returns when that is on disk. The end of ctx ends
// only the waiting. There must be no open Object of this ID. A replacement without key and alarm leaves no state at
// all.
func (r *Replacement) Commit(ctx context.Context) error {
	c, set, err := r.apply()
	if err == nil && set != nil {
		r.store.notify(*set)
	}
	if err == nil {
		err = c.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("replace object %s: %w", r.id, err)
	}
	return nil
}

// apply applies the batch. It returns the alarm that it sets, if any.
func (r *Replacement) apply() (c *Commit, set *DueAlarm, err error) {
	s := r.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return nil, nil, err
	}
	mu := s.alarmLock(r.id)
	mu.Lock()
	defer mu.Unlock()
	key := append(r.prefix, kindAlarm)
	old, ok, err := s.alarmRecordLocked(key)
	if err != nil {
		return nil, nil, err
	}
	if ok {
		if err := r.batch.Delete(alarmIndexKey(old.due, r.namespace, r.id), nil); err != nil {
			return nil, nil, err
		}
	}
	if r.alarm != nil {
		d := alarmRecord{
			token: rand.Uint64(), scheduled: r.alarm.ScheduledTime.UnixMilli(), due: r.alarm.Due.UnixMilli(),
			retries: uint32(r.alarm.Retries), counted: uint32(r.alarm.Counted),
		}.run(r.namespace, r.id)
		if err := setAlarm(r.batch, key, d); err != nil {
			return nil, nil, err
		}
		set = &d
	}
	if r.name != nil && (r.keys > 0 || set != nil) {
		if err := r.batch.Set(append(r.prefix, kindName), []byte(*r.name), nil); err != nil {
			return nil, nil, err
		}
	}
	if (r.keys > 0 || set != nil) && !s.room.take(r.batch.Len()) {
		return nil, nil, errFull()
	}
	c, r.batch = s.applyLocked(r.batch, true), nil
	return c, set, nil
}

// Remove deletes all of an object's durable state, the name and the alarm included, and returns when that is on disk.
// There must be no open Object of this ID.
func (s *Store) Remove(ctx context.Context, namespace string, id objectid.ID) error {
	r, err := s.Replace(namespace, id)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Commit(ctx)
}

// HastenAlarm makes an object's alarm due at now if it is due later, without changing anything else of it. It returns
// the run to be made, and false if there is no alarm.
func (s *Store) HastenAlarm(ctx context.Context, namespace string, id objectid.ID, now time.Time) (
	d DueAlarm, ok bool, err error,
) {
	c, d, ok, err := s.applyHasten(namespace, id, now)
	if err == nil && c != nil {
		err = c.Wait(ctx)
	}
	if err != nil {
		return d, ok, fmt.Errorf("hasten alarm of object %s: %w", id, err)
	}
	if ok {
		s.notify(d)
	}
	return d, ok, nil
}

// applyHasten returns no commit if the alarm is due already.
func (s *Store) applyHasten(namespace string, id objectid.ID, now time.Time) (
	c *Commit, d DueAlarm, ok bool, err error,
) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	mu := s.alarmLock(id)
	mu.Lock()
	defer mu.Unlock()
	key := append(objectPrefix(namespace, id), kindAlarm)
	r, ok, err := s.alarmRecordLocked(key)
	if err != nil || !ok {
		return nil, d, false, err
	}
	old := r.due
	r.due = min(r.due, now.UnixMilli())
	d = r.run(namespace, id)
	if r.due == old {
		return nil, d, true, nil
	}
	b := s.db.NewBatch()
	err = b.Delete(alarmIndexKey(old, namespace, id), nil)
	if err == nil {
		err = setAlarm(b, key, d)
	}
	if err != nil {
		_ = b.Close() // it was not applied
		return nil, d, false, err
	}
	return s.applyLocked(b, true), d, true, nil
}
