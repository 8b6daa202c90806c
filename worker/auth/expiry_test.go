package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// countingKeys is a key source with one key.
type countingKeys struct {
	private *ecdsa.PrivateKey
	calls   int
}

func (k *countingKeys) key(context.Context, string) (any, error) {
	k.calls++
	return k.private.Public(), nil
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, key *ecdsa.PrivateKey, life time.Duration) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": "https://i", "aud": "a", "sub": "s", "exp": time.Now().Add(life).Unix(),
	})
	token.Header["kid"] = "k"
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A verified token is believed for a minute, but never beyond its own end.
func TestVerifiedTokensExpire(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for _, tc := range []struct {
		name     string
		life     time.Duration
		wait     time.Duration
		verified int // how often the signature was looked at, in two calls
		expired  bool
	}{
		{"at once", time.Hour, 0, 1, false},
		{"before a minute", time.Hour, 59 * time.Second, 1, false},
		{"after a minute", time.Hour, 61 * time.Second, 2, false},
		{"expired within the minute", 30 * time.Second, 40 * time.Second, 2, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys := &countingKeys{private: key}
				v := newVerifier("https://i", []string{"a"}, keys)
				token := sign(t, key, tc.life)
				if _, err := v.verify(t.Context(), token); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tc.wait) // fake time
				_, err := v.verify(t.Context(), token)
				var invalid *invalidToken
				if errors.As(err, &invalid) != tc.expired || keys.calls != tc.verified {
					t.Errorf("got %v after %d verifications, want expired %v after %d", err, keys.calls, tc.expired, tc.verified)
				}
			})
		})
	}
}

// transport answers as an issuer does.
type transport struct {
	jwks    []byte
	fetches int
	failed  int // with err
	err     error
	stall   bool
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if tr.stall {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if tr.err != nil {
		tr.failed++
		return nil, tr.err
	}
	body := []byte(`{"issuer":"https://i","jwks_uri":"https://i/jwks"}`)
	if strings.HasSuffix(r.URL.Path, "/jwks") {
		tr.fetches++
		body = tr.jwks
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
}

func newTransport(t *testing.T, key *ecdsa.PrivateKey) *transport {
	t.Helper()
	jwks, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	return &transport{jwks: jwks}
}

// Keys are believed for an hour; then an issuer that is down makes it impossible to tell, which is no refusal.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, key)
		v := newVerifier("https://i", []string{"a"}, newKeySet(newIssuer("https://i", &http.Client{Transport: tr})))
		for _, step := range []struct {
			wait    time.Duration
			fetches int
		}{{0, 1}, {59 * time.Minute, 1}, {2 * time.Minute, 2}} {
			time.Sleep(step.wait) // fake time
			if _, err := v.verify(t.Context(), sign(t, key, time.Hour)); err != nil || tr.fetches != step.fetches {
				t.Errorf("after %v: got %v with %d fetches, want %d", step.wait, err, tr.fetches, step.fetches)
			}
		}
		tr.err = errors.New("network is down")
		if _, err := v.verify(t.Context(), sign(t, key, time.Hour)); err != nil {
			t.Errorf("with kept keys: got %v", err)
		}
		time.Sleep(2 * time.Hour)
		_, err := v.verify(t.Context(), sign(t, key, time.Hour))
		var invalid *invalidToken
		if err == nil || errors.As(err, &invalid) {
			t.Errorf("with old keys: got %v, want an outage", err)
		}
		tr.err = nil
		time.Sleep(outageTTL)
		if _, err := v.verify(t.Context(), sign(t, key, time.Hour)); err != nil {
			t.Errorf("after the outage: got %v", err)
		}
	})
}

// An issuer that is down is asked once a second at most.
func TestOutageIsRememberedBriefly(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, key)
		tr.err = errors.New("network is down")
		v := newVerifier("https://i", []string{"a"}, newKeySet(newIssuer("https://i", &http.Client{Transport: tr})))
		for want := range 2 {
			for range 5 {
				_, err := v.verify(t.Context(), sign(t, key, time.Hour))
				var invalid *invalidToken
				if err == nil || errors.As(err, &invalid) {
					t.Errorf("got %v, want an outage", err)
				}
			}
			if tr.failed != want+1 {
				t.Errorf("the issuer was asked %d times, want %d", tr.failed, want+1)
			}
			time.Sleep(outageTTL)
		}
	})
}

// An issuer that does not answer costs a caller five seconds, and those who come next nothing.
func TestStalledIssuer(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, key)
		tr.stall = true
		v := newVerifier("https://i", []string{"a"}, newKeySet(newIssuer("https://i", &http.Client{Transport: tr})))
		for _, want := range []time.Duration{fetchTimeout, 0} {
			start := time.Now()
			if _, err := v.verify(t.Context(), sign(t, key, time.Hour)); err == nil {
				t.Error("got no error")
			}
			if took := time.Since(start); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add("eyJhbGciOiJSUzI1NiJ9.e30.x")
	f.Add("a.b.c")
	v := newVerifier("https://i", []string{"a"}, keysDown{})
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := v.verify(t.Context(), token); err == nil {
			t.Errorf("token %q was taken", token)
		}
	})
}

type keysDown struct{}

func (keysDown) key(context.Context, string) (any, error) { return nil, errUnknownKey }

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if keys, err := parseKeys(body); err == nil && len(keys) == 0 {
			t.Error("no error and no keys")
		}
	})
}
