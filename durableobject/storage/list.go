package storage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// keyRange is [low, high) in the order of bytes; without bounded, high is past every key.
type keyRange struct {
	low, high string
	bounded   bool
}

func (r keyRange) empty() bool { return r.bounded && r.low >= r.high }

func (r keyRange) contains(key string) bool { return key >= r.low && (!r.bounded || key < r.high) }

// capAt lowers the range's end.
func (r *keyRange) capAt(high string) {
	if !r.bounded || high < r.high {
		r.high, r.bounded = high, true
	}
}

// keys returns the range that all options together leave.
func (opts ListOptions) keys() keyRange {
	r := keyRange{low: opts.Prefix}
	if opts.Start != nil {
		r.low = max(r.low, *opts.Start)
	}
	if opts.StartAfter != nil {
		r.low = max(r.low, *opts.StartAfter+"\x00")
	}
	if opts.End != nil {
		r.capAt(*opts.End)
	}
	if end, ok := prefixEnd(opts.Prefix); ok {
		r.capAt(end)
	}
	return r
}

// prefixEnd returns the first key after all that begin with prefix; false if there is none.
func prefixEnd(prefix string) (string, bool) {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1]), true
		}
	}
	return "", false
}

func (o *Object) list(ctx context.Context, opts ListOptions) (entries []Entry, err error) {
	if opts.Start != nil && opts.StartAfter != nil {
		return nil, typeError("list() cannot be called with both start and startAfter values.")
	}
	if opts.Limit < 0 {
		return nil, typeError("List limit must be positive.")
	}
	if err := o.lock(ctx, "list"); err != nil {
		return nil, err
	}
	defer o.mu.Unlock()
	r := opts.keys()
	if r.empty() {
		return nil, nil
	}
	pending, disk := o.top.within(r)
	if o.top == nil {
		disk = true
	}
	if opts.Reverse {
		slices.Reverse(pending)
	}
	l := lister{opts: opts, left: o.store.limits.ListBytes, pending: pending}
	if disk {
		err = o.listDisk(&l, r)
	}
	for err == nil && len(l.pending) > 0 && !l.full() {
		err = l.addPending()
	}
	if err != nil {
		return nil, err
	}
	return l.entries, nil
}

// lister collects entries in the order asked for.
type lister struct {
	opts    ListOptions
	left    int // bytes that may still be returned
	pending []pendingEntry
	entries []Entry
}

func (l *lister) full() bool { return l.opts.Limit > 0 && len(l.entries) >= l.opts.Limit }

func (l *lister) add(key string, value []byte) error {
	l.left -= len(key) + len(value)
	if l.left < 0 {
		return rangeError("list() result is too large. Use limit and startAfter to read it in parts.")
	}
	l.entries = append(l.entries, Entry{Key: key, Value: value})
	return nil
}

// addPending takes the next pending write; a deletion adds nothing.
func (l *lister) addPending() error {
	p := l.pending[0]
	l.pending = l.pending[1:]
	if p.deleted {
		return nil
	}
	return l.add(p.key, p.value)
}

// before reports whether a pending key comes before one on disk, in the order asked for.
func (l *lister) before(pending, disk string) bool {
	if l.opts.Reverse {
		return pending > disk
	}
	return pending < disk
}

// listDisk merges the disk's entries of a range with the pending writes.
func (o *Object) listDisk(l *lister, r keyRange) (err error) {
	s := o.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	skip := len(o.prefix) + 1
	bounds := pebble.IterOptions{LowerBound: bytes.Clone(o.key(kindValue, r.low))}
	if r.bounded {
		bounds.UpperBound = bytes.Clone(o.key(kindValue, r.high))
	} else {
		bounds.UpperBound = bytes.Clone(o.key(kindValue+1, ""))
	}
	it, err := s.db.NewIter(&bounds)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("list: %w", cerr)
		}
	}()
	first, next := it.First, it.Next
	if l.opts.Reverse {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok && !l.full(); ok = next() {
		if err := l.addDisk(string(it.Key()[skip:]), it); err != nil {
			return err
		}
	}
	return nil
}

// addDisk adds the pending writes before a key of the disk, then the key unless a write hides it.
func (l *lister) addDisk(key string, it *pebble.Iterator) error {
	for len(l.pending) > 0 && l.before(l.pending[0].key, key) && !l.full() {
		if err := l.addPending(); err != nil {
			return err
		}
	}
	if l.full() {
		return nil
	}
	if len(l.pending) > 0 && strings.Compare(l.pending[0].key, key) == 0 {
		return l.addPending()
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return l.add(key, bytes.Clone(value))
}
