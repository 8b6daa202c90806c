package idp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// documentServer serves a client's metadata at any path and counts the requests.
func documentServer(t *testing.T, h http.HandlerFunc) (string, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, &n
}

func TestMetadataDocument(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	var id string
	host, fetched := documentServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"client_id":%q,"client_name":"Document","jwks_uri":"x",
			"redirect_uris":["http://127.0.0.1/callback"]}`, id)
	})
	id = host + "/client.json"
	got := r.tokens(t, id, r.code(t, id, "ada@example.com"))
	if r.claims(t, got["access_token"])["client_id"] != id {
		t.Error("the token is another client's")
	}
	if a := r.post(t, "/token", refreshing(id, got["refresh_token"])); a.code != 200 {
		t.Errorf("refresh: %s", a.body)
	}
	if n := fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	q := authorization(id, "redirect_uri", "https://evil.example/cb", "login_hint", "ada@example.com")
	if a := r.get(t, "/authorize", q); a.code != 400 || a.header.Get("Location") != "" {
		t.Errorf("redirect that is not listed: %d", a.code)
	}
	if a := r.get(t, "/authorize", authorization(id)); !strings.Contains(a.body, "Document") {
		t.Errorf("page: %s", a.body)
	}
}

func TestBadMetadataDocuments(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	const uris = `"redirect_uris":["` + testRedirect + `"]`
	answers := map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"/missing": {404, "application/json", "{}", "status 404"},
		"/moved":   {302, "application/json", "{}", "status 302"},
		"/html":    {200, "text/html", "{}", "not served as JSON"},
		"/garbage": {200, "application/json", "{", "not a JSON object"},
		"/other": {200, "application/json", `{"client_id":"https://a.example/x",` + uris + `}`,
			"not the document&#39;s address"},
		"/secret": {200, "application/json", `{"client_id":"ID","client_secret":"x",` + uris + `}`, "asks for a secret"},
		"/method": {200, "application/json", `{"client_id":"ID","token_endpoint_auth_method":"client_secret_post",` +
			uris + `}`, "asks for a secret"},
		"/nowhere": {200, "application/json", `{"client_id":"ID","redirect_uris":[]}`, "0 entries"},
		"/too-long": {200, "application/json", `{"client_id":"ID","x":"` + strings.Repeat("x", maxDocumentBytes) + `"}`,
			"over 65536 bytes"},
	}
	host, fetched := documentServer(t, func(w http.ResponseWriter, req *http.Request) {
		a := answers[req.URL.Path]
		w.Header().Set("Content-Type", a.kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(a.status)
		fmt.Fprint(w, strings.ReplaceAll(a.body, `"ID"`, fmt.Sprintf("%q", "http://"+req.Host+req.URL.Path)))
	})
	for path, want := range answers {
		a := r.get(t, "/authorize", authorization(host+path, "login_hint", "ada@example.com"))
		if a.code != 400 || !strings.Contains(a.body, want.want) {
			t.Errorf("%s: %d %s", path, a.code, a.body)
		}
	}
	if n := fetched.Load(); n != int64(len(answers)) {
		t.Errorf("%d requests for %d documents: a redirect was followed", n, len(answers))
	}
	if a := r.post(t, "/token", url.Values{"client_id": {host + "/missing"}}); a.code != 401 ||
		a.json(t)["error"] != "invalid_client" {
		t.Errorf("token: %d %s", a.code, a.body)
	}
}

func TestIsDocumentURL(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"https://a.example/client.json": true, "http://127.0.0.1:1/c": true, "http://localhost/c?x=1": true,
		"https://a.example": false, "https://a.example/": false, "http://a.example/c": false, "https://a.example/../c": false,
		"https://u@a.example/c": false, "https://a.example/c#f": false, "client_1": false, "": false,
		"ftp://a.example/c": false,
		"https://a.example/" + strings.Repeat("c", maxURIBytes): false,
	} {
		if got := isDocumentURL(id); got != want {
			t.Errorf("isDocumentURL(%.40q) = %v", id, got)
		}
	}
}

func FuzzRedirect(f *testing.F) {
	for _, s := range []string{testRedirect, "https://a.example/cb?x=1", "cursor://a/b", "javascript:alert(1)",
		"http://[::1", "a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if redirectFault(uri) != "" {
			return
		}
		c := &client{RedirectURIs: []string{uri}}
		if !c.allowsRedirect(uri) {
			t.Errorf("%q is taken at registration and refused later", uri)
		}
		target, err := withQuery(uri, url.Values{"code": {"x"}})
		if err != nil {
			t.Fatalf("%q: %v", uri, err)
		}
		if strings.ContainsAny(target, "\r\n") || strings.HasPrefix(strings.ToLower(target), "javascript:") {
			t.Errorf("%q gives %q", uri, target)
		}
	})
}
