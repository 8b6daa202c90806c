package websession

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const origin = "http://127.0.0.1:8787"

// members knows every account but "stranger", and no account while down.
type members struct{}

func (members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	switch account {
	case "stranger":
		return directory.Membership{}, directory.ErrNotMember
	case "unlucky":
		return directory.Membership{}, directory.ErrUnavailable
	}
	return directory.Membership{
		AccountID: account, OrganizationID: organization, OrganizationName: "ACME", Email: account + "@example.test",
	}, nil
}

// browser is a browser with cookies, at a worker whose issuer signs in the account that claims name.
type browser struct {
	t       *testing.T
	s       *Sessions
	iss     *authtest.Issuer
	mux     *http.ServeMux
	cookies map[string]*http.Cookie

	mu sync.Mutex // guards what the token endpoint knows
	// claims replace those of the ID token; access are of the access token, nil for an opaque one.
	claims, access map[string]any
	// challenge and nonce are of the last authorization request, refuse is what the token endpoint answers instead.
	challenge, nonce string
	refuse           int
	form             url.Values
}

func newBrowser(t *testing.T, o Options) *browser {
	t.Helper()
	b := &browser{t: t, iss: authtest.NewIssuer(t), mux: http.NewServeMux(), cookies: map[string]*http.Cookie{}}
	b.iss.SetMetadata(map[string]any{
		"client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
	})
	b.iss.ServeTokens(b.token)
	if o.PublicURL == "" {
		o.PublicURL = origin
	}
	gate, err := auth.NewGate(auth.Options{PublicURL: o.PublicURL, Issuer: b.iss.URL, Members: members{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	o.Gate = gate
	if b.s, err = New(o); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.s.Routes() {
		b.mux.Handle(r.Path, r.Handler)
	}
	b.mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		v, ok := b.s.Visitor(r)
		if !ok {
			b.s.SignIn(w, r)
			return
		}
		if r.Method == http.MethodPost {
			if err := b.s.CheckForm(w, r, v); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
		}
		json.NewEncoder(w).Encode(map[string]any{
			"outcome": v.Outcome.String(), "identity": v.Identity, "csrf": b.s.Head("", v).CSRF,
		})
	})
	return b
}

// token is the issuer's token endpoint: it checks what a public client must send.
func (b *browser) token(form url.Values) (int, any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.form = form
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	if b.refuse != 0 || form.Get("code") != "the-code" ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != b.challenge {
		return max(b.refuse, 400), map[string]string{"error": "invalid_grant"}
	}
	claims := map[string]any{"nonce": b.nonce}
	for k, v := range b.claims {
		claims[k] = v
	}
	access := "opaque"
	if b.access != nil {
		access = b.iss.Token(b.t, origin+"/mcp", b.access)
	}
	return 200, map[string]any{
		"access_token": access, "token_type": "Bearer", "id_token": b.iss.Token(b.t, b.s.clientID(), claims),
	}
}

// do sends a request with the browser's cookies, and keeps those of the answer.
func (b *browser) do(method, path string, form url.Values, header map[string]string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, b.s.origin+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	for _, c := range b.cookies {
		if strings.HasPrefix(r.URL.Path, c.Path) {
			r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
	w := httptest.NewRecorder()
	b.mux.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != b.s.secure || c.Domain != "" {
			b.t.Errorf("cookie %+v", c)
		}
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

// begin opens the page and returns where the issuer is asked to send the browser back to, with a code.
func (b *browser) begin() (answer url.Values) {
	b.t.Helper()
	delete(b.cookies, b.s.cookie)
	w := b.do("GET", "/page?x=1", nil, nil)
	to, err := url.Parse(w.Header().Get("Location"))
	q := to.Query()
	if err != nil || w.Code != http.StatusFound || !strings.HasPrefix(to.String(), b.iss.URL+"/authorize?") ||
		q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" ||
		q.Get("redirect_uri") != b.s.origin+"/auth/callback" || q.Get("client_id") != b.s.clientID() ||
		!strings.Contains(" "+q.Get("scope")+" ", " openid ") {
		b.t.Fatalf("no sign-in: %d %s %s", w.Code, to, w.Body)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.challenge, b.nonce = q.Get("code_challenge"), q.Get("nonce")
	return url.Values{"state": {q.Get("state")}, "code": {"the-code"}, "iss": {b.iss.URL}}
}

func (b *browser) callback(answer url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do("GET", "/auth/callback?"+answer.Encode(), nil, nil)
}

// signIn signs in and returns what the page says then.
func (b *browser) signIn() map[string]any {
	b.t.Helper()
	if w := b.callback(b.begin()); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/page?x=1" {
		b.t.Fatalf("callback: %d %s %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	return b.page()
}

func (b *browser) page() map[string]any {
	b.t.Helper()
	var out map[string]any
	w := b.do("GET", "/page", nil, nil)
	if err := json.Unmarshal(w.Body.Bytes(), &out); w.Code == http.StatusOK && err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	got := b.signIn()
	id := got["identity"].(map[string]any)
	if got["outcome"] != "verified" || id["accountId"] != "user_1" || id["organizationId"] != "org_1" ||
		id["email"] != "user_1@example.test" || got["csrf"] == "" {
		t.Errorf("the page was told %v", got)
	}
	if len(b.cookies) != 1 {
		t.Errorf("the browser keeps %v", b.cookies)
	}
	// What the issuer learns of the client, it learns from the document that names it.
	w := b.do("GET", "/auth/client.json", nil, nil)
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc["client_id"] != b.s.clientID() ||
		doc["redirect_uris"].([]any)[0] != origin+"/auth/callback" || doc["token_endpoint_auth_method"] != "none" {
		t.Errorf("client document: %s", w.Body)
	}
	// Two sign-ins at once both succeed.
	first, second := b.begin(), b.begin()
	if w := b.callback(second); w.Code != http.StatusSeeOther {
		t.Errorf("the second sign-in: %d", w.Code)
	}
	if w := b.callback(first); w.Code != http.StatusBadRequest { // its challenge is no longer what the test's issuer knows
		t.Errorf("the first sign-in: %d", w.Code)
	}
	if w := b.callback(second); w.Code != http.StatusBadRequest {
		t.Errorf("an answer was taken twice: %d", w.Code)
	}
}

func TestRegisteredClient(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{PublicURL: "https://worker.example", ClientID: "web", ClientSecret: "hush"})
	b.iss.SetMetadata(map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}})
	answer := b.begin()
	answer.Del("iss") // this issuer does not say that it names itself
	if w := b.callback(answer); w.Code != http.StatusSeeOther || b.page()["outcome"] != "verified" {
		t.Errorf("signed in: %d %s", w.Code, w.Body)
	}
	if b.form.Get("client_id") != "web" || b.form.Get("client_secret") != "hush" {
		t.Errorf("the token endpoint got %v", b.form)
	}
	for name := range b.cookies {
		if !strings.HasPrefix(name, "__Host-") {
			t.Errorf("cookie %s", name)
		}
	}
	if w := b.do("GET", "/auth/client.json", nil, nil); w.Code != http.StatusNotFound {
		t.Errorf("client document: %d", w.Code)
	}
}

func TestNoClient(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	b.iss.SetMetadata(nil)
	if err := b.s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "--web-client-id") {
		t.Errorf("ready: %v", err)
	}
	if w := b.do("GET", "/page", nil, nil); w.Code != http.StatusNotImplemented ||
		!strings.Contains(w.Body.String(), "--web-client-id") {
		t.Errorf("sign-in: %d %s", w.Code, w.Body)
	}
}

// refusals are answers that sign nobody in.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(b *browser, answer url.Values)
		status int
		want   string
	}{
		{"another state", func(_ *browser, a url.Values) { a.Set("state", a.Get("state")+"x") }, 400, "this browser"},
		{"no state", func(_ *browser, a url.Values) { a.Del("state") }, 400, "this browser"},
		{"another browser", func(b *browser, _ url.Values) { clear(b.cookies) }, 400, "this browser"},
		{"another issuer", func(_ *browser, a url.Values) { a.Set("iss", "https://evil.example") }, 400, "did not accept"},
		{"no issuer", func(_ *browser, a url.Values) { a.Del("iss") }, 400, "did not accept"},
		{"cancelled", func(_ *browser, a url.Values) { a.Del("code"); a.Set("error", "access_denied") }, 400, "cancelled"},
		{"error", func(_ *browser, a url.Values) { a.Set("error", "<script>") }, 400, "did not accept"},
		{"no code", func(_ *browser, a url.Values) { a.Del("code") }, 400, "did not accept"},
		{"another code", func(_ *browser, a url.Values) { a.Set("code", "guess") }, 400, "did not accept"},
		{"issuer fails", func(b *browser, _ url.Values) { b.refuse = 502 }, 503, "cannot be reached"},
		{"another nonce", func(b *browser, _ url.Values) { b.claims = map[string]any{"nonce": "x"} }, 400, "not valid"},
		{"no nonce", func(b *browser, _ url.Values) { b.claims = map[string]any{"nonce": nil} }, 400, "not valid"},
		{"another audience", func(b *browser, _ url.Values) { b.claims = map[string]any{"aud": "x"} }, 400, "not valid"},
		{"several audiences", func(b *browser, _ url.Values) {
			b.claims = map[string]any{"aud": []string{b.s.clientID(), "x"}, "azp": "x"}
		}, 400, "not valid"},
		{"expired", func(b *browser, _ url.Values) {
			b.claims = map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}
		}, 400, "not valid"},
		{"no organization", func(b *browser, _ url.Values) { b.claims = map[string]any{"org_id": nil} }, 403, "has none"},
		{"no member", func(b *browser, _ url.Values) { b.claims = map[string]any{"sub": "stranger"} }, 403, "not a member"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, Options{})
			answer := b.begin()
			tc.change(b, answer)
			w := b.callback(answer)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) || strings.Contains(w.Body.String(), "<script") {
				t.Errorf("got %d %s, want %d with %q", w.Code, w.Body, tc.status, tc.want)
			}
			if _, signedIn := b.cookies[b.s.cookie]; signedIn != (tc.status == 303) {
				t.Errorf("signed in: %v", signedIn)
			}
		})
	}
}

