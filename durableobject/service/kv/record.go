package kv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/v8value"
)

const (
	// inlineBytes is the longest value that is kept in its record: lists read records.
	inlineBytes = 1 << 10
	// pieceBytes is how long the parts of other values are. It is within the limits of storage before SQLite too.
	pieceBytes = 64 << 10
)

const (
	keyPrefix    = "key/"
	expirePrefix = "expires/"
)

func pieceKey(key string, n int) string { return fmt.Sprintf("piece/%03d/%s", n, key) }

// expireKey orders by time: seconds have twelve digits for the next 29,000 years.
func expireKey(at int64, key string) string { return fmt.Sprintf("%s%012d/%s", expirePrefix, at, key) }

// record is what is stored of a key.
type record struct {
	// Size is the value's length in bytes.
	Size int `json:"size"`
	// Text or Bytes is a small value, as the one if it is UTF-8.
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
	// Pieces is how many pieces a larger value has.
	Pieces int `json:"pieces,omitempty"`
	// Metadata is JSON, or empty.
	Metadata string `json:"metadata,omitempty"`
	// Expiration is in seconds since 1970, or 0.
	Expiration int64 `json:"expiration,omitempty"`
}

func (r *record) expired(now int64) bool { return r.Expiration != 0 && r.Expiration <= now }

// shelf is the storage of an object of the class.
type shelf struct{ storage *storage.Object }

func (s shelf) load(ctx context.Context, key string) (r record, ok bool, err error) {
	return durableobject.Get[record](ctx, s.storage, keyPrefix+key)
}

// value returns the value of a key with this record.
func (s shelf) value(ctx context.Context, key string, r record) ([]byte, error) {
	switch {
	case r.Pieces == 0 && len(r.Bytes) > 0:
		return r.Bytes, nil
	case r.Pieces == 0:
		return []byte(r.Text), nil
	}
	value := make([]byte, 0, r.Size)
	for n := range r.Pieces {
		b, _, err := s.storage.Get(ctx, pieceKey(key, n), storage.GetOptions{NoCache: true})
		if err != nil {
			return nil, err
		}
		var piece []byte
		if err := v8value.Unmarshal(b, &piece); err != nil {
			return nil, fmt.Errorf("piece %d of a value: %w", n, err)
		}
		value = append(value, piece...)
	}
	if len(value) != r.Size {
		return nil, fmt.Errorf("a value of %d bytes has pieces of %d", r.Size, len(value))
	}
	return value, nil
}

// store writes a record with its value; the key has none yet.
func (s shelf) store(ctx context.Context, key string, r record, value []byte) error {
	switch {
	case len(value) > inlineBytes:
		for ; len(value) > 0; r.Pieces++ {
			n := min(len(value), pieceBytes)
			b, err := v8value.Marshal(value[:n])
			if err != nil {
				return err
			}
			entry := []storage.Entry{{Key: pieceKey(key, r.Pieces), Value: b}}
			if err := s.storage.Put(ctx, entry, storage.PutOptions{NoCache: true}); err != nil {
				return err
			}
			value = value[n:]
		}
	case utf8.Valid(value):
		r.Text = string(value)
	default:
		r.Bytes = value
	}
	if r.Expiration != 0 {
		if err := durableobject.Put(ctx, s.storage, expireKey(r.Expiration, key), key); err != nil {
			return err
		}
	}
	return durableobject.Put(ctx, s.storage, keyPrefix+key, r)
}

// discard deletes all there is of a key.
func (s shelf) discard(ctx context.Context, key string) error {
	r, ok, err := s.load(ctx, key)
	if err != nil || !ok {
		return err
	}
	keys := []string{keyPrefix + key}
	for n := range r.Pieces {
		keys = append(keys, pieceKey(key, n))
	}
	if r.Expiration != 0 {
		keys = append(keys, expireKey(r.Expiration, key))
	}
	_, err = s.storage.Delete(ctx, keys, storage.PutOptions{})
	return err
}

// keyed is a key with its record.
type keyed struct {
	key    string
	record record
}

// page returns the next keys with a prefix, at most so many.
func (s shelf) page(ctx context.Context, prefix, after string, limit int) ([]keyed, error) {
	o := storage.ListOptions{Prefix: keyPrefix + prefix, Limit: limit}
	if after != "" {
		start := keyPrefix + after
		o.StartAfter = &start
	}
	entries, err := s.storage.List(ctx, o)
	if err != nil {
		return nil, err
	}
	page := make([]keyed, len(entries))
	for i, e := range entries {
		page[i].key = strings.TrimPrefix(e.Key, keyPrefix)
		if err := v8value.Unmarshal(e.Value, &page[i].record); err != nil {
			return nil, fmt.Errorf("record of a key: %w", err)
		}
	}
	return page, nil
}

// expiry is when a key goes.
type expiry struct {
	at  int64
	key string
}

var errIndex = errors.New("a key of the index of expirations is malformed")

// expirations returns the first keys to go, at most so many.
func (s shelf) expirations(ctx context.Context, limit int) ([]expiry, error) {
	entries, err := s.storage.List(ctx, storage.ListOptions{Prefix: expirePrefix, Limit: limit})
	if err != nil {
		return nil, err
	}
	list := make([]expiry, len(entries))
	for i, e := range entries {
		digits, key, _ := strings.Cut(strings.TrimPrefix(e.Key, expirePrefix), "/")
		at, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, errIndex
		}
		list[i] = expiry{at, key}
	}
	return list, nil
}
