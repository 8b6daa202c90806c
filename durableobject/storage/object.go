package storage

import (
	"context"
	"time"
)

// Object is the storage of one object: keys and values in the order of their bytes, and one alarm. Writes of
// one turn form one implicit transaction. All methods must be called within a turn of the object's actor.
// Values are opaque bytes here; package durableobject serializes them.
type Object struct{}

// GetOptions change one read.
type GetOptions struct {
	// AllowConcurrency lets other events in while the read is under way.
	AllowConcurrency bool
	// NoCache keeps what is read out of the cache.
	NoCache bool
}

// PutOptions change one write.
type PutOptions struct {
	// AllowConcurrency lets other events in while the write is under way.
	AllowConcurrency bool
	// AllowUnconfirmed lets what leaves the object not wait for this write.
	AllowUnconfirmed bool
	// NoCache keeps what is written out of the cache.
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

// Get returns the value of a key, and whether there is one. The caller must not change it.
func (o *Object) Get(ctx context.Context, key string, opts GetOptions) (value []byte, ok bool, err error) {
	panic("not built yet")
}

// GetMany returns the entries of those keys that exist, sorted by key.
func (o *Object) GetMany(ctx context.Context, keys []string, opts GetOptions) ([]Entry, error) {
	panic("not built yet")
}

// Put sets entries, all in one transaction.
func (o *Object) Put(ctx context.Context, entries []Entry, opts PutOptions) error {
	panic("not built yet")
}

// Delete removes keys and returns how many existed.
func (o *Object) Delete(ctx context.Context, keys []string, opts PutOptions) (int, error) {
	panic("not built yet")
}

// List returns the entries that the options choose.
func (o *Object) List(ctx context.Context, opts ListOptions) ([]Entry, error) {
	panic("not built yet")
}

// DeleteAll removes every key and the alarm.
func (o *Object) DeleteAll(ctx context.Context) error { panic("not built yet") }

// Sync returns when all earlier writes are durable. The turn is given away meanwhile.
func (o *Object) Sync(ctx context.Context) error { panic("not built yet") }

// Transaction runs fn as a critical section, and its writes as one transaction: an error rolls them back and is
// returned. Within fn use the same Object. Transactions nest.
func (o *Object) Transaction(ctx context.Context, fn func(context.Context) error) error {
	panic("not built yet")
}

// Alarm returns the time of the object's alarm, and whether there is one.
func (o *Object) Alarm(ctx context.Context) (time.Time, bool, error) { panic("not built yet") }

// SetAlarm sets the object's one alarm, in whole milliseconds; a time in the past fires at once.
func (o *Object) SetAlarm(ctx context.Context, at time.Time, opts PutOptions) error {
	panic("not built yet")
}

// DeleteAlarm removes the alarm, if there is one.
func (o *Object) DeleteAlarm(ctx context.Context, opts PutOptions) error { panic("not built yet") }
