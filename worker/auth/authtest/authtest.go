// Package authtest is an authorization server for tests of the worker: it publishes metadata and keys, and signs
// tokens of any content. It serves on a loopback socket and stops with its test.
package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// Issuer is an authorization server.
type Issuer struct {
	// URL is its identifier.
	URL string

	mu      sync.Mutex // guards all below
	keys    []signer
	extra   []any // further entries of the key set
	down    bool
	fetches map[string]int
	gate    chan struct{}
	// metadata are further members of the metadata, tokens what answers the token endpoint.
	metadata map[string]any
	tokens   func(form url.Values) (status int, answer any)
}

type signer struct {
	kid    string
	method jwt.SigningMethod
	key    crypto.Signer
}

// NewIssuer starts an authorization server with one RS256 key.
func NewIssuer(t testing.TB) *Issuer {
	i := &Issuer{fetches: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(s.Close)
	i.URL = s.URL
	i.AddRSA(t, "rsa-1", 2048)
	return i
}

// AddRSA adds an RS256 key, which signs from now on.
func (i *Issuer) AddRSA(t testing.TB, kid string, bits int) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	i.add(signer{kid, jwt.SigningMethodRS256, key})
}

// AddEC adds an ES256 key, which signs from now on.
func (i *Issuer) AddEC(t testing.TB, kid string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.add(signer{kid, jwt.SigningMethodES256, key})
}

func (i *Issuer) add(s signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(i.keys, s)
}

// AddForeign adds an entry to the key set that is none of the issuer's own keys.
func (i *Issuer) AddForeign(entry any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.extra = append(i.extra, entry)
}

// SetMetadata adds members to the metadata, or replaces them.
func (i *Issuer) SetMetadata(members map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.metadata = members
}

// ServeTokens has the token endpoint answer.
func (i *Issuer) ServeTokens(fn func(form url.Values) (status int, answer any)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tokens = fn
}

// SetDown makes the server answer 500 to everything, or serve again.
func (i *Issuer) SetDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Hold makes requests wait until the returned function is called.
func (i *Issuer) Hold() (release func()) {
	gate := make(chan struct{})
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gate = gate
	return sync.OnceFunc(func() { close(gate) })
}

// Fetches returns how often a path was fetched.
func (i *Issuer) Fetches(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches[path]
}

// Token signs a token for the audience, valid for an hour. Overrides replace claims; nil removes one.
func (i *Issuer) Token(t testing.TB, audience string, overrides map[string]any) string {
	claims := jwt.MapClaims{
		"iss": i.URL, "aud": audience, "sub": "user_1", "org_id": "org_1",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, overrides)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return i.Sign(t, claims, nil)
}

// Sign signs claims with the newest key. Header fields replace the usual ones; nil removes one.
func (i *Issuer) Sign(t testing.TB, claims jwt.Claims, header map[string]any) string {
	i.mu.Lock()
	s := i.keys[len(i.keys)-1]
	i.mu.Unlock()
	token := jwt.NewWithClaims(s.method, claims)
	token.Header["kid"] = s.kid
	maps.Copy(token.Header, header)
	maps.DeleteFunc(token.Header, func(_ string, v any) bool { return v == nil })
	text, err := token.SignedString(s.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// serve answers the requests of a resource server.
func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.fetches[r.URL.Path]++
	down, gate, metadata, tokens := i.down, i.gate, i.metadata, i.tokens
	keys := []any{}
	for _, s := range i.keys {
		keys = append(keys, jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Use: "sig"})
	}
	keys = append(keys, i.extra...)
	i.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	if down {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	status := http.StatusOK
	var doc any
	switch r.URL.Path {
	case "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server":
		members := map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/jwks",
			"authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		}
		maps.Copy(members, metadata)
		doc = members
	case "/token":
		if tokens == nil || r.ParseForm() != nil {
			http.NotFound(w, r)
			return
		}
		status, doc = tokens(r.PostForm)
	case "/jwks":
		doc = map[string]any{"keys": keys}
	default:
		http.NotFound(w, r)
		return
	}
	body, err := json.Marshal(doc)
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
