package storage

import (
	"context"
	"fmt"
	"sync"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Object is the storage of one object: keys and values in the order of their bytes, and one alarm. Writes of
// one turn form one implicit transaction. All methods must be called within a turn of the object's actor; several
// goroutines of that turn may call them. Values are opaque bytes here; package durableobject serializes them.
//
// Errors of every operation: *Error for what the caller did wrong; ErrBroken and ErrClosed wrapped.
type Object struct {
	store     *Store
	namespace string
	id        objectid.ID
	hooks     Hooks

	// mu guards what follows. Lock order: Object.mu, Store.mu, Store.alarmMu.
	mu sync.Mutex
	// prefix begins every key of the object; the room behind it is where keys are put together.
	prefix []byte
	// top is the innermost layer of pending writes; nil when nothing was written since the last flush.
	top *layer
	// recall is what is remembered of the disk.
	recall recall
	// last is the newest commit.
	last *Commit
	// name is from SetName. nameStored says that it is on disk.
	name                string
	hasName, nameStored bool
	// running is the token of the alarm whose handler runs, if inAlarm.
	running uint64
	inAlarm bool
	// err makes every operation fail.
	err error
}

// GetOptions change one read.
type GetOptions struct {
	// AllowConcurrency lets other events in while the read is under way. It changes nothing here, since reads do not
	// wait. Like workerd with SQLite.
	AllowConcurrency bool
	// NoCache keeps what is read from being remembered.
	NoCache bool
}

// PutOptions change one write.
type PutOptions struct {
	// AllowConcurrency lets other events in while the write is under way. It changes nothing here.
	AllowConcurrency bool
	// AllowUnconfirmed lets what leaves the object not wait for this write.
	AllowUnconfirmed bool
	// NoCache keeps what is written from being remembered.
	NoCache bool
}

// ListOptions choose and order what List returns; all that are set apply together.
type ListOptions struct {
	// Start is the first key, inclusive; StartAfter excludes it. Not both.
	Start, StartAfter *string
	// End is where the range ends, exclusive.
	End *string
	// Prefix is what every key must begin with.
	Prefix string
	// Reverse orders from the last key to the first; the range stays the same.
	Reverse bool
	// Limit is the greatest number of entries; zero means no limit.
	Limit int
	GetOptions
}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
}

// Object returns the storage of one object. It is cheap, reads nothing and creates nothing on disk. There must
// be at most one open Object for an ID at a time. A namespace that is empty, longer than 512 bytes or has a NUL
// makes every operation fail.
func (s *Store) Object(namespace string, id objectid.ID, hooks Hooks) *Object {
	o := &Object{store: s, namespace: namespace, id: id, hooks: hooks, prefix: objectPrefix(namespace, id)}
	o.recall.used, o.recall.most = &s.recalled, s.mostRecalled
	if !validNamespace(namespace) {
		o.err = fmt.Errorf("storage of object %s: namespace %q is empty, too long or has a NUL", id, namespace)
	}
	return o
}

// ID returns the object's ID.
func (o *Object) ID() objectid.ID { return o.id }

// Namespace returns the unique key of the object's namespace.
func (o *Object) Namespace() string { return o.namespace }

// Get returns the value of a key, and whether there is one. The caller must not change it.
func (o *Object) Get(ctx context.Context, key string, opts GetOptions) (value []byte, ok bool, err error) {
	end := o.observe(ctx, "get")
	value, ok, err = o.get(ctx, key, opts)
	end.with(err)
	return value, ok, err
}

// GetMany returns the entries of those keys that exist, sorted by key.
func (o *Object) GetMany(ctx context.Context, keys []string, opts GetOptions) ([]Entry, error) {
	end := o.observe(ctx, "get")
	entries, err := o.getMany(ctx, keys, opts)
	end.with(err)
	return entries, err
}

