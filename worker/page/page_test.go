package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tandem-do/tandem/worker/page"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	set, err := page.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	err = set.Write(w, http.StatusForbidden, "message", page.Message{
		Head: page.Head{Title: `<b>"no"`, Account: "<i>ada", SignOut: "/auth/signout", CSRF: "token", Refresh: 7},
		Text: "<script>alert(1)</script>", Tone: "bad",
		Links: []page.Link{{Text: "safe", URL: "/a?b=c"}, {Text: "unsafe", URL: "javascript:alert(1)"}},
	})
	body := w.Body.String()
	if err != nil || w.Code != http.StatusForbidden {
		t.Fatalf("got %d, %v", w.Code, err)
	}
	for _, never := range []string{"<script", "<b>", "<i>", "javascript:"} {
		if strings.Contains(body, never) {
			t.Errorf("the page has %s:\n%s", never, body)
		}
	}
	for _, want := range []string{`name="csrf" value="token"`, `action="/auth/signout"`, `content="7"`, `href="/a?b=c"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	// The policy allows the page's own style sheet, byte for byte, and no other.
	_, style, _ := strings.Cut(body, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", "frame-ancestors 'none'",
		"form-action 'self'", "base-uri 'none'",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin", "Content-Type": "text/html; charset=utf-8",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.html": {Data: []byte(`{{define "a"}}secret {{.Nothing}}{{end}}`)}}
	set, err := page.Parse(files, "*.html")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if err := set.Write(w, 200, "a", page.Head{}); err == nil {
		t.Error("the fault was not reported")
	}
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("half a page was sent: %d %s", w.Code, w.Body)
	}
	if _, err := page.Parse(fstest.MapFS{"a.html": {Data: []byte(`{{`)}}, "*.html"); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("got %v", err)
	}
}
