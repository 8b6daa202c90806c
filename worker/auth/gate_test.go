package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const (
	publicURL = "http://127.0.0.1:8787"
	audience  = publicURL + "/mcp"
)

// members answers from a map of "account organization" to the organization's name.
type members map[string]string

func (m members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	if account == "user_down" {
		return directory.Membership{}, fmt.Errorf("%w: test", directory.ErrUnavailable)
	}
	name, ok := m[account+" "+organization]
	if !ok {
		return directory.Membership{}, directory.ErrNotMember
	}
	return directory.Membership{
		AccountID: account, Email: "a@example.test", OrganizationID: organization, OrganizationName: name,
	}, nil
}

func newGate(t *testing.T, issuer string) *auth.Gate {
	t.Helper()
	g, err := auth.NewGate(auth.Options{
		PublicURL: publicURL, Issuer: issuer, Members: members{"user_1 org_1": "One"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func identify(t *testing.T, g *auth.Gate, token string) auth.Verdict {
	t.Helper()
	return g.Identify(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	other := authtest.NewIssuer(t)
	g := newGate(t, iss.URL)
	token := func(overrides map[string]any) string { return "Bearer " + iss.Token(t, audience, overrides) }
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).Unix() }
	good := token(nil)
	parts := strings.Split(strings.TrimPrefix(good, "Bearer "), ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"rsa-1"}`)) + "." + parts[1] + "."
	for _, tc := range []struct {
		name        string
		header      http.Header
		outcome     auth.Outcome
		description string
	}{
		{"none", nil, auth.OutcomeNoBearer, ""},
		{"cookie only", http.Header{"Cookie": {"token=" + parts[0]}}, auth.OutcomeNoBearer, ""},
		{"basic", bearer("Basic dTpw"), auth.OutcomeNoBearer, ""},
		{"empty bearer", bearer("Bearer  "), auth.OutcomeNoBearer, ""},
		{"good", bearer(good), auth.OutcomeVerified, ""},
		{"scheme in lower case", bearer("bearer " + good[7:]), auth.OutcomeVerified, ""},
		{"localhost audience", bearer("Bearer " + iss.Token(t, "http://localhost:8787/mcp", nil)), auth.OutcomeVerified, ""},
		{"two headers", http.Header{"Authorization": {good, good}}, auth.OutcomeInvalidToken, "malformed"},
		{"garbage", bearer("Bearer x"), auth.OutcomeInvalidToken, "malformed"},
		{"too long", bearer("Bearer " + strings.Repeat("x", 20<<10)), auth.OutcomeInvalidToken, "too long"},
		{"none algorithm", bearer("Bearer " + unsigned), auth.OutcomeInvalidToken, "signature"},
		{"changed payload", bearer("Bearer " + parts[0] + "." + parts[0] + "." + parts[2]), auth.OutcomeInvalidToken, ""},
		{"expired", bearer(token(map[string]any{"exp": ago(time.Minute)})), auth.OutcomeInvalidToken, "expired"},
		{"expired within leeway", bearer(token(map[string]any{"exp": ago(0)})), auth.OutcomeVerified, ""},
		{"no expiry", bearer(token(map[string]any{"exp": nil})), auth.OutcomeInvalidToken, "required claim"},
		{"not yet", bearer(token(map[string]any{"nbf": ago(-time.Minute)})), auth.OutcomeInvalidToken, "not valid yet"},
		{"other audience", bearer("Bearer " + iss.Token(t, "https://x/mcp", nil)), auth.OutcomeInvalidToken, "audience"},
		{"no audience", bearer(token(map[string]any{"aud": nil})), auth.OutcomeInvalidToken, "required claim"},
		{"other issuer", bearer(token(map[string]any{"iss": other.URL})), auth.OutcomeInvalidToken, "issuer"},
		{"another's key", bearer("Bearer " + other.Token(t, audience, map[string]any{"iss": iss.URL})),
			auth.OutcomeInvalidToken, "signature"},
		{"no subject", bearer(token(map[string]any{"sub": nil})), auth.OutcomeInvalidToken, "subject"},
		{"long subject", bearer(token(map[string]any{"sub": strings.Repeat("s", 300)})), auth.OutcomeInvalidToken, "subject"},
		{"critical extension", bearer("Bearer " + iss.Sign(t, jwt.MapClaims{
			"iss": iss.URL, "aud": audience, "sub": "user_1", "exp": ago(-time.Hour),
		}, map[string]any{"crit": []string{"x"}})), auth.OutcomeInvalidToken, "signature"},
		{"no organization", bearer(token(map[string]any{"org_id": nil})), auth.OutcomeNoOrganization, "none"},
		{"not a member", bearer(token(map[string]any{"org_id": "org_2"})), auth.OutcomeNoOrganization, "not a member"},
		{"directory down", bearer(token(map[string]any{"sub": "user_down"})), auth.OutcomeDirectoryUnavailable, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 { // the second time from the cache, where there is one
				v := g.Identify(t.Context(), tc.header)
				if v.Outcome != tc.outcome || !strings.Contains(v.Description, tc.description) {
					t.Fatalf("got %v %q (%v), want %v %q", v.Outcome, v.Description, v.Err, tc.outcome, tc.description)
				}
				assertNoToken(t, v, tc.header.Get("Authorization"))
			}
		})
	}
	v := g.Identify(t.Context(), bearer(good))
	want := props.Identity{AccountID: "user_1", OrganizationID: "org_1", OrganizationName: "One", Email: "a@example.test"}
	if d := cmp.Diff(want, v.Identity); d != "" {
		t.Error(d)
	}
	if n := iss.Fetches("/jwks"); n > 1+1 { // the first, and at most one for the other issuer's key
		t.Errorf("keys were fetched %d times", n)
	}
}

func bearer(value string) http.Header { return http.Header{"Authorization": {value}} }

// assertNoToken makes sure that nothing of a token gets into what is logged or sent.
func assertNoToken(t *testing.T, v auth.Verdict, header string) {
	t.Helper()
	_, token, _ := strings.Cut(header, " ")
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 && strings.Contains(fmt.Sprint(v.Err, v.Description), part) {
			t.Errorf("a part of the token is in %q, %v", v.Description, v.Err)
		}
	}
}

func TestOutagesAreNoRefusals(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	token := iss.Token(t, audience, nil)
	t.Run("down", func(t *testing.T) {
		iss.SetDown(true)
		v := identify(t, newGate(t, iss.URL), token)
		iss.SetDown(false)
		if v.Outcome != auth.OutcomeKeysUnavailable || v.Err == nil {
			t.Errorf("got %v, %v", v.Outcome, v.Err)
		}
		e := v.HTTPError()
		if e.Status != http.StatusServiceUnavailable || e.RetryAfter != 2*time.Second || e.Code != props.CodeUnauthorized {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		closed := httptest.NewServer(nil)
		closed.Close()
		if v := identify(t, newGate(t, closed.URL), token); v.Outcome != auth.OutcomeKeysUnavailable {
			t.Errorf("got %v, %v", v.Outcome, v.Err)
		}
	})
	for name, body := range map[string]string{
		"another's metadata": `{"issuer":"https://other","jwks_uri":"` + iss.URL + `/jwks"}`,
		"not JSON":           `<html>`,
		"no key set":         `{"issuer":"SELF"}`,
		"odd key set":        `{"issuer":"SELF","jwks_uri":"file:///etc/passwd"}`,
		"too long":           `{"issuer":"` + strings.Repeat("x", 2<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var self string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, strings.ReplaceAll(body, "SELF", self))
			}))
			defer s.Close()
			self = s.URL
			if v := identify(t, newGate(t, s.URL), token); v.Outcome != auth.OutcomeKeysUnavailable {
				t.Errorf("got %v, %v", v.Outcome, v.Err)
			}
		})
	}
}

