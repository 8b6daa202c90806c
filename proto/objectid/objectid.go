// Package objectid derives and checks the IDs of Durable Objects.
//
// An ID is 32 bytes, bound to its namespace by a MAC, and written as 64 lower-case hex digits:
//
//	bytes  0..15   HMAC-SHA256(key, name)[0:16], or 16 random bytes
//	bytes 16..31   HMAC-SHA256(key, bytes 0..15)[0:16]
//
// where key = SHA-256(unique key of the namespace). Like workerd: an ID that wrangler made for the same
// unique key is the same ID here.
//
// Everything in it may be called from any goroutine.
package objectid

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"sync"
)

const (
	// Size is the length of an ID in bytes.
	Size = 32
	// MaxNameBytes is the longest name that an object is told; a longer one still derives an ID but is
	// dropped. Like workerd: ctx.id.name.
	MaxNameBytes = 1024
	// Platform stands for the Worker's name in the unique keys of the platform's own services, such as "@tandem-KV": no
	// Worker can have this name.
	Platform = "@tandem"
	// Slots is the number of slots that placement divides a namespace into.
	Slots = 1024

	half = Size / 2
)

var (
	// ErrSyntax is returned by Parse for a text that is not 64 hex digits.
	ErrSyntax = errors.New("Invalid Durable Object ID: must be 64 hex digits")
	// ErrNamespace is returned by Parse for an ID of another namespace.
	ErrNamespace = errors.New("Durable Object ID is not valid for this namespace.")
)

// ID identifies one object within its namespace.
type ID [Size]byte

// String returns the 64 lower-case hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Slot returns the slot of the object in its namespace, in [0, Slots).
func (id ID) Slot() uint32 { return uint32(binary.BigEndian.Uint16(id[:2])) % Slots }

// Namespace derives the IDs of one namespace.
type Namespace struct {
	uniqueKey string
	// macs keeps *keyed, whose making costs more than its use.
	macs *sync.Pool
	// recent has the IDs of names that were derived lately.
	recent *recent
}

// keyed is a MAC with the namespace's key, and room for its result.
type keyed struct {
	hash.Hash
	sum [sha256.Size]byte
}

// NewNamespace returns the namespace with the given unique key, such as "chat-Room".
func NewNamespace(uniqueKey string) Namespace {
	key := sha256.Sum256([]byte(uniqueKey))
	return Namespace{uniqueKey: uniqueKey, recent: newRecent(), macs: &sync.Pool{New: func() any {
		return &keyed{Hash: hmac.New(sha256.New, key[:])}
	}}}
}

// UniqueKey returns the key that the namespace was made with.
func (n Namespace) UniqueKey() string { return n.uniqueKey }

// FromName returns the ID of the object with this name; the empty name is allowed.
func (n Namespace) FromName(name string) ID {
	id, ok := n.recent.get(name)
	if !ok {
		id = n.seal(n.mac([]byte(name)))
		n.recent.put(name, id)
	}
	return id
}

// NewUnique returns a new random ID.
func (n Namespace) NewUnique() ID {
	var head [half]byte
	rand.Read(head[:]) // never fails: crypto/rand ends the process instead
	return n.seal(head)
}

// Parse reads an ID of this namespace, in either case. Errors: ErrSyntax, ErrNamespace.
func (n Namespace) Parse(s string) (ID, error) {
	var id ID
	if len(s) != 2*Size {
		return ID{}, ErrSyntax
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ID{}, ErrSyntax
	}
	if !n.Owns(id) {
		return ID{}, ErrNamespace
	}
	return id, nil
}

// Owns reports whether the ID was made for this namespace.
func (n Namespace) Owns(id ID) bool {
	tail := n.mac(id[:half])
	return hmac.Equal(tail[:], id[half:])
}

func (n Namespace) seal(head [half]byte) ID {
	var id ID
	tail := n.mac(head[:])
	copy(id[:half], head[:])
	copy(id[half:], tail[:])
	return id
}

func (n Namespace) mac(data []byte) (out [half]byte) {
	h := n.macs.Get().(*keyed)
	defer n.macs.Put(h)
	h.Reset()
	h.Write(data)
	copy(out[:], h.Sum(h.sum[:0]))
	return out
}
