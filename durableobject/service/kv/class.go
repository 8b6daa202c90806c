package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/kv"
)

// Class returns the class, for a host.
func Class() durableobject.Class {
	return durableobject.Class{
		Name: kv.Class,
		New: func(_ context.Context, s *durableobject.State) (any, error) {
			return &shard{state: s, shelf: shelf{s.Storage()}}, nil
		},
		Methods: map[string]durableobject.Method{
			kv.MethodGet:    durableobject.Func((*shard).get),
			kv.MethodPut:    durableobject.Func((*shard).put),
			kv.MethodDelete: durableobject.Func((*shard).remove),
			kv.MethodList:   durableobject.Func((*shard).list),
		},
	}
}

// shard is an object of the class.
type shard struct {
	shelf
	state *durableobject.State
}

// refuse makes the error of a method of a fault.
func refuse(f *kv.Fault) error { return durableobject.Exception(kv.ErrorName, f.Error()) }

// firstFault returns the error of the first fault, or nil.
func firstFault(faults ...*kv.Fault) error {
	for _, f := range faults {
		if f != nil {
			return refuse(f)
		}
	}
	return nil
}

// now returns the time of the object's clock in whole seconds.
func (s *shard) now() int64 { return s.state.Clock().Now().Unix() }

func (s *shard) get(ctx context.Context, q kv.Get) (kv.GetResult, error) {
	if err := firstFault(kv.CheckBulk(len(q.Keys))); err != nil {
		return kv.GetResult{}, err
	}
	now, total := s.now(), 0
	entries := make([]kv.Entry, len(q.Keys))
	for i, key := range q.Keys {
		if err := firstFault(kv.CheckKey(key)); err != nil {
			return kv.GetResult{}, err
		}
		r, ok, err := s.load(ctx, key)
		if err != nil {
			return kv.GetResult{}, err
		}
		if !ok || r.expired(now) {
			continue
		}
		if total += r.Size; total > kv.MaxValueBytes {
			return kv.GetResult{}, refuse(kv.TooMuch())
		}
		value, err := s.value(ctx, key, r)
		if err != nil {
			return kv.GetResult{}, err
		}
		entries[i] = kv.Entry{Found: true, Value: value, Metadata: r.Metadata, Expiration: r.Expiration}
	}
	return kv.GetResult{Entries: entries}, nil
}

func (s *shard) put(ctx context.Context, q kv.Put) (kv.Done, error) {
	expiration, fault := q.ExpirationOf(s.now())
	err := firstFault(kv.CheckKey(q.Key), fault, kv.CheckMetadata(q.Metadata), kv.CheckValue(int64(len(q.Value))))
	if err != nil {
		return kv.Done{}, err
	}
	if err := s.discard(ctx, q.Key); err != nil {
		return kv.Done{}, err
	}
	r := record{Size: len(q.Value), Metadata: q.Metadata, Expiration: expiration}
	return kv.Done{}, errors.Join(s.store(ctx, q.Key, r, q.Value), s.schedule(ctx, expiration))
}

func (s *shard) remove(ctx context.Context, q kv.Delete) (kv.Done, error) {
	if err := firstFault(kv.CheckKey(q.Key)); err != nil {
		return kv.Done{}, err
	}
	return kv.Done{}, s.discard(ctx, q.Key)
}

func (s *shard) list(ctx context.Context, q kv.List) (kv.ListResult, error) {
	err := firstFault(kv.CheckLength(q.Prefix), kv.CheckLength(q.After), kv.CheckListLimit(q.Limit))
	if err != nil {
		return kv.ListResult{}, err
	}
	now, result := s.now(), kv.ListResult{Keys: []kv.Key{}}
	for after := q.After; ; {
		page, err := s.page(ctx, q.Prefix, after, q.Limit+1)
		if err != nil {
			return kv.ListResult{}, err
		}
		for _, e := range page {
			after = e.key
			if e.record.expired(now) {
				continue
			}
			if len(result.Keys) == q.Limit {
				result.More = true
				return result, nil
			}
			result.Keys = append(result.Keys,
				kv.Key{Name: e.key, Expiration: e.record.Expiration, Metadata: e.record.Metadata})
		}
		if len(page) <= q.Limit {
			return result, nil
		}
	}
}

const (
	// sweepEvery is how often keys that have expired are deleted, at most.
	sweepEvery = time.Minute
	// maxSwept is how many are deleted in one turn.
	maxSwept = 500
)

// Alarm deletes keys that have expired.
func (s *shard) Alarm(ctx context.Context, _ durableobject.AlarmInfo) error {
	now := s.now()
	due, err := s.expirations(ctx, maxSwept+1)
	if err != nil {
		return err
	}
	for i, e := range due {
		if e.at > now || i == maxSwept {
			return s.schedule(ctx, e.at)
		}
		if err := s.discard(ctx, e.key); err != nil {
			return fmt.Errorf("delete an expired key: %w", err)
		}
	}
	return nil
}

// schedule has the alarm ring when a key has expired, in seconds since 1970, or 0 for never.
func (s shelf) schedule(ctx context.Context, expiration int64) error {
	if expiration == 0 {
		return nil
	}
	at := time.Unix(expiration, 0)
	if rounded := at.Truncate(sweepEvery); rounded.Before(at) {
		at = rounded.Add(sweepEvery)
	}
	set, ok, err := s.storage.Alarm(ctx)
	if err != nil || ok && !set.After(at) {
		return err
	}
	return s.storage.SetAlarm(ctx, at, storage.PutOptions{})
}
