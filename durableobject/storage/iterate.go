package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tandem-do/tandem/proto/objectid"
)

// MaxPage is the greatest number of entries that Objects, Namespaces and DueAlarms return at once.
const MaxPage = 1000

// Namespaces returns, in byte order, unique keys of namespaces that hold durable state: those after the given
// one, at most limit (0 or more than MaxPage means MaxPage).
func (s *Store) Namespaces(after string, limit int) ([]string, error) {
	var names []string
	low := []byte{spaceObject}
	if after != "" {
		low = afterNamespace(after)
	}
	err := s.skipThrough(low, []byte{spaceObject + 1}, func(key []byte) []byte {
		namespace, _, _, ok := splitObjectKey(key)
		if !ok {
			return nil
		}
		names = append(names, namespace)
		if len(names) == pageLimit(limit) {
			return nil
		}
		return afterNamespace(namespace)
	})
	if err != nil {
		return nil, fmt.Errorf("namespaces: %w", err)
	}
	return names, nil
}

// Objects returns, in byte order, IDs of a namespace's objects that have durable state: those after the given
// one (nil: from the first), at most limit (0 or more than MaxPage means MaxPage).
func (s *Store) Objects(namespace string, after *objectid.ID, limit int) ([]objectid.ID, error) {
	var ids []objectid.ID
	low := namespacePrefix(namespace, 0)
	if after != nil {
		low = afterObject(namespace, *after)
	}
	err := s.skipThrough(low, afterNamespace(namespace), func(key []byte) []byte {
		_, id, _, ok := splitObjectKey(key)
		if !ok {
			return nil
		}
		ids = append(ids, id)
		if len(ids) == pageLimit(limit) {
			return nil
		}
		return afterObject(namespace, id)
	})
	if err != nil {
		return nil, fmt.Errorf("objects of namespace %q: %w", namespace, err)
	}
	return ids, nil
}

// afterNamespace returns a key after all of the namespace's objects.
func afterNamespace(namespace string) []byte {
	p := namespacePrefix(namespace, 0)
	p[len(p)-1] = 1
	return p
}

// afterObject returns a key after all of the object's.
func afterObject(namespace string, id objectid.ID) []byte {
	return append(objectPrefix(namespace, id), 0xff)
}

// skipThrough calls f with the first key in [low, high) and then with the first from where f says to go on, until
// there is none or f returns nil.
func (s *Store) skipThrough(low, high []byte, f func(key []byte) []byte) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	return s.iterateLocked(low, high, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; {
			next := f(it.Key())
			if next == nil {
				return nil
			}
			ok = it.SeekGE(next)
		}
		return nil
	})
}

// iterateLocked calls f with an iterator over [low, high). What could not be read is an error too. Store.mu is
// read-locked, and the store was found usable.
func (s *Store) iterateLocked(low, high []byte, f func(*pebble.Iterator) error) (err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	return f(it)
}
