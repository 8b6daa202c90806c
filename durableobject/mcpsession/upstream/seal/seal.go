package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// A sealed secret:
//
//	byte  0        version, 1
//	bytes 1..8     ID of the key
//	bytes 9..20    nonce, random
//	bytes 21..     ciphertext and tag
const (
	version    = 1
	keyIDBytes = 8
	nonceBytes = 12
	headBytes  = 1 + keyIDBytes + nonceBytes
	tagBytes   = 16
)

// ErrDamaged is returned by Open for bytes that Seal did not write, or wrote for something else.
var ErrDamaged = errors.New("the secret is damaged or belongs to something else")

// OtherKeyError is returned by Open for what was sealed under another key.
type OtherKeyError struct {
	// Sealed and Have are the IDs of the key that it needs and of the one that is here.
	Sealed, Have string
}

// Error says which key is missing.
func (e *OtherKeyError) Error() string {
	return fmt.Sprintf("the secret was sealed under key %s, this host has key %s: give it the old key, or the "+
		"source its credentials anew", e.Sealed, e.Have)
}

// Sealer seals and opens secrets under one key.
type Sealer struct {
	aead cipher.AEAD
	id   []byte
}

// New returns a sealer for a key.
func New(key Key) (*Sealer, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	sum := sha256.Sum256(append([]byte("tandem secrets key id\x00"), key[:]...))
	return &Sealer{aead: aead, id: sum[:keyIDBytes]}, nil
}

// KeyID returns the ID of the key, which says nothing else about it.
func (s *Sealer) KeyID() string { return hex.EncodeToString(s.id) }

// Seal encrypts a secret for what the associated data name.
func (s *Sealer) Seal(secret, associated []byte) []byte {
	sealed := make([]byte, headBytes, headBytes+len(secret)+tagBytes)
	sealed[0] = version
	copy(sealed[1:], s.id)
	nonce := sealed[1+keyIDBytes:]
	rand.Read(nonce) // it never fails
	return s.aead.Seal(sealed, nonce, secret, bind(sealed[:1+keyIDBytes], associated))
}

// Open returns the secret. Errors: ErrDamaged, *OtherKeyError.
func (s *Sealer) Open(sealed, associated []byte) ([]byte, error) {
	if len(sealed) < headBytes+tagBytes || sealed[0] != version {
		return nil, ErrDamaged
	}
	head := sealed[:1+keyIDBytes]
	if !bytes.Equal(head[1:], s.id) {
		return nil, &OtherKeyError{Sealed: hex.EncodeToString(head[1:]), Have: s.KeyID()}
	}
	secret, err := s.aead.Open(nil, sealed[len(head):headBytes], sealed[headBytes:], bind(head, associated))
	if err != nil {
		return nil, ErrDamaged
	}
	return secret, nil
}

// bind returns what is authenticated beside the ciphertext.
func bind(head, associated []byte) []byte {
	return append(append(make([]byte, 0, len(head)+len(associated)), head...), associated...)
}
