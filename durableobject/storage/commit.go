package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// slowAfter is how long a commit, or one shortly before it, is under way when it counts as slow: many times the length
// of a sync.
const slowAfter = 50 * time.Millisecond

// Commit is one turn's writes on their way to disk. Its methods may be called from any goroutine.
type Commit struct {
	batch     *pebble.Batch
	done      chan struct{}
	err       error // set before done is closed
	confirmed bool
	slow      <-chan struct{}
}

// Done is closed when the writes are on disk, and with them all earlier ones of the object, or when that failed.
func (c *Commit) Done() <-chan struct{} { return c.done }

// Err returns nil until Done is closed; then why the commit failed (it wraps ErrBroken or ErrClosed), or nil.
func (c *Commit) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Slow is closed when the commit takes long. It may be closed of others' commits early, which does no harm.
func (c *Commit) Slow() <-chan struct{} { return c.slow }

// Confirmed reports whether what leaves the object must wait for this commit. It is false when all its writes
// were AllowUnconfirmed. A failure breaks the object in either case.
func (c *Commit) Confirmed() bool { return c.confirmed }

// Wait returns Err once Done is closed, or the cause of ctx's end if that comes first.
func (c *Commit) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	default:
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func failedCommit(err error, confirmed bool) *Commit {
	c := &Commit{done: make(chan struct{}), err: err, confirmed: confirmed}
	c.slow = c.done
	close(c.done)
	return c
}

// applyLocked writes a batch to log and memtable and has its sync waited for. It blocks only when Pebble is far
// behind: 4095 syncs waiting, or memtables full. The batch is the store's from here on. Store.mu is read-locked,
// and the store was found usable.
func (s *Store) applyLocked(b *pebble.Batch, confirmed bool) *Commit {
	if s.readOnly {
		_ = b.Close() // it was not applied
		return failedCommit(ErrReadOnly, confirmed)
	}
	if err := s.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		s.breakWith(err)
		return failedCommit(s.brokenErr(), confirmed)
	}
	c := &Commit{batch: b, done: make(chan struct{}), confirmed: confirmed, slow: s.patience()}
	s.commits <- c
	return c
}

// complete is the one goroutine that waits for syncs. Syncs are done in the order of the log, and commits come
// here almost in that order, so waiting for one after the other delays none.
func (s *Store) complete() {
	for c := range s.commits {
		if err := c.batch.SyncWait(); err != nil {
			s.breakWith(err)
		}
		c.err = s.brokenErr()
		if c.err == nil {
			_ = c.batch.Close() // only returns the memory
		}
		c.batch = nil
		close(c.done)
	}
}

// patience returns the channel of commits that are made about now, which is closed slowAfter its first one.
func (s *Store) patience() <-chan struct{} {
	for {
		if c := s.slow.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if s.slow.CompareAndSwap(nil, &c) {
			time.AfterFunc(slowAfter, func() {
				s.slow.Store(nil)
				close(c)
			})
		}
	}
}

// breakWith records the first fault of the log.
func (s *Store) breakWith(err error) {
	fault := fmt.Errorf("%w: %w", ErrBroken, err)
	if s.fault.CompareAndSwap(nil, &fault) {
		s.log.Error("store is broken", "dir", s.dir, "err", err)
		close(s.broken)
	}
}

func (s *Store) brokenErr() error {
	if p := s.fault.Load(); p != nil {
		return *p
	}
	return nil
}
