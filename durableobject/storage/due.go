package storage

import (
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// DueAlarm is one run of an alarm that should be made. It names the very alarm that was set: once that is
// deleted, replaced or dropped, the run is stale.
type DueAlarm struct {
	// Namespace is the unique key of the object's namespace.
	Namespace string
	// ID is the object.
	ID objectid.ID
	// Name is the name that the object is addressed by; HasName says whether there is one.
	Name    string
	HasName bool
	// ScheduledTime is the time that was set.
	ScheduledTime time.Time
	// Due is when this run is due: ScheduledTime, or later for a retry.
	Due time.Time
	// Retries is how many runs have failed before.
	Retries int
	// Counted is how many of those count against the limit.
	Counted int

	token uint64 // tells this alarm from one that was set later to the same time
}

// Same reports whether both are runs of the same setting of an alarm.
func (d DueAlarm) Same(other DueAlarm) bool { return d.token == other.token }

// AlarmCursor is a place in the order of due times. The zero cursor is before all.
type AlarmCursor struct{ key string }

// Reaches reports whether an alarm that is set to this due time may come before the cursor, where a scan that
// goes on from the cursor would miss it.
func (c AlarmCursor) Reaches(due time.Time) bool {
	at, _, _, ok := splitAlarmKey([]byte(c.key))
	return ok && due.UnixMilli() <= at
}

// DuePage is what DueAlarms found.
type DuePage struct {
	// Alarms are due, in the order of their due times. Their names are not filled in: see CheckAlarm.
	Alarms []DueAlarm
	// Cursor is after the last of Alarms.
	Cursor AlarmCursor
	// More says that there may be more due alarms after Cursor.
	More bool
	// Next is when the first alarm that is not yet due will be; zero if there is none or More is set.
	Next time.Time
}

// DueAlarms returns alarms after the cursor that are due at now, at most limit (0 or more than MaxPage means
// MaxPage).
func (s *Store) DueAlarms(now time.Time, after AlarmCursor, limit int) (page DuePage, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return DuePage{}, err
	}
	limit = pageLimit(limit)
	low := []byte{spaceAlarm}
	if after.key != "" {
		low = append([]byte(after.key), 0)
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: []byte{spaceAlarm + 1}})
	if err != nil {
		return DuePage{}, fmt.Errorf("due alarms: %w", err)
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("due alarms: %w", cerr)
		}
	}()
	page.Cursor = after
	for ok := it.First(); ok; ok = it.Next() {
		due, namespace, id, ok := splitAlarmKey(it.Key())
		r, ok2 := decodeAlarmRecord(it.Value())
		if !ok || !ok2 {
			s.log.Error("alarm index has a bad entry", "dir", s.dir)
			continue
		}
		if due > now.UnixMilli() {
			page.Next = time.UnixMilli(due)
			break
		}
		if len(page.Alarms) == limit {
			page.More = true
			break
		}
		page.Alarms = append(page.Alarms, r.run(namespace, id))
		page.Cursor = AlarmCursor{key: string(it.Key())}
	}
	return page, nil
}

// CheckAlarm fills in the name and reports whether the run is still to be made.
func (s *Store) CheckAlarm(d DueAlarm) (DueAlarm, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	prefix := objectPrefix(d.Namespace, d.ID)
	r, ok, err := s.alarmRecordLocked(append(prefix, kindAlarm))
	if err != nil {
		return d, false, fmt.Errorf("check alarm of object %s: %w", d.ID, err)
	}
	if !ok || r != d.record() {
		return d, false, nil
	}
	name, ok, err := s.getLocked(append(prefix, kindName))
	if err != nil {
		return d, false, fmt.Errorf("check alarm of object %s: %w", d.ID, err)
	}
	d.Name, d.HasName = string(name), ok
	return d, true, nil
}

// RetryAlarm has the run made again at d.Due with d's counts, unless it is stale; it says whether it was done, and
// returns when that is durable.
func (s *Store) RetryAlarm(d DueAlarm) (bool, error) {
	return s.changeAlarm(d, true)
}

// DropAlarm deletes the alarm of the run, unless that is stale; it says whether it was done, and returns when that is
// durable.
func (s *Store) DropAlarm(d DueAlarm) (bool, error) {
	return s.changeAlarm(d, false)
}

func (s *Store) changeAlarm(d DueAlarm, keep bool) (bool, error) {
	c, err := s.applyAlarm(d, keep)
	if c == nil || err != nil {
		return false, err
	}
	<-c.Done() // the store's goroutine always gets there
	if err := c.Err(); err != nil {
		return false, fmt.Errorf("change alarm of object %s: %w", d.ID, err)
	}
	if keep {
		s.notify(d)
	}
	return true, nil
}

// applyAlarm returns nil when the run is stale.
func (s *Store) applyAlarm(d DueAlarm, keep bool) (*Commit, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	mu := s.alarmLock(d.ID)
	mu.Lock()
	defer mu.Unlock()
	key := append(objectPrefix(d.Namespace, d.ID), kindAlarm)
	old, ok, err := s.alarmRecordLocked(key)
	if err != nil {
		return nil, fmt.Errorf("change alarm of object %s: %w", d.ID, err)
	}
	if !ok || old.token != d.token {
		return nil, nil
	}
	b := s.db.NewBatch()
	err = b.Delete(alarmIndexKey(old.due, d.Namespace, d.ID), nil)
	if err == nil && keep {
		err = setAlarm(b, key, d)
	} else if err == nil {
		err = b.Delete(key, nil)
	}
	if err != nil {
		_ = b.Close() // it was not applied
		return nil, fmt.Errorf("change alarm of object %s: %w", d.ID, err)
	}
	return s.applyLocked(b, true), nil
}

// OnAlarm has f called whenever an alarm's due time was written, with the object and Due set. f must neither block
// nor call the store; it replaces the one before, and nil removes it.
func (s *Store) OnAlarm(f func(DueAlarm)) {
	if f == nil {
		s.onAlarm.Store(nil)
		return
	}
	s.onAlarm.Store(&f)
}

func (s *Store) notify(d DueAlarm) {
	if f := s.onAlarm.Load(); f != nil {
		(*f)(d)
	}
}

// alarmLock returns the mutex that guards an object's alarm.
func (s *Store) alarmLock(id objectid.ID) *sync.Mutex {
	return &s.alarmMu[int(id[objectid.Size-1])%len(s.alarmMu)]
}

func (s *Store) alarmRecord(key []byte) (alarmRecord, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.alarmRecordLocked(key)
}

func (s *Store) alarmRecordLocked(key []byte) (alarmRecord, bool, error) {
	value, ok, err := s.getLocked(key)
	if err != nil || !ok {
		return alarmRecord{}, false, err
	}
	r, ok := decodeAlarmRecord(value)
	if !ok {
		return r, false, fmt.Errorf("alarm record of %d bytes: %w", len(value), ErrCorrupt)
	}
	return r, true, nil
}

func pageLimit(limit int) int {
	if limit <= 0 || limit > MaxPage {
		return MaxPage
	}
	return limit
}