func TestKeysAreFetchedOnce(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	g := newGate(t, iss.URL)
	release := iss.Hold()
	defer release()
	token := iss.Token(t, audience, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The first caller gives up; its fetch goes on for the others.
	if v := g.Identify(ctx, bearer("Bearer "+token)); v.Outcome != auth.OutcomeKeysUnavailable ||
		!errors.Is(v.Err, context.Canceled) {
		t.Errorf("got %v, %v", v.Outcome, v.Err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v := identify(t, g, token); v.Outcome != auth.OutcomeVerified {
				t.Errorf("got %v, %v", v.Outcome, v.Err)
			}
		})
	}
	release()
	wg.Wait()
	if n := iss.Fetches("/jwks"); n != 1 {
		t.Errorf("got %d fetches, want 1", n)
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	iss.AddForeign(map[string]string{"kty": "made-up"})
	iss.AddForeign(map[string]string{"kty": "oct", "k": "c2VjcmV0", "kid": "hmac"})
	g := newGate(t, iss.URL)
	if v := identify(t, g, iss.Token(t, audience, nil)); v.Outcome != auth.OutcomeVerified {
		t.Fatalf("got %v, %v", v.Outcome, v.Err)
	}
	iss.AddEC(t, "ec-2")
	if v := identify(t, g, iss.Token(t, audience, nil)); v.Outcome != auth.OutcomeVerified {
		t.Errorf("after rotation to ES256: got %v, %v", v.Outcome, v.Err)
	}
	noKid := iss.Sign(t, jwt.MapClaims{
		"iss": iss.URL, "aud": audience, "sub": "user_1", "org_id": "org_1", "exp": time.Now().Add(time.Hour).Unix(),
	}, map[string]any{"kid": nil})
	if v := identify(t, g, noKid); v.Outcome != auth.OutcomeVerified {
		t.Errorf("without key ID: got %v, %v", v.Outcome, v.Err)
	}
	hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "user_1"})
	hmac.Header["kid"] = "hmac"
	text, err := hmac.SignedString([]byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if v := identify(t, g, text); v.Outcome != auth.OutcomeInvalidToken {
		t.Errorf("HMAC: got %v, %v", v.Outcome, v.Err)
	}
}

