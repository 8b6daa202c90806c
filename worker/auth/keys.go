package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

const (
	// keysTTL is how long fetched keys are believed.
	keysTTL = time.Hour
	// outageTTL is how long a failed fetch answers those who ask next, so that they need not wait for one each.
	outageTTL = time.Second
	// maxKeys bounds the keys of one issuer.
	maxKeys = 64
	// minRSABits is the smallest RSA key taken.
	minRSABits = 2048
	// unknownKeyBurst and unknownKeyEvery bound the fetches for key IDs that are not known.
	unknownKeyBurst = 5
	unknownKeyEvery = 10 * time.Second
)

// errUnknownKey is returned for a key ID that the issuer does not have.
var errUnknownKey = errors.New("unknown key")

// keySet keeps an issuer's keys.
type keySet struct {
	issuer  *issuer
	flights singleflight.Group
	unknown *rate.Limiter

	mu sync.RWMutex // guards all below
	// keys are by key ID; those without one are under "".
	keys map[string][]jwt.VerificationKey
	// until is when they are to be fetched anew.
	until time.Time
	// outage is the error of the last fetch, if that failed, which counts until outageUntil.
	outage      error
	outageUntil time.Time
}

func newKeySet(iss *issuer) *keySet {
	return &keySet{issuer: iss, unknown: rate.NewLimiter(rate.Every(unknownKeyEvery), unknownKeyBurst)}
}

var _ keySource = (*keySet)(nil)

// key implements keySource. A token without a key ID may be signed by any key.
func (s *keySet) key(ctx context.Context, kid string) (any, error) {
	found, err := s.cached(kid)
	if found != nil || err != nil {
		return found, err
	}
	if err := s.fetch(ctx); err != nil {
		return nil, err
	}
	if found, _ := s.cached(kid); found != nil {
		return found, nil
	}
	return nil, errUnknownKey
}

// cached returns the keys with this ID if they are kept and still believed, else the error of a fetch that failed
// just now, else nothing.
func (s *keySet) cached(kid string) (any, error) {
	now := time.Now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if now.Before(s.until) {
		keys := s.keys[kid]
		if kid == "" {
			keys = nil
			for _, some := range s.keys {
				keys = append(keys, some...)
			}
		}
		if len(keys) > 0 {
			return jwt.VerificationKeySet{Keys: keys}, nil
		}
	}
	if now.Before(s.outageUntil) {
		return nil, s.outage
	}
	return nil, nil
}

// believed reports whether the keys are fresh, so that a fetch can only be for a key ID that they lack.
func (s *keySet) believed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return time.Now().Before(s.until)
}

// fetch gets the keys from the issuer, unless it was done too often for unknown key IDs. Those who call at once
// share one fetch, which outlives the first of them.
func (s *keySet) fetch(ctx context.Context) error {
	shared := context.WithoutCancel(ctx)
	flight := s.flights.DoChan("", func() (any, error) {
		if s.believed() && !s.unknown.Allow() {
			return nil, nil
		}
		ctx, cancel := context.WithTimeout(shared, fetchTimeout)
		defer cancel()
		keys, err := s.issuer.keys(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			s.outage, s.outageUntil = err, time.Now().Add(outageTTL)
			return nil, err
		}
		s.keys, s.until, s.outage = keys, time.Now().Add(keysTTL), nil
		return nil, nil
	})
	select {
	case r := <-flight:
		return r.Err
	case <-ctx.Done():
		return fmt.Errorf("fetch keys: %w", context.Cause(ctx))
	}
}

// parseKeys reads a JSON Web Key Set. Keys that this package cannot use are skipped.
func parseKeys(body []byte) (map[string][]jwt.VerificationKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("parse key set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("parse key set: %d keys, more than %d", len(set.Keys), maxKeys)
	}
	keys := map[string][]jwt.VerificationKey{}
	for _, raw := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(raw, &k) != nil || (k.Use != "" && k.Use != "sig") {
			continue
		}
		if key := usable(k.Key); key != nil {
			keys[k.KeyID] = append(keys[k.KeyID], key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("parse key set: no usable key")
	}
	return keys, nil
}

// usable returns the key if it can verify RS256 or ES256, else nil. Private and symmetric keys cannot.
func usable(key any) jwt.VerificationKey {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() >= minRSABits {
			return k
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return k
		}
	}
	return nil
}
