package kv

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"unicode/utf8"

	"github.com/tandem-do/tandem/proto/objectid"
)

// Class is the name of the class, and UniqueKey that of its objects.
const (
	Class     = "KV"
	UniqueKey = objectid.Platform + "-" + Class
)

// Shards is how many objects hold one namespace.
const Shards = 16

// Methods of the class.
const (
	// MethodGet takes a Get and returns a GetResult.
	MethodGet = "get"
	// MethodPut takes a Put and returns a Done. It replaces what the key had, its metadata and expiration too.
	MethodPut = "put"
	// MethodDelete takes a Delete and returns a Done. A key that is not there is no error.
	MethodDelete = "delete"
	// MethodList takes a List and returns a ListResult.
	MethodList = "list"
)

// ErrorName is the name of an error that a method returns for what its caller asked: its message is what Cloudflare's API
// says, a status and a text.
const ErrorName = "KVError"

// Limits of Workers KV. Those of a shard hold whoever calls it.
const (
	// MaxKeyBytes is the longest key, in UTF-8.
	MaxKeyBytes = 512
	// MaxValueBytes is the longest value, and the most that one bulk read returns.
	MaxValueBytes = 25 << 20
	// MaxMetadataBytes is the longest metadata, as JSON.
	MaxMetadataBytes = 1024
	// MaxBulkKeys is the most keys of one bulk read.
	MaxBulkKeys = 100
	// MaxListKeys is the most keys of one page of a list.
	MaxListKeys = 1000
	// MinExpiration is the shortest time to live, in seconds.
	MinExpiration = 60
	// maxExpiration is the last second of the year 9999.
	maxExpiration = 253402300799
	// MinCacheTTL is the shortest time for which a read may be cached, in seconds.
	MinCacheTTL = 30
)

// ObjectName is the name of the object that has a shard of a namespace.
func ObjectName(namespace string, shard int) string { return namespace + "/" + strconv.Itoa(shard) }

// Shard is where a key is: FNV-1a of its bytes.
func Shard(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % Shards)
}

// Get reads keys of one shard.
type Get struct {
	// Keys are read in this order; one may be there more than once.
	Keys []string `json:"keys"`
}

// GetResult has an entry for each key of a Get.
type GetResult struct {
	Entries []Entry `json:"entries"`
}

// Entry is what a key has.
type Entry struct {
	// Found says that the key is there; the rest is empty otherwise.
	Found bool `json:"found"`
	// Value is the value's bytes.
	Value []byte `json:"value"`
	// Metadata is JSON, or empty.
	Metadata string `json:"metadata,omitempty"`
	// Expiration is when the key goes, in seconds since 1970, or 0.
	Expiration int64 `json:"expiration,omitempty"`
}

// Put sets a key.
type Put struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
	// Metadata is JSON, or empty.
	Metadata string `json:"metadata,omitempty"`
	// Expiration is in seconds since 1970; TTL in seconds from now, and stands before it. nil means never.
	Expiration *int64 `json:"expiration,omitempty"`
	TTL        *int64 `json:"ttl,omitempty"`
}

// Delete removes a key.
type Delete struct {
	Key string `json:"key"`
}

// Done is the empty result.
type Done struct{}

// List asks for keys of one shard in the order of their bytes.
type List struct {
	// Prefix is what all of them begin with.
	Prefix string `json:"prefix,omitempty"`
	// After is a key that all of them come after, or empty.
	After string `json:"after,omitempty"`
	// Limit is the most to return: 1 to MaxListKeys.
	Limit int `json:"limit"`
}

// ListResult is a page of keys.
type ListResult struct {
	Keys []Key `json:"keys"`
	// More says that there are keys after the last one.
	More bool `json:"more"`
}

// Key is a key without its value.
type Key struct {
	Name string `json:"name"`
	// Expiration is in seconds since 1970, or 0.
	Expiration int64 `json:"expiration,omitempty"`
	// Metadata is JSON, or empty.
	Metadata string `json:"metadata,omitempty"`
}

// Fault is an answer of Cloudflare's KV API that refuses a request.
type Fault struct {
	// Status is that of HTTP.
	Status int
	// Text says why.
	Text string
}