func TestUnknownKeysDoNotBurdenTheIssuer(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	g := newGate(t, iss.URL)
	if v := identify(t, g, iss.Token(t, audience, nil)); v.Outcome != auth.OutcomeVerified {
		t.Fatalf("got %v, %v", v.Outcome, v.Err)
	}
	began := time.Now()
	for i := range 50 {
		forged := iss.Sign(t, jwt.MapClaims{"sub": "x"}, map[string]any{"kid": fmt.Sprint("made-up-", i)})
		v := identify(t, g, forged)
		if v.Outcome != auth.OutcomeInvalidToken || !strings.Contains(v.Description, "unknown key") {
			t.Fatalf("got %v %q, %v", v.Outcome, v.Description, v.Err)
		}
	}
	most := 6 + int(time.Since(began)/(10*time.Second))
	if n := iss.Fetches("/jwks"); n > most {
		t.Errorf("got %d fetches, want at most %d", n, most)
	}
}

func TestWeakKeysAreNotTaken(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	iss.AddRSA(t, "weak", 1024)
	if v := identify(t, newGate(t, iss.URL), iss.Token(t, audience, nil)); v.Outcome != auth.OutcomeInvalidToken {
		t.Errorf("got %v, %v", v.Outcome, v.Err)
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	g := newGate(t, "http://127.0.0.1:8789")
	const prm = `Bearer resource_metadata="http://%s/.well-known/oauth-protected-resource/mcp"`
	for _, tc := range []struct {
		name, host string
		verdict    auth.Verdict
		want       string
	}{
		{"no bearer", "127.0.0.1:8787", auth.Verdict{}, fmt.Sprintf(prm, "127.0.0.1:8787")},
		{"as localhost", "localhost:8787", auth.Verdict{}, fmt.Sprintf(prm, "localhost:8787")},
		{"other port", "localhost:1", auth.Verdict{}, fmt.Sprintf(prm, "127.0.0.1:8787")},
		{"foreign host", `evil"x`, auth.Verdict{}, fmt.Sprintf(prm, "127.0.0.1:8787")},
		{"invalid", "127.0.0.1:8787", auth.Verdict{Outcome: auth.OutcomeInvalidToken, Description: "the token has expired"},
			fmt.Sprintf(prm, "127.0.0.1:8787") + `, error="invalid_token", error_description="the token has expired"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, w := httptest.NewRequest("POST", "/mcp", nil), httptest.NewRecorder()
			r.Host = tc.host
			g.Challenge(w, r, tc.verdict)
			if got := w.Header().Get("WWW-Authenticate"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	g := newGate(t, "http://127.0.0.1:8789")
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/.well-known/oauth-protected-resource", nil)
	r.Host = "127.0.0.1:8787"
	g.ResourceMetadata().ServeHTTP(w, r)
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resource": audience, "authorization_servers": []any{"http://127.0.0.1:8789"},
		"bearer_methods_supported": []any{"header"}, "resource_name": "tandem",
		"scopes_supported": []any{"openid", "profile", "email", "offline_access"},
	}
	if d := cmp.Diff(want, got); d != "" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s, headers %v", d, w.Header())
	}
	for method, status := range map[string]int{"OPTIONS": 204, "POST": 405, "HEAD": 200} {
		w := httptest.NewRecorder()
		g.ResourceMetadata().ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != status || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: got %d %v, want %d", method, w.Code, w.Header(), status)
		}
	}
}

func TestServerMetadata(t *testing.T) {
	t.Parallel()
	iss := authtest.NewIssuer(t)
	relay := newGate(t, iss.URL).ServerMetadata()
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		relay.ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/oauth-authorization-server", nil))
		return w
	}
	iss.SetDown(true)
	if w := get(); w.Code != 502 || w.Body.String() != `{"error":"upstream_error"}` {
		t.Errorf("down: got %d %s", w.Code, w.Body)
	}
	iss.SetDown(false)
	for range 3 {
		w := get()
		var doc struct {
			Issuer string `json:"issuer"`
			Token  string `json:"token_endpoint"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 || doc.Issuer != iss.URL ||
			doc.Token != iss.URL+"/token" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("got %d %s %v, %v", w.Code, w.Body, w.Header(), err)
		}
	}
	if n := iss.Fetches("/.well-known/oauth-authorization-server"); n != 2 {
		t.Errorf("got %d fetches, want one while down and one after", n)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := auth.NewGate(auth.Options{PublicURL: "127.0.0.1:8787/x", Issuer: "ftp://x"})
	if err == nil || !strings.Contains(err.Error(), "public URL") || !strings.Contains(err.Error(), "issuer") {
		t.Errorf("got %v, want both faults", err)
	}
}
