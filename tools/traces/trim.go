package traces

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// trimBatch bounds the spans that one batch drops.
const trimBatch = 4096

// trim drops the spans that are older than MaxAge at now, and the oldest beyond MaxBytes.
func (s *store) trim(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trimLocked(now)
}

func (s *store) trimLocked(now time.Time) error {
	keep := s.maxBytes
	if s.bytes > keep {
		// A sixteenth more, so that a store that is full does not trim at every export.
		keep -= keep / 16
	}
	for {
		n, err := s.trimOnce(now, keep)
		if err != nil {
			return fmt.Errorf("drop old spans: %w", err)
		}
		if n < trimBatch {
			return nil
		}
	}
}

// trimOnce drops up to trimBatch spans, oldest first, until none is too old and keep bytes are left.
func (s *store) trimOnce(now time.Time, keep int64) (dropped int, err error) {
	cut := uint64(max(0, now.Add(-s.maxAge).UnixNano()))
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: timeKey(s.oldest), UpperBound: []byte{keyTime + 1}})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	b := s.db.NewBatch()
	defer b.Close()
	bytes, next := s.bytes, s.oldest
	var v view
	for ok := it.First(); ok && dropped < trimBatch; ok = it.Next() {
		record, seq := it.Value(), seqOf(it.Key())
		if seq >= cut && bytes <= keep {
			break
		}
		// A damaged record leaves an index entry behind, which points nowhere.
		if v.decode(record) == nil {
			if err := b.Delete(indexKey(v.trace, v.id), nil); err != nil {
				return 0, err
			}
		}
		bytes -= entryBytes(record)
		next = seq + 1
		dropped++
	}
	if err := it.Error(); err != nil || dropped == 0 {
		return 0, err
	}
	if err := b.DeleteRange(timeKey(s.oldest), timeKey(next), nil); err != nil {
		return 0, err
	}
	if err := s.commitLocked(b, bytes); err != nil {
		return 0, err
	}
	s.oldest = next
	return dropped, nil
}
