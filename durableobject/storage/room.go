package storage

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// reserveBytes is what a store leaves free of its disk, though at most one part in reserveShare of the disk: a log that
	// finds no room breaks the whole store, and compactions need some to give room back.
	reserveBytes = 64 << 20
	reserveShare = 20
	// measuredFor is how long a measurement holds, since others write to the disk as well.
	measuredFor = 200 * time.Millisecond
	// writtenTimes is about how often what is committed goes to the disk: to the log, to a table, and to another one.
	writtenTimes = 3
)

// room says whether the disk has room for a commit.
type room struct {
	// measure looks at the disk.
	measure func() (vfs.DiskUsage, error)
	log     *slog.Logger
	// untold is true where the disk can't tell its size: everything has room then.
	untold atomic.Bool
	// left is how many bytes may be committed before the next measurement, until is when that is due, in Unix nanoseconds.
	left, until atomic.Int64

	mu sync.Mutex // guards full, and one measures at a time
	// full is true while there is no room, which is logged when it begins and ends.
	full bool
}

// take reports whether a commit of n bytes may be written. Any goroutine may call it.
func (r *room) take(n int) bool {
	if r.untold.Load() {
		return true
	}
	if time.Now().UnixNano() < r.until.Load() && r.left.Add(-int64(n)) >= 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	usage, err := r.measure()
	if err != nil {
		// What can't be measured is left to the log to find out.
		r.untold.Store(errors.Is(err, vfs.ErrUnsupported))
		return true
	}
	reserve := min(reserveBytes, usage.TotalBytes/reserveShare)
	free := int64(usage.AvailBytes) - int64(reserve)
	ok := free >= int64(n)*writtenTimes
	if r.full == ok {
		r.full = !ok
		if ok {
			r.log.Info("disk has room again", "free_bytes", usage.AvailBytes)
		} else {
			r.log.Error("disk is full: objects can't store anything", "free_bytes", usage.AvailBytes, "reserve_bytes", reserve)
		}
	}
	if !ok {
		r.until.Store(0)
		return false
	}
	// Half, so that what is under way while this is measured does no harm.
	r.left.Store(free/writtenTimes/2 - int64(n))
	r.until.Store(time.Now().Add(measuredFor).UnixNano())
	return true
}
