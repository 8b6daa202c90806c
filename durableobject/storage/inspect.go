package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// What follows is for operators. It reads any object, live or not, without its actor, and only what is on disk when it
// is told to the caller.

// AlarmState is an object's alarm as it is on disk.
type AlarmState struct {
	// ScheduledTime is the time that was set, Due when the next run is: the same, or later for a retry.
	ScheduledTime, Due time.Time
	// Retries is how many runs have failed, and Counted how many of those count against the limit.
	Retries, Counted int
}

// Summary describes one object that has durable state.
type Summary struct {
	// ID is the object.
	ID objectid.ID
	// Name is the name that it is addressed by; HasName says whether it is known.
	Name    string
	HasName bool
	// Alarm is its alarm, or nil.
	Alarm *AlarmState
	// Keys is how many keys it has, counted up to the limit that was asked for; MoreKeys says that there are more.
	Keys     int
	MoreKeys bool
}

// Summaries returns, in byte order of their IDs, summaries of a namespace's objects: those after the given one (nil:
// from the first), at most limit (0 or more than MaxPage means MaxPage). Of each object at most countKeys keys are
// counted. It ends early with ctx.
func (s *Store) Summaries(ctx context.Context, namespace string, after *objectid.ID, limit, countKeys int) (
	[]Summary, error,
) {
	low := namespacePrefix(namespace, 0)
	if after != nil {
		low = afterObject(namespace, *after)
	}
	list, err := s.summaries(ctx, low, afterNamespace(namespace), pageLimit(limit), countKeys)
	if err != nil {
		return nil, fmt.Errorf("objects of namespace %q: %w", namespace, err)
	}
	return list, nil
}

// Summary returns the summary of one object, and whether it has durable state.
func (s *Store) Summary(ctx context.Context, namespace string, id objectid.ID, countKeys int) (Summary, bool, error) {
	list, err := s.summaries(ctx, objectPrefix(namespace, id), afterObject(namespace, id), 1, countKeys)
	if err != nil {
		return Summary{}, false, fmt.Errorf("object %s: %w", id, err)
	}
	if len(list) == 0 {
		return Summary{ID: id}, false, nil
	}
	return list[0], true, nil
}

// summaries reads the objects in [low, high) in one pass. An object whose keys are counted to the limit is left by a
// seek, so that no object costs more than that.
func (s *Store) summaries(ctx context.Context, low, high []byte, limit, countKeys int) (list []Summary, err error) {
	err = s.iterate(ctx, low, high, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; {
			namespace, id, rest, valid := splitObjectKey(it.Key())
			if !valid {
				return fmt.Errorf("key of %d bytes: %w", len(it.Key()), ErrCorrupt)
			}
			if len(list) == 0 || list[len(list)-1].ID != id {
				if len(list) == limit || ctx.Err() != nil {
					return ctx.Err()
				}
				list = append(list, Summary{ID: id})
			}
			o := &list[len(list)-1]
			if rest[0] == kindValue && o.Keys >= countKeys {
				o.MoreKeys = true
				ok = it.SeekGE(afterObject(namespace, id))
				continue
			}
			if err := o.add(rest[0], it); err != nil {
				return err
			}
			ok = it.Next()
		}
		return nil
	})
	return list, err
}

// add takes one key of the object into its summary.
func (o *Summary) add(kind byte, it *pebble.Iterator) error {
	if kind == kindValue {
		o.Keys++
		return nil
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	switch kind {
	case kindName:
		o.Name, o.HasName = string(value), true
	case kindAlarm:
		r, ok := decodeAlarmRecord(value)
		if !ok {
			return fmt.Errorf("alarm record of %d bytes: %w", len(value), ErrCorrupt)
		}
		o.Alarm = r.state()
	}
	return nil
}

func (r alarmRecord) state() *AlarmState {
	return &AlarmState{
		ScheduledTime: time.UnixMilli(r.scheduled), Due: time.UnixMilli(r.due),
		Retries: int(r.retries), Counted: int(r.counted),
	}
}

// Scan calls f, in the order of keys, with each of an object's entries whose key begins with prefix and is greater
// than after (nil: from the first), until f returns false or an error. All that it sees is of one moment. Key and
// value are f's only while it runs. f must not call the store, which can't be closed meanwhile.
func (s *Store) Scan(
	ctx context.Context, namespace string, id objectid.ID, prefix string, after *string,
	f func(key, value []byte) (more bool, err error),
) error {
	r := ListOptions{Prefix: prefix, StartAfter: after}.keys()
	if r.empty() {
		return nil
	}
	base := append(objectPrefix(namespace, id), kindValue)
	low := slices.Concat(base, []byte(r.low))
	high := slices.Concat(base, []byte(r.high))
	if !r.bounded {
		high = append(objectPrefix(namespace, id), kindValue+1)
	}
	err := s.iterate(ctx, low, high, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			if more, err := f(it.Key()[len(base):], value); err != nil || !more {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("scan object %s: %w", id, err)
	}
	return nil
}

// Dump calls begin with an object's summary, whose keys are not counted, and then key with each of its entries in the
// order of their keys, like Scan; all of it is of one moment. It calls neither, and returns false, if the object has
// no durable state.
func (s *Store) Dump(
	ctx context.Context, namespace string, id objectid.ID, begin func(Summary) error, key func(key, value []byte) error,
) (found bool, err error) {
	skip := len(objectPrefix(namespace, id)) + 1
	err = s.iterate(ctx, objectPrefix(namespace, id), afterObject(namespace, id), func(it *pebble.Iterator) error {
		o, begun := Summary{ID: id}, false
		for ok := it.First(); ok; ok = it.Next() {
			found = true
			kind := it.Key()[skip-1]
			if kind != kindValue {
				if err := o.add(kind, it); err != nil {
					return err
				}
				continue
			}
			if !begun {
				if err := begin(o); err != nil {
					return err
				}
				begun = true
			}
			value, err := it.ValueAndErr()
			if err == nil {
				err = key(it.Key()[skip:], value)
			}
			if err != nil {
				return err
			}
		}
		if found && !begun && it.Error() == nil {
			return begin(o)
		}
		return nil
	})
	if err != nil {
		return found, fmt.Errorf("dump object %s: %w", id, err)
	}
	return found, nil
}

// iterate calls f with an iterator over [low, high), once all that it can see is on disk.
func (s *Store) iterate(ctx context.Context, low, high []byte, f func(*pebble.Iterator) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	return s.iterateLocked(low, high, func(it *pebble.Iterator) error {
		if err := s.settleLocked(ctx); err != nil {
			return err
		}
		return f(it)
	})
}

// Settle returns once all that was applied before is on disk. Whoever has read the store by other means than those
// above, and without an output gate, calls it before telling anybody.
func (s *Store) Settle(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	return s.settleLocked(ctx)
}

// settleLocked puts something without effect into the log and waits for it. Of a store that can't be written to, all
// that there is to read is on disk.
func (s *Store) settleLocked(ctx context.Context) error {
	if s.readOnly {
		return nil
	}
	b := s.db.NewBatch()
	err := b.LogData(nil, nil)
	if err != nil {
		return fmt.Errorf("settle: %w", errors.Join(err, b.Close()))
	}
	if err := s.applyLocked(b, true).Wait(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}