// An issuer that names the organization in the access token alone is believed for the same account.
func TestOrganizationOfTheAccessToken(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	b.claims, b.access = map[string]any{"org_id": nil}, map[string]any{"org_id": "org_2"}
	if got := b.signIn(); got["identity"].(map[string]any)["organizationId"] != "org_2" {
		t.Errorf("the page was told %v", got)
	}
	b.access["sub"] = "user_2"
	if w := b.callback(b.begin()); w.Code != http.StatusForbidden {
		t.Errorf("another account's access token: %d", w.Code)
	}
}

// A cookie that was not sealed here, for this purpose, is none.
func TestForgedCookies(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	b.signIn()
	good := *b.cookies[b.s.cookie]
	old, err := b.s.sessions.seal(session{Account: "user_1", Organization: "org_1", Ends: time.Now().Unix()})
	if err != nil {
		t.Fatal(err)
	}
	inFlow, err := b.s.flows.seal(session{Account: "user_1", Organization: "org_1", Ends: time.Now().Unix() + 60})
	if err != nil {
		t.Fatal(err)
	}
	other, err := newSealer(b.s.o.Key, "session", "https://other.example")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.seal(session{Account: "user_1", Organization: "org_1", Ends: time.Now().Unix() + 60})
	if err != nil {
		t.Fatal(err)
	}
	middle := len(good.Value) / 2
	for name, value := range map[string]string{
		"expired": old, "of a sign-in": inFlow, "of another issuer": foreign, "empty": "", "short": good.Value[:8],
		"changed": good.Value[:middle] + "AAAA" + good.Value[middle+4:], "huge": strings.Repeat("A", 1<<16),
		"plain": `{"a":"user_1","o":"org_1","x":9999999999}`,
	} {
		b.cookies[b.s.cookie] = &http.Cookie{Name: b.s.cookie, Value: value, Path: "/"}
		if got := b.page(); got != nil {
			t.Errorf("%s: the page was told %v", name, got)
		}
	}
	b.cookies[b.s.cookie] = &good
	if got := b.page(); got["outcome"] != "verified" {
		t.Errorf("the real one: %v", got)
	}
	// Another worker with another key does not know it.
	stranger := newBrowser(t, Options{})
	stranger.cookies[b.s.cookie] = &good
	if got := stranger.page(); got != nil {
		t.Errorf("under another key: %v", got)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	csrf := b.signIn()["csrf"].(string)
	for _, tc := range []struct {
		name   string
		csrf   string
		header map[string]string
		status int
	}{
		{"own page", csrf, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": origin}, 200},
		{"older browser", csrf, map[string]string{"Origin": origin}, 200},
		{"another port of this machine", csrf, map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, 403},
		{"another site", csrf, map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403},
		{"another site in an older browser", csrf, map[string]string{"Origin": "https://evil.example"}, 403},
		{"sandboxed page", csrf, map[string]string{"Origin": "null"}, 403},
		{"no origin at all", csrf, nil, 403},
		{"no token", "", map[string]string{"Sec-Fetch-Site": "same-origin"}, 403},
		{"another token", csrf + "x", map[string]string{"Sec-Fetch-Site": "same-origin"}, 403},
		{"too large", csrf + strings.Repeat("x", 8<<10), map[string]string{"Sec-Fetch-Site": "same-origin"}, 403},
	} {
		if w := b.do("POST", "/page", url.Values{"csrf": {tc.csrf}}, tc.header); w.Code != tc.status {
			t.Errorf("%s: got %d %s, want %d", tc.name, w.Code, w.Body, tc.status)
		}
	}
	own := map[string]string{"Sec-Fetch-Site": "same-origin"}
	if w := b.do("POST", "/auth/signout", url.Values{"csrf": {"x"}}, own); w.Code != 403 || b.page() == nil {
		t.Errorf("a forged sign-out: %d", w.Code)
	}
	other := newBrowser(t, Options{}) // as one that keeps its cookies from a request of another site
	foreign := map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:3000"}
	if w := other.do("POST", "/auth/signout", nil, foreign); w.Code != 403 || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("a sign-out by another site: %d, %q", w.Code, w.Header().Get("Set-Cookie"))
	}
	if w := b.do("POST", "/auth/signout", url.Values{"csrf": {csrf}}, own); w.Code != 200 || b.page() != nil {
		t.Errorf("sign-out: %d, and the page was told %v", w.Code, b.page())
	}
	if w := b.do("GET", "/auth/signout", nil, nil); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("sign-out by a link: %d", w.Code)
	}
}

