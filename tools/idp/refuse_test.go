package idp

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Errors go back to the client once its redirect URI is known to be its own, and to a page before that.
func TestAuthorizeRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id := r.register(t, nativeClient)
	two := r.register(t, `{"redirect_uris":["https://a.example/cb","cursor://x/cb"],"grant_types":["authorization_code"]}`)
	for _, tt := range []struct {
		name, client string
		change       []string
		page         string // text on the page, or
		code         string // the error in the redirect
	}{
		{"no client", "", nil, "names no client_id", ""},
		{"unknown client", "client_x", nil, "No client with this client_id", ""},
		{"foreign redirect", id, []string{"redirect_uri", "https://evil.example/callback"},
			"not one that this client has registered", ""},
		{"foreign path", id, []string{"redirect_uri", "http://127.0.0.1:1/other"}, "not one that this client", ""},
		{"foreign host", id, []string{"redirect_uri", "http://127.0.0.1.evil.example/callback"}, "not one that", ""},
		{"other loopback name", id, []string{"redirect_uri", "http://localhost:1/callback"}, "not one that", ""},
		{"other port, https", two, []string{"redirect_uri", "https://a.example:1/cb"}, "not one that", ""},
		{"redirect not told", two, []string{"redirect_uri", ""}, "not one that", ""},
		{"huge", id, []string{"state", strings.Repeat("x", maxRequestBytes)}, "over 16 KiB", ""},
		{"response type", id, []string{"response_type", "token"}, "", "unsupported_response_type"},
		{"response mode", id, []string{"response_mode", "fragment"}, "", "invalid_request"},
		{"no challenge", id, []string{"code_challenge", ""}, "", "invalid_request"},
		{"plain challenge", id, []string{"code_challenge_method", "plain"}, "", "invalid_request"},
		{"short challenge", id, []string{"code_challenge", "abc"}, "", "invalid_request"},
		{"resource", id, []string{"resource", "https://other.example/mcp"}, "", "invalid_target"},
		{"scope", id, []string{"scope", "admin root"}, "", "invalid_scope"},
		{"long parameter", id, []string{"nonce", strings.Repeat("x", maxParamBytes+1)}, "", "invalid_request"},
		{"request object", id, []string{"request", "x.y.z"}, "", "request_not_supported"},
		{"login hint", id, []string{"login_hint", "not an address"}, "", "invalid_request"},
		{"silent", id, []string{"prompt", "none"}, "", "login_required"},
		{"mixed prompt", id, []string{"prompt", "none login"}, "", "invalid_request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.get(t, "/authorize", authorization(tt.client, tt.change...))
			if tt.page != "" {
				if a.code != http.StatusBadRequest || !strings.Contains(a.body, tt.page) ||
					!strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
					t.Errorf("got %d %s", a.code, a.body)
				}
				return
			}
			to, q := a.location(t)
			if to != testRedirect || q.Get("error") != tt.code || q.Get("state") != "a state & more" ||
				q.Get("iss") != r.url || q.Has("code") || q.Get("error_description") == "" {
				t.Errorf("redirected to %s with %v", to, q)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		q := authorization(id)
		q.Add("scope", "email")
		if _, got := r.get(t, "/authorize", q).location(t); got.Get("error") != "invalid_request" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("custom scheme, no refresh", func(t *testing.T) {
		a := r.get(t, "/authorize", authorization(two, "redirect_uri", "cursor://x/cb", "login_hint", "a@b.example"))
		to, q := a.location(t)
		if to != "cursor://x/cb" || q.Get("code") == "" {
			t.Fatalf("redirected to %s with %v", to, q)
		}
		got := r.post(t, "/token", redemption(two, q.Get("code"), "redirect_uri", "cursor://x/cb")).json(t)
		if got["refresh_token"] != nil || got["scope"] != "openid profile email" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("only redirect left out", func(t *testing.T) {
		q := authorization(id, "redirect_uri", "", "login_hint", "a@b.example")
		_, got := r.get(t, "/authorize", q).location(t)
		if a := r.post(t, "/token", redemption(id, got.Get("code"), "redirect_uri", "")); a.code != http.StatusOK {
			t.Errorf("got %d %s", a.code, a.body)
		}
	})
}

func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id, stranger := r.register(t, nativeClient), r.register(t, nativeClient)
	code := r.code(t, id, "ada@example.com")
	for _, tt := range []struct {
		name   string
		client string
		change []string
		status int
		code   string
	}{
		{"no grant type", id, []string{"grant_type", ""}, 400, "invalid_request"},
		{"other grant type", id, []string{"grant_type", "password"}, 400, "unsupported_grant_type"},
		{"no client", "", []string{"client_id", ""}, 400, "invalid_request"},
		{"unknown client", "client_x", nil, 401, "invalid_client"},
		{"another client", stranger, nil, 400, "invalid_grant"},
		{"no code", id, []string{"code", ""}, 400, "invalid_request"},
		{"unknown code", id, []string{"code", "x"}, 400, "invalid_grant"},
		{"no verifier", id, []string{"code_verifier", ""}, 400, "invalid_request"},
		{"short verifier", id, []string{"code_verifier", "abc"}, 400, "invalid_request"},
		{"bad verifier", id, []string{"code_verifier", strings.ToUpper(testVerifier)}, 400, "invalid_grant"},
		{"other redirect", id, []string{"redirect_uri", "http://127.0.0.1:1/callback"}, 400, "invalid_grant"},
		{"redirect left out", id, []string{"redirect_uri", ""}, 400, "invalid_grant"},
		{"resource", id, []string{"resource", "https://other.example"}, 400, "invalid_target"},
		{"no refresh token", id, []string{"grant_type", "refresh_token"}, 400, "invalid_request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.post(t, "/token", redemption(tt.client, code, tt.change...))
			if a.code != tt.status || a.json(t)["error"] != tt.code || a.json(t)["error_description"] == "" {
				t.Errorf("got %d %s, want %d %s", a.code, a.body, tt.status, tt.code)
			}
		})
	}
	if a := r.do(t, http.MethodPost, "/token", "{}", "Content-Type", "application/json"); a.code != 400 {
		t.Errorf("JSON: %d %s", a.code, a.body)
	}
	twice := redemption(id, code)
	twice.Add("code", code)
	if a := r.post(t, "/token", twice); a.code != 400 || a.json(t)["error"] != "invalid_request" {
		t.Errorf("twice: %d %s", a.code, a.body)
	}
	if a := r.post(t, "/token", url.Values{"code": {strings.Repeat("x", maxFormBytes)}}); a.code != 400 {
		t.Errorf("huge: %d %s", a.code, a.body)
	}
	r.tokens(t, id, code) // none of these used it up
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	for _, tt := range []struct{ name, metadata, code, text string }{
		{"no object", `[]`, "invalid_client_metadata", "not a JSON object"},
		{"null", `null`, "invalid_redirect_uri", "0 entries"},
		{"none", `{"redirect_uris":[]}`, "invalid_redirect_uri", "redirect_uris has 0 entries, not 1 to 20"},
		{"relative", `{"redirect_uris":["/cb"]}`, "invalid_redirect_uri", "redirect_uris[0] is not an absolute URL"},
		{"remote http", `{"redirect_uris":["http://a.example/cb"]}`, "invalid_redirect_uri", "http to another machine"},
		{"fragment", `{"redirect_uris":["https://a.example/cb#x"]}`, "invalid_redirect_uri", "has a fragment"},
		{"user", `{"redirect_uris":["https://u@a.example/cb"]}`, "invalid_redirect_uri", "names a user"},
		{"script", `{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri", "no app's own"},
		{"newline", `{"redirect_uris":["https://a.example/\n"]}`, "invalid_redirect_uri", "a control character"},
		{"bare scheme", `{"redirect_uris":["cursor://"]}`, "invalid_redirect_uri", "nothing after its scheme"},
		{"grant", `{"redirect_uris":["https://a.example"],"grant_types":["implicit"]}`, "invalid_client_metadata",
			"grant_types"},
		{"refresh alone", `{"redirect_uris":["https://a.example"],"grant_types":["refresh_token"]}`,
			"invalid_client_metadata", "must hold authorization_code"},
		{"response", `{"redirect_uris":["https://a.example"],"response_types":["token"]}`, "invalid_client_metadata",
			"response_types"},
		{"method", `{"redirect_uris":["https://a.example"],"token_endpoint_auth_method":"private_key_jwt"}`,
			"invalid_client_metadata", "must be none"},
		{"name", `{"redirect_uris":["https://a.example"],"client_name":"a\u202eb"}`, "invalid_client_metadata",
			"client_name"},
		{"logo", `{"redirect_uris":["https://a.example"],"logo_uri":"data:x"}`, "invalid_client_metadata", "logo_uri"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.do(t, http.MethodPost, "/register", tt.metadata, "Content-Type", "application/json")
			got := a.json(t)
			if a.code != 400 || got["error"] != tt.code || !strings.Contains(got["error_description"].(string), tt.text) {
				t.Errorf("got %d %s", a.code, a.body)
			}
		})
	}
	if a := r.do(t, http.MethodPost, "/register", nativeClient, "Content-Type", "text/plain"); a.code != 415 {
		t.Errorf("text: %d", a.code)
	}
	huge := `{"client_name":"` + strings.Repeat("x", maxFormBytes) + `"}`
	if a := r.do(t, http.MethodPost, "/register", huge, "Content-Type", "application/json"); a.code != 413 {
		t.Errorf("huge: %d %s", a.code, a.body)
	}
}

// What a real client sends is taken, and answered with what holds.
func TestRegister(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	a := r.do(t, http.MethodPost, "/register",
		`{"client_id":"mine","client_name":"Inspector","client_uri":"https://a.example",
		"redirect_uris":["http://localhost:6274/oauth/callback","com.example.app:/cb","http://[::1]:1/cb"],
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"contacts":["x"],
		"token_endpoint_auth_method":"client_secret_post","scope":"openid"}`, "Content-Type", "application/json")
	got := a.json(t)
	if a.code != 201 || got["token_endpoint_auth_method"] != "none" || got["client_secret"] != nil ||
		!strings.HasPrefix(got["client_id"].(string), "client_") || got["client_id_issued_at"] == nil ||
		a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("got %d %s", a.code, a.body)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		a := r.do(t, http.MethodGet, path, "")
		got := a.json(t)
		if got["issuer"] != r.url || got["authorization_endpoint"] != r.url+"/authorize" ||
			got["authorization_response_iss_parameter_supported"] != true || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	for _, path := range []string{pathMetadata, pathOpenID, pathJWKS, pathToken, pathRegister} {
		a := r.do(t, http.MethodOptions, path, "", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST")
		if a.code != 204 || a.header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "mcp-protocol-version") {
			t.Errorf("OPTIONS %s: %d %v", path, a.code, a.header)
		}
	}
	if a := r.do(t, http.MethodGet, "/authorize", ""); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the authorization page may be read by other origins")
	}
	if a := r.do(t, http.MethodGet, "/healthz", "", "Host", "rebind.example"); a.code != 403 {
		t.Errorf("foreign host: %d", a.code)
	}
	if a := r.do(t, http.MethodGet, "/healthz", ""); a.code != 200 {
		t.Errorf("health: %d", a.code)
	}
	if jwks := r.do(t, http.MethodGet, "/jwks", ""); strings.Contains(jwks.body, `"d":`) {
		t.Error("the private key is published")
	}
}