// Error returns the status and the text.
func (f *Fault) Error() string { return strconv.Itoa(f.Status) + " " + f.Text }

func fault(status int, format string, args ...any) *Fault {
	return &Fault{Status: status, Text: fmt.Sprintf(format, args...)}
}

// CheckLength checks the length and the encoding of a key or of a prefix of keys.
func CheckLength(key string) *Fault {
	switch {
	case len(key) > MaxKeyBytes:
		return fault(414, "UTF-8 encoded length of %d exceeds key length limit of %d.", len(key), MaxKeyBytes)
	case !utf8.ValidString(key):
		return fault(400, "Invalid key encoding")
	}
	return nil
}

// CheckKey checks a key.
func CheckKey(key string) *Fault {
	switch key {
	case "":
		return fault(400, "Key names must not be empty")
	case ".", "..":
		return fault(400, "Illegal key name %q. Please use a different name.", key)
	}
	return CheckLength(key)
}

// CheckValue checks the length of a value.
func CheckValue(length int64) *Fault {
	if length > MaxValueBytes {
		return fault(413, "Value length of %d exceeds limit of %d.", length, MaxValueBytes)
	}
	return nil
}

// CheckMetadata checks metadata, which may be empty.
func CheckMetadata(metadata string) *Fault {
	if metadata != "" && len(metadata) <= MaxMetadataBytes && !json.Valid([]byte(metadata)) {
		return fault(400, "Metadata must be valid JSON")
	}
	if len(metadata) > MaxMetadataBytes {
		return fault(413, "Metadata length of %d exceeds limit of %d.", len(metadata), MaxMetadataBytes)
	}
	return nil
}

// CheckCacheTTL checks for how long a read may be cached. Nothing is cached here: every read sees the last write.
func CheckCacheTTL(seconds int64) *Fault {
	if seconds < MinCacheTTL {
		return fault(400, "Invalid cache_ttl of %d. Cache TTL must be at least %d.", seconds, MinCacheTTL)
	}
	return nil
}

// CheckListLimit checks the size of a page of a list.
func CheckListLimit(limit int) *Fault {
	switch {
	case limit < 1:
		return fault(400, "Invalid key_count_limit of %d. Please specify an integer greater than 0.", limit)
	case limit > MaxListKeys:
		return fault(400, "Invalid key_count_limit of %d. Please specify an integer less than %d.", limit, MaxListKeys)
	}
	return nil
}

// CheckBulk checks the number of keys of a bulk read.
func CheckBulk(keys int) *Fault {
	switch {
	case keys < 1:
		return fault(400, "You must request a minimum of 1 key")
	case keys > MaxBulkKeys:
		return fault(400, "You can request a maximum of %d keys", MaxBulkKeys)
	}
	return nil
}

// TooMuch is the fault of a read whose values have more than MaxValueBytes together.
func TooMuch() *Fault {
	return fault(413, "Total size of request exceeds the limit of %dMB", MaxValueBytes>>20)
}

// ExpirationOf returns when a key goes that is put now, both in seconds since 1970, or 0 for never.
func (p *Put) ExpirationOf(now int64) (int64, *Fault) {
	switch {
	case p.TTL != nil:
		ttl := *p.TTL
		switch {
		case ttl <= 0:
			return 0, fault(400, "Invalid expiration_ttl of %d. Please specify integer greater than 0.", ttl)
		case ttl < MinExpiration:
			return 0, fault(400, "Invalid expiration_ttl of %d. Expiration TTL must be at least %d.", ttl, MinExpiration)
		}
		return min(now+min(ttl, maxExpiration), maxExpiration), nil
	case p.Expiration != nil:
		at := *p.Expiration
		switch {
		case at <= now:
			return 0, fault(400, "Invalid expiration of %d. Please specify integer greater than the current number of "+
				"seconds since the UNIX epoch.", at)
		case at < now+MinExpiration:
			return 0, fault(400, "Invalid expiration of %d. Expiration times must be at least %d seconds in the future.",
				at, MinExpiration)
		}
		return min(at, maxExpiration), nil
	}
	return 0, nil
}