// A sign-in leads back to this worker, wherever its link says.
func TestReturn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ path, want string }{
		{"/approve/exec_1?all", "/approve/exec_1?all"}, {"/", "/"}, {"", "/"}, {"//evil.example", "/"},
		{"https://evil.example", "/"}, {`/\evil.example`, "/"}, {"\\/evil.example", "/"}, {"javascript:alert(1)", "/"},
		{"/a\nb", "/"}, {"/a b", "/"}, {"approve", "/"}, {"/" + strings.Repeat("a", 4096), "/"}, {"http:/x", "/"},
		{"/%2f/evil.example", "/%2f/evil.example"}, {"///evil.example", "/"}, {"/\t/evil.example", "/"},
	} {
		if got := ownPath(tc.path); got != tc.want {
			t.Errorf("%q leads to %q, want %q", tc.path, got, tc.want)
		}
	}
	b := newBrowser(t, Options{})
	w := b.do("GET", b.s.SignInURL("//evil.example", true), nil, nil)
	to, err := url.Parse(w.Header().Get("Location"))
	if err != nil || to.Query().Get("prompt") != "select_account" {
		t.Fatalf("%d %v", w.Code, to)
	}
	for _, c := range b.cookies {
		var f flow
		if err := b.s.flows.open(c.Value, &f); err != nil || f.Return != "/" {
			t.Errorf("it returns to %q, %v", f.Return, err)
		}
	}
}