// Put sets entries, all in one transaction. It copies the values. When it fails, none is set.
func (o *Object) Put(ctx context.Context, entries []Entry, opts PutOptions) error {
	end := o.observe(ctx, "put")
	err := o.put(ctx, entries, opts)
	end.with(err)
	return err
}

// Delete removes keys and returns how many existed.
func (o *Object) Delete(ctx context.Context, keys []string, opts PutOptions) (int, error) {
	end := o.observe(ctx, "delete")
	count, err := o.delete(ctx, keys, opts)
	end.with(err)
	return count, err
}

// List returns the entries that the options choose. Errors: *Error for Start with StartAfter, a negative limit, and
// more than Limits.ListBytes.
func (o *Object) List(ctx context.Context, opts ListOptions) ([]Entry, error) {
	end := o.observe(ctx, "list")
	entries, err := o.list(ctx, opts)
	end.with(err)
	return entries, err
}

// DeleteAll removes every key, the alarm and the name. It fails within a transaction.
func (o *Object) DeleteAll(ctx context.Context) error {
	end := o.observe(ctx, "deleteAll")
	err := o.deleteAll(ctx, alarmDelete)
	end.with(err)
	return err
}

// DeleteAllExceptAlarm is DeleteAll as it was before compatibility date 2026-02-24: the alarm stays, and the name
// with it.
func (o *Object) DeleteAllExceptAlarm(ctx context.Context) error {
	end := o.observe(ctx, "deleteAll")
	err := o.deleteAll(ctx, alarmKeep)
	end.with(err)
	return err
}

// Sync returns when all earlier writes are durable. The turn is given away meanwhile. Writes of a transaction
// that is open do not count.
func (o *Object) Sync(ctx context.Context) error {
	end := o.observe(ctx, "sync")
	err := o.sync(ctx)
	end.with(err)
	return err
}

// lock checks that an operation may be made and takes the mutex; it is not held when lock fails.
func (o *Object) lock(ctx context.Context, operation string) error {
	if o.hooks.InTurn != nil {
		if err := o.hooks.InTurn(ctx); err != nil {
			return o.outOfTurn(ctx, operation, err)
		}
	}
	o.mu.Lock()
	err := o.usableLocked()
	if err == nil && o.top != nil && o.top.parent != nil {
		err = o.scopeErr(ctx, operation) // within a transaction only: a context is slow to ask
	}
	if err != nil {
		o.mu.Unlock()
	}
	return err
}

// outOfTurn explains err, which refused ctx: a transaction's context ends with it.
func (o *Object) outOfTurn(ctx context.Context, operation string, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.usableLocked() == nil {
		if ended := o.scopeErr(ctx, operation); ended != nil {
			return ended
		}
	}
	return err
}

// scopeErr returns why the transaction that ctx belongs to takes no more operations, or nil. mu is held.
func (o *Object) scopeErr(ctx context.Context, operation string) error {
	l, _ := ctx.Value(scopeKey{o}).(*layer)
	switch {
	case l == nil:
	case l.committed:
		return plainError("Cannot call %s() on transaction that has already committed: "+
			"did you move `txn` outside of the closure?", operation)
	case l.rolledBack:
		return plainError("Cannot %s() on rolled back transaction", operation)
	}
	return nil
}

// usableLocked returns why the object must not be used, or nil.
func (o *Object) usableLocked() error {
	if o.err != nil {
		return o.err
	}
	return o.store.Err()
}

// observed is told how an operation ended.
type observed func(error)

func (end observed) with(err error) {
	if end != nil {
		end(err)
	}
}

func (o *Object) observe(ctx context.Context, operation string) observed {
	if o.hooks.Observe == nil {
		return nil
	}
	return o.hooks.Observe(ctx, operation)
}

// topLocked returns the layer that takes writes.
func (o *Object) topLocked() *layer {
	if o.top == nil {
		o.top = new(layer)
	}
	return o.top
}

// key puts a key of the object together. It is overwritten by the next call.
func (o *Object) key(kind byte, rest string) []byte {
	return append(append(o.prefix, kind), rest...)
}
