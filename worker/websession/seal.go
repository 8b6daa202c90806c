package websession

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// maxCookieBytes bounds a cookie's value: browsers keep no more than about 4 KiB.
const maxCookieBytes = 4000

var errSeal = errors.New("the seal is broken")

// sealer seals values in cookies. Each kind of cookie has a key of its own, so that none can pass for another.
type sealer struct {
	aead cipher.AEAD
	// issuer is bound into the seal.
	issuer []byte
}

// newSealer returns the sealer of one kind of cookie of the issuer's clients.
func newSealer(key []byte, kind, issuer string) (*sealer, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "tandem websession "+kind, keyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive the key of the %s cookie: %w", kind, err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead, []byte(issuer)}, nil
}

// seal returns a value as a cookie's. Errors: it is too large.
func (s *sealer) seal(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode cookie: %w", err)
	}
	value := base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, s.issuer))
	if len(value) > maxCookieBytes {
		return "", fmt.Errorf("a cookie of %d bytes is too large", len(value))
	}
	return value, nil
}

// open reads what seal wrote. Errors: errSeal.
func (s *sealer) open(value string, into any) error {
	if len(value) > maxCookieBytes {
		return errSeal
	}
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return errSeal
	}
	text, err := s.aead.Open(nil, nil, sealed, s.issuer)
	if err != nil || json.Unmarshal(text, into) != nil {
		return errSeal
	}
	return nil
}
