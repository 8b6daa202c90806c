package idp

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// fields returns the hidden fields of a page's form.
func fields(t *testing.T, body string) url.Values {
	t.Helper()
	out := url.Values{}
	for _, m := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		out.Set(m[1], html.UnescapeString(m[2]))
	}
	if out.Get("csrf") == "" || out.Get("request") == "" {
		t.Fatalf("no form: %s", body)
	}
	return out
}

func TestBrowserFlow(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id := r.register(t, nativeClient)
	page := r.get(t, "/authorize", authorization(id))
	if page.code != 200 || !strings.Contains(page.body, "Test &lt;b&gt;client&lt;/b&gt;") || strings.Contains(page.body,
		"<b>") {
		t.Fatalf("sign-in page: %d %s", page.code, page.body)
	}
	csp := page.header.Get("Content-Security-Policy")
	cookie := page.header.Get("Set-Cookie")
	if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("policy %q, cookie %q", csp, cookie)
	}
	form := fields(t, page.body)

	bad := r.post(t, "/signin", with(form, "email", `"><script>alert(1)</script>`))
	if bad.code != 422 || strings.Contains(bad.body, "<script>") || !strings.Contains(bad.body,
		"That is not an e-mail address") {
		t.Errorf("bad address: %d %s", bad.code, bad.body)
	}
	in := r.post(t, "/signin", with(form, "email", "ada@example.com"))
	if in.code != 303 || in.header.Get("Set-Cookie") == "" {
		t.Fatalf("sign-in: %d %s", in.code, in.body)
	}
	to, q := in.location(t)
	page = r.get(t, to, q)
	for _, want := range []string{"ada@example.com", "127.0.0.1:33418", "Stay signed in", "Test &lt;b&gt;",
		"ada&#39;s organization"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("consent page without %q: %s", want, page.body)
		}
	}
	form = fields(t, page.body)
	no := r.post(t, "/consent", with(form, "decision", "cancel"))
	if to, q := no.location(t); no.code != 303 || to != testRedirect || q.Get("error") != "access_denied" {
		t.Errorf("cancel: %d %v", no.code, q)
	}
	yes := r.post(t, "/consent", with(form, "decision", "allow"))
	to, q = yes.location(t)
	if yes.code != 303 || to != testRedirect || q.Get("state") != "a state & more" {
		t.Fatalf("allow: %d %s %v", yes.code, to, q)
	}
	if got := r.claims(t, r.tokens(t, id, q.Get("code"))["access_token"]); got["email"] != "ada@example.com" {
		t.Errorf("token for %v", got["email"])
	}

	// Signed in, the next request goes on to the consent page; asked for a login, or for another, it does not.
	for _, tt := range []struct {
		change []string
		want   string
	}{
		{nil, "<h1>Allow"},
		{[]string{"prompt", "consent"}, "<h1>Allow"},
		{[]string{"prompt", "login", "login_hint", "bob@example.com"}, `value="bob@example.com"`},
		{[]string{"prompt", "login"}, "<h1>Sign in"},
		{[]string{"prompt", "select_account"}, "<h1>Sign in"},
	} {
		if a := r.get(t, "/authorize", authorization(id, tt.change...)); a.code != 200 || !strings.Contains(a.body, tt.want) {
			t.Errorf("%v: %d %s", tt.change, a.code, a.body)
		}
	}
	if _, q := r.get(t, "/authorize", authorization(id, "prompt",
		"none")).location(t); q.Get("error") != "consent_required" {
		t.Errorf("silent: %v", q)
	}

	home := r.get(t, "/", nil)
	if !strings.Contains(home.body, "signed in as <strong>ada@example.com") {
		t.Errorf("home: %s", home.body)
	}
	out := r.post(t, "/signout", url.Values{"csrf": {form.Get("csrf")}})
	if !strings.Contains(out.body, "You are signed out.") {
		t.Errorf("sign-out: %d %s", out.code, out.body)
	}
	if a := r.get(t, "/authorize", authorization(id)); !strings.Contains(a.body, "<h1>Sign in") {
		t.Errorf("after sign-out: %s", a.body)
	}
}

// A form that did not come from a page of this browser does nothing.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	id := r.register(t, nativeClient)
	victim := fields(t, r.get(t, "/authorize", authorization(id)).body)
	attacker := start(t, t.TempDir())
	foreign := fields(t, attacker.get(t, "/authorize", authorization(attacker.register(t, nativeClient))).body)
	for _, path := range []string{"/signin", "/consent", "/signout"} {
		for name, token := range map[string]string{"none": "", "another browser's": foreign.Get("csrf")} {
			form := with(url.Values{}, "request", victim.Get("request"), "csrf", token, "email", "ada@example.com", "decision",
				"allow")
			if a := r.post(t, path, form); a.code != http.StatusForbidden || a.header.Get("Location") != "" {
				t.Errorf("%s with %s token: %d", path, name, a.code)
			}
		}
		form := with(url.Values{}, "request", victim.Get("request"), "csrf", victim.Get("csrf"), "email", "ada@example.com")
		a := r.do(t, http.MethodPost, path, form.Encode(),
			"Content-Type", "application/x-www-form-urlencoded", "Origin", "http://evil.example")
		if a.code != http.StatusForbidden {
			t.Errorf("%s from another origin: %d", path, a.code)
		}
	}
	// The request that a form carries is checked again.
	evil := authorization(id, "redirect_uri", "https://evil.example/")
	a := r.post(t, "/consent", url.Values{"csrf": {victim.Get("csrf")}, "request": {evil.Encode()},
		"decision": {"cancel"}})
	if a.code != http.StatusBadRequest || a.header.Get("Location") != "" {
		t.Errorf("changed request: %d", a.code)
	}
}
