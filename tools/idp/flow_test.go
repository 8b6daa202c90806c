package idp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const (
	testAudience = "http://127.0.0.1:8787/mcp"
	testRedirect = "http://127.0.0.1:33418/callback"
	testVerifier = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
)

// running is a server that runs, and a browser without a redirect of its own.
type running struct {
	url    string
	dir    string
	client *http.Client
	stop   func()
}

// start runs a server with its state in dir until the test ends.
func start(t *testing.T, dir string) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, dir, l)
}

func startOn(t *testing.T, dir string, l net.Listener) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	r := &running{url: "http://" + l.Addr().String(), dir: dir}
	go func() {
		done <- Serve(ctx, Options{
			Listener: l, PublicURL: r.url, Audience: testAudience, Dir: filepath.Join(dir, "idp"),
			Directory: "sqlite:" + filepath.Join(dir, "directory.db"),
		})
	}()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	r.client = &http.Client{
		Transport: transport, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

// answer is a response that was read.
type answer struct {
	code   int
	header http.Header
	body   string
}

// json reads the answer's body.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("%d %s: %v", a.code, a.body, err)
	}
	return m
}

// location is where the answer redirects to, and its query.
func (a answer) location(t *testing.T) (string, url.Values) {
	t.Helper()
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" {
		t.Fatalf("no redirect: %d %s", a.code, a.body)
	}
	q := u.Query()
	u.RawQuery = ""
	return u.String(), q
}

