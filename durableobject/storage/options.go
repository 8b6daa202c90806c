package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/durableobject/clock"
)

// Options say where a store is and how it runs.
type Options struct {
	// Dir is the store's directory; it is created, and locked while the store is open.
	Dir string
	// FS is the file system; nil means the machine's.
	FS vfs.FS
	// Log takes what Pebble has to say; nil discards it.
	Log *slog.Logger
	// CacheBytes is the size of the block cache; 0 means 64 MiB.
	CacheBytes int64
	// RecallBytes bounds the keys and values that live objects remember, all together; 0 means 32 MiB.
	RecallBytes int64
	// Limits bound what objects may ask for.
	Limits Limits
	// Clock is the time by which the objects live; its zero value is real time.
	Clock clock.Clock
}

const (
	defaultCacheBytes  = 64 << 20
	defaultRecallBytes = 32 << 20
	// maxKeyBytes and maxValueBytes are the greatest limits that a store can have.
	maxKeyBytes   = 65535
	maxValueBytes = 64 << 20
)

// Limits bound single operations and what an object can have pending. A zero field means its default.
type Limits struct {
	// KeyBytes is the longest key; default and most 65535.
	KeyBytes int
	// ValueBytes is the longest value; default 32 MiB, at most 64 MiB.
	ValueBytes int
	// ValueSlackBytes may come on top of ValueBytes without being named in the error's text; default 0.
	ValueSlackBytes int
	// GetKeys is the greatest number of keys in one GetMany; default no limit.
	GetKeys int
	// PendingBytes bounds the keys and values that one object has pending; default 128 MiB, at most 1 GiB.
	PendingBytes int
	// ListBytes bounds the keys and values that one List returns; default 128 MiB.
	ListBytes int
}

// LegacyLimits are those of Cloudflare's key-value back end before SQLite, for a strict mode; without it, limits only
// keep the host healthy, as workerd's are with SQLite. Like workerd: 131072 bytes are advertised and 34 more of
// serialization accepted.
func LegacyLimits() Limits {
	return Limits{KeyBytes: 2048, ValueBytes: 128 << 10, ValueSlackBytes: 34, GetKeys: 128}
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.KeyBytes, 65535)
	def(&l.ValueBytes, 32<<20)
	def(&l.PendingBytes, 128<<20)
	def(&l.ListBytes, 128<<20)
	return l
}

func (l Limits) validate() error {
	var errs []error
	check := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("limit %s is %d, want %d to %d", name, v, low, high))
		}
	}
	check("KeyBytes", l.KeyBytes, 1, maxKeyBytes)
	check("ValueBytes", l.ValueBytes, 1, maxValueBytes)
	check("ValueSlackBytes", l.ValueSlackBytes, 0, 1<<20)
	check("GetKeys", l.GetKeys, 0, 1<<20)
	check("PendingBytes", l.PendingBytes, 1, 1<<30)
	check("ListBytes", l.ListBytes, 1, 1<<30)
	return errors.Join(errs...)
}

// Hooks are what an object's actor wants to be asked and told. Nil funcs do nothing.
type Hooks struct {
	// InTurn reports, by an error that the operation returns, that ctx does not belong to the turn that runs.
	// It is called at the start of every operation that takes a context.
	InTurn func(ctx context.Context) error
	// CriticalSection runs fn while no other event of the object is delivered, even where fn waits, once any other
	// critical section has ended. fn returns nil, since a transaction that fails must not break the object; an error
	// of the hook's own is the transaction's. It is called for outermost transactions only. Nil runs fn as it is.
	CriticalSection func(ctx context.Context, fn func(context.Context) error) error
	// Await gives the turn away, which includes a call of Flush, runs fn, and takes a turn again. It is how Sync
	// waits. Nil makes Sync flush and wait within the turn.
	Await func(ctx context.Context, fn func(context.Context) error) error
	// SetAlarm is asked, in the turn, before an alarm is set; its error refuses the alarm. An alarm that nobody could
	// run is refused here.
	SetAlarm func() error
	// Observe is told of each operation of the public API when it starts; the func it returns, which may be nil,
	// is called with the result when it ends. Operation names are those of Cloudflare's API: get, list, put,
	// delete, deleteAll, sync, transaction, getAlarm, setAlarm, deleteAlarm.
	Observe func(ctx context.Context, operation string) (end func(error))
}
