package harness

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Identity is an account with a bearer token.
type Identity struct {
	Email string
	Token string
}

// redirectURI is a loopback redirect that nothing listens on: the code is read from the Location header.
const redirectURI = "http://127.0.0.1:9/callback"

// NewIdentity makes a new account in an organization of its own, by discovery from the endpoint's challenge, client
// registration, PKCE and code exchange.
func (s *Stack) NewIdentity(t T) Identity {
	t.Helper()
	id := Identity{Email: "user-" + uuid.NewString() + "@example.com"}
	id.Token = s.SignIn(t, id.Email)
	return id
}

// SignIn returns a bearer token for an e-mail address.
func (s *Stack) SignIn(t T, email string) string {
	t.Helper()
	ready := s.MustReady(t)
	challenge := Do(t, "POST", ready.MCPURL, map[string]string{"Content-Type": "application/json"}, []byte("{}"))
	if challenge.Status != http.StatusUnauthorized {
		t.Fatalf("no challenge: %d %s", challenge.Status, challenge.Body)
	}
	prm := getJSON(t, between(t, challenge.Header.Get("Www-Authenticate"), `resource_metadata="`, `"`))
	issuer := prm["authorization_servers"].([]any)[0].(string)
	meta := getJSON(t, strings.TrimSuffix(issuer, "/")+"/.well-known/oauth-authorization-server")
	registered := Do(t, "POST", meta["registration_endpoint"].(string), map[string]string{"Content-Type": "application/json"},
		[]byte(`{"client_name":"tandem-e2e","redirect_uris":["`+redirectURI+`"],"token_endpoint_auth_method":"none"}`))
	if registered.Status != http.StatusCreated {
		t.Fatalf("register: %d %s", registered.Status, registered.Body)
	}
	clientID := decode(t, registered.Body)["client_id"].(string)
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {redirectURI}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"resource": {prm["resource"].(string)}, "login_hint": {email},
	}
	authorized := Do(t, "GET", meta["authorization_endpoint"].(string)+"?"+query.Encode(), nil, nil)
	location, err := url.Parse(authorized.Header.Get("Location"))
	if err != nil || location.Query().Get("code") == "" {
		t.Fatalf("authorize: %d %s %s", authorized.Status, authorized.Header.Get("Location"), authorized.Body)
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {location.Query().Get("code")}, "redirect_uri": {redirectURI},
		"client_id": {clientID}, "code_verifier": {verifier}, "resource": {prm["resource"].(string)},
	}
	token := Do(t, "POST", meta["token_endpoint"].(string),
		map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, []byte(form.Encode()))
	if token.Status != http.StatusOK {
		t.Fatalf("token: %d %s", token.Status, token.Body)
	}
	return decode(t, token.Body)["access_token"].(string)
}

func getJSON(t T, address string) map[string]any {
	t.Helper()
	r := Do(t, "GET", address, nil, nil)
	if r.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", address, r.Status, r.Body)
	}
	return decode(t, r.Body)
}

func decode(t T, body string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("not a JSON object: %v: %s", err, body)
	}
	return m
}

func between(t T, s, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s, before)
	value, _, ok2 := strings.Cut(rest, after)
	if !ok || !ok2 {
		t.Fatalf("%q has no %s…%s", s, before, after)
	}
	return value
}