func (r *running) do(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (r *running) get(t *testing.T, path string, q url.Values) answer {
	t.Helper()
	return r.do(t, http.MethodGet, path+"?"+q.Encode(), "")
}

func (r *running) post(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	return r.do(t, http.MethodPost, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// register registers a client with the metadata given and returns its id.
func (r *running) register(t *testing.T, metadata string) string {
	t.Helper()
	a := r.do(t, http.MethodPost, "/register", metadata, "Content-Type", "application/json")
	if a.code != http.StatusCreated {
		t.Fatalf("register: %d %s", a.code, a.body)
	}
	return a.json(t)["client_id"].(string)
}

const nativeClient = `{"client_name":"Test <b>client</b>","redirect_uris":["http://127.0.0.1/callback"]}`

// authorization is a good request of the client; pairs change it, and an empty value removes a parameter.
func authorization(clientID string, pairs ...string) url.Values {
	sum := sha256.Sum256([]byte(testVerifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {testRedirect}, "state": {"a state & more"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"scope": {"openid profile email offline_access"}, "resource": {testAudience},
	}
	return with(q, pairs...)
}

func with(q url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// code gets a code headlessly.
func (r *running) code(t *testing.T, clientID, email string, pairs ...string) string {
	t.Helper()
	a := r.get(t, "/authorize", authorization(clientID, append(pairs, "login_hint", email)...))
	to, q := a.location(t)
	if a.code != http.StatusFound || to != testRedirect || q.Get("state") != "a state & more" || q.Get("iss") != r.url {
		t.Fatalf("redirected with %d to %s with %v", a.code, to, q)
	}
	if q.Get("code") == "" {
		t.Fatalf("no code: %v", q)
	}
	return q.Get("code")
}

// redemption is a good token request for a code.
func redemption(clientID, code string, pairs ...string) url.Values {
	return with(url.Values{
		"grant_type": {"authorization_code"}, "client_id": {clientID}, "code": {code}, "redirect_uri": {testRedirect},
		"code_verifier": {testVerifier},
	}, pairs...)
}

// tokens exchanges a code.
func (r *running) tokens(t *testing.T, clientID, code string) map[string]any {
	t.Helper()
	a := r.post(t, "/token", redemption(clientID, code))
	if a.code != http.StatusOK || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("token: %d %s", a.code, a.body)
	}
	return a.json(t)
}

func refreshing(clientID string, token any, pairs ...string) url.Values {
	return with(url.Values{
		"grant_type": {"refresh_token"}, "client_id": {clientID}, "refresh_token": {token.(string)},
	}, pairs...)
}

// claims verifies a token against the server's published key.
func (r *running) claims(t *testing.T, token any) jwt.MapClaims {
	t.Helper()
	var set jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(r.do(t, http.MethodGet, "/jwks", "").body), &set); err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token.(string), claims, func(tok *jwt.Token) (any, error) {
		keys := set.Key(tok.Header["kid"].(string))
		if len(keys) != 1 || !keys[0].IsPublic() {
			t.Fatalf("published keys %+v", set)
		}
		return keys[0].Key, nil
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(r.url), jwt.WithExpirationRequired())
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestHeadlessFlow(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id := r.register(t, nativeClient)
	got := r.tokens(t, id, r.code(t, id, "Ada@Example.com", "nonce", "n1"))
	if got["token_type"] != "Bearer" || got["expires_in"] != 3600.0 ||
		got["scope"] != "openid profile email offline_access" {
		t.Errorf("reply %v", got)
	}
	access := r.claims(t, got["access_token"])
	for name, want := range map[string]any{
		"aud": testAudience, "iss": r.url, "email": "ada@example.com", "client_id": id,
		"scope": "openid profile email offline_access",
	} {
		if access[name] != want {
			t.Errorf("claim %s is %v, want %v", name, access[name], want)
		}
	}
	for _, name := range []string{"sub", "org_id", "jti"} {
		if s, _ := access[name].(string); s == "" {
			t.Errorf("claim %s is %v", name, access[name])
		}
	}
	if life := access["exp"].(float64) - access["iat"].(float64); life != 3600 {
		t.Errorf("token lives %v s", life)
	}
	idToken := r.claims(t, got["id_token"])
	if idToken["aud"] != id || idToken["nonce"] != "n1" || idToken["sub"] != access["sub"] {
		t.Errorf("id token %v", idToken)
	}
	info := r.do(t, http.MethodGet, "/userinfo", "", "Authorization", "Bearer "+got["access_token"].(string))
	if info.json(t)["sub"] != access["sub"] || info.json(t)["org_id"] != access["org_id"] {
		t.Errorf("userinfo %s", info.body)
	}
	for _, bad := range []string{"", "Bearer x", "Bearer " + got["id_token"].(string)} {
		if a := r.do(t, http.MethodGet, "/userinfo", "", "Authorization", bad); a.code != 401 ||
			!strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("userinfo with %.10q: %d", bad, a.code)
		}
	}

	// The same address is the same account; another is another, in another organization.
	// The SDK prompts for consent with every offline_access, a person there or not.
	again := r.claims(t, r.tokens(t, id, r.code(t, id, "ada@example.com", "prompt", "consent"))["access_token"])
	other := r.claims(t, r.tokens(t, id, r.code(t, id, "bob@example.com"))["access_token"])
	if again["sub"] != access["sub"] || again["org_id"] != access["org_id"] {
		t.Error("the same address became another account")
	}
	if other["sub"] == access["sub"] || other["org_id"] == access["org_id"] {
		t.Error("two addresses share an account or an organization")
	}

	// Without offline_access there is no refresh token; without openid no id token; a slash at the end of the
	// resource, or none named, is the same audience.
	plain := r.tokens(t, id, r.code(t, id, "ada@example.com", "scope", "email more", "resource", testAudience+"/"))
	if plain["refresh_token"] != nil || plain["id_token"] != nil || plain["scope"] != "email" {
		t.Errorf("reply %v", plain)
	}
	plain = r.tokens(t, id, r.code(t, id, "ada@example.com", "scope", "", "resource", ""))
	if plain["scope"] != "openid profile email" || r.claims(t, plain["access_token"])["aud"] != testAudience {
		t.Errorf("reply %v", plain)
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id, stranger := r.register(t, nativeClient), r.register(t, nativeClient)
	first := r.tokens(t, id, r.code(t, id, "ada@example.com"))["refresh_token"]
	if a := r.post(t, "/token", refreshing(stranger, first)); a.code != 400 || a.json(t)["error"] != "invalid_grant" {
		t.Errorf("another client's token: %d %s", a.code, a.body)
	}
	second := r.post(t, "/token", refreshing(id, first)).json(t)
	if second["refresh_token"] == first || second["access_token"] == nil {
		t.Fatalf("reply %v", second)
	}
	// The reply got lost: the old token still works for a moment.
	third := r.post(t, "/token", refreshing(id, first, "scope", "email")).json(t)
	if third["refresh_token"] == nil || third["scope"] != "email" {
		t.Fatalf("reply %v", third)
	}
	if a := r.post(t, "/token", refreshing(id, third["refresh_token"], "scope",
		"email admin")); a.json(t)["error"] != "invalid_scope" {
		t.Errorf("wider scope: %s", a.body)
	}
	fourth := r.post(t, "/token", refreshing(id, third["refresh_token"], "resource", testAudience)).json(t)
	if fourth["scope"] != "openid profile email offline_access" {
		t.Errorf("reply %v", fourth)
	}
	if a := r.post(t, "/token", refreshing(id, "nonsense")); a.code != 400 || a.json(t)["error"] != "invalid_grant" {
		t.Errorf("unknown token: %s", a.body)
	}
}

// A code's second use is refused and ends what the first began.
func TestCodeUsedTwice(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id := r.register(t, nativeClient)
	code := r.code(t, id, "ada@example.com")
	refresh := r.tokens(t, id, code)["refresh_token"]
	if a := r.post(t, "/token", redemption(id, code)); a.code != 400 || a.json(t)["error"] != "invalid_grant" {
		t.Errorf("second use: %d %s", a.code, a.body)
	}
	if a := r.post(t, "/token", refreshing(id, refresh)); a.code != 400 || a.json(t)["error"] != "invalid_grant" {
		t.Errorf("refresh after it: %d %s", a.code, a.body)
	}
}

func TestSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir)
	id := r.register(t, nativeClient)
	got := r.tokens(t, id, r.code(t, id, "ada@example.com"))
	before := r.claims(t, got["access_token"])
	r.stop()

	l, err := net.Listen("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Skipf("the port was taken meanwhile: %v", err)
	}
	r = startOn(t, dir, l)
	r.claims(t, got["access_token"]) // still verifies against the published key
	next := r.post(t, "/token", refreshing(id, got["refresh_token"])).json(t)
	if after := r.claims(t, next["access_token"]); after["sub"] != before["sub"] || after["org_id"] != before["org_id"] {
		t.Errorf("account %v of %v, was %v of %v", after["sub"], after["org_id"], before["sub"], before["org_id"])
	}
	again := r.claims(t, r.tokens(t, id, r.code(t, id, "ada@example.com"))["access_token"])
	if again["sub"] != before["sub"] {
		t.Error("the address became another account")
	}
}