// By another name of this machine, a browser would lose its cookies on the way.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	for host, want := range map[string]string{
		"127.0.0.1:8787": "", "localhost:8787": origin + "/page?x", "proxy.internal": "",
	} {
		r, w := httptest.NewRequest("GET", "http://"+host+"/page?x", nil), httptest.NewRecorder()
		if moved := b.s.Elsewhere(w, r); moved != (want != "") || w.Header().Get("Location") != want {
			t.Errorf("%s: sent to %q", host, w.Header().Get("Location"))
		}
	}
}

func TestIssuerDown(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, Options{})
	b.iss.SetDown(true)
	if w := b.do("GET", "/page", nil, nil); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	b.iss.SetDown(false)
	b.claims = map[string]any{"sub": "unlucky"}
	if got := b.signIn(); got["outcome"] != "directory_unavailable" {
		t.Errorf("the page was told %v", got)
	}
}

func TestOpenKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker", "session.key")
	key, err := OpenKey(path)
	if err != nil || len(key) != keyBytes {
		t.Fatal(key, err)
	}
	again, err := OpenKey(path)
	if err != nil || string(again) != string(key) {
		t.Errorf("the key changed: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
	for _, bad := range []string{"", "zz", strings.Repeat("ab", 31), strings.Repeat("ab", 33)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKey(path); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
	if _, err := New(Options{Key: []byte("short"), Gate: nil}); err == nil {
		t.Error("a short key was taken")
	}
}
