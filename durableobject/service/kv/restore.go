package kv

import (
	"bytes"
	"context"
	"errors"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/kv"
)

// Restored is what Restore found of a key.
type Restored int

const (
	// RestoredNew: there was no such key.
	RestoredNew Restored = iota
	// RestoredSame: it was there with the same value, metadata and expiration.
	RestoredSame
	// RestoredOther: it was there with others.
	RestoredOther
)

// Restore puts a key as it was elsewhere into the storage of an object of the class, for an import while no host runs; the
// caller commits it. Without write it only says what is there; write has the last word about a key that is there with
// others. Of the entry, Expiration may be near, as that of a put may not. Errors are those of storage, and *kv.Fault for a
// key, value or metadata that none can have.
func Restore(ctx context.Context, o *storage.Object, key string, e kv.Entry, write func(Restored) bool) (Restored, error) {
	for _, f := range []*kv.Fault{
		kv.CheckKey(key), kv.CheckMetadata(e.Metadata), kv.CheckValue(int64(len(e.Value))),
	} {
		if f != nil {
			return 0, f
		}
	}
	s := shelf{o}
	had, ok, err := s.load(ctx, key)
	if err != nil {
		return 0, err
	}
	found := RestoredNew
	if ok {
		value, err := s.value(ctx, key, had)
		if err != nil {
			return 0, err
		}
		found = RestoredOther
		if bytes.Equal(value, e.Value) && had.Metadata == e.Metadata && had.Expiration == e.Expiration {
			return RestoredSame, nil
		}
	}
	if !write(found) {
		return found, nil
	}
	r := record{Size: len(e.Value), Metadata: e.Metadata, Expiration: e.Expiration}
	return found, errors.Join(s.discard(ctx, key), s.store(ctx, key, r, e.Value), s.schedule(ctx, e.Expiration))
}
