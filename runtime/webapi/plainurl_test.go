package webapi

import (
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// plainURLs are URLs, and whether they are plain.
var plainURLs = map[string]bool{
	"http://example.com/":                      true,
	"https://a.example.com/a/b.c/?q=1&r=%20+x": true,
	"http://localhost:8787/x//y;z=1,2'":        true,
	"http://127.0.0.1:65535/%zz":               true,
	"https://host:80/":                         true,
	"http://host:443/":                         true,
	"http://under-score.test/~u/@v?a?b/c":      true,
	"http://example.com":                       false,
	"http://example.com:80/":                   false,
	"https://example.com:443/":                 false,
	"http://example.com:080/":                  false,
	"http://example.com:65536/":                false,
	"http://example.com:/":                     false,
	"HTTP://example.com/":                      false,
	"http://Example.com/":                      false,
	"http://1/":                                false,
	"http://127.0.0.01/":                       false,
	"http://127.0.0.256/":                      false,
	"http://a.1/":                              false,
	"http://a.0x1/":                            false,
	"http://xn--a/":                            false,
	"http://.a/":                               false,
	"http://a./":                               false,
	"http://a..b/":                             false,
	"http:///a":                                false,
	"http://u:p@a/":                            false,
	"http://[::1]/":                            false,
	"http://a/./b":                             false,
	"http://a/b/..":                            false,
	"http://a/%2e%2e/b":                        false,
	"http://a/b c":                             false,
	"http://a/b\\c":                            false,
	"http://a/ü":                               false,
	"http://a/?":                               false,
	"http://a/?a'b":                            false,
	"http://a/?a b":                            false,
	"http://a/#f":                              false,
	"http://a/?q#f":                            false,
	"ftp://a/":                                 false,
	"http:/a/":                                 false,
	"http://a/b\n":                             false,
	"":                                         false,
	"http://999999999999999999999999999999999.1.1/": false,
}

// checkPlainURL compares what is behind a plain URL with what the parser of all URLs makes of it.
func checkPlainURL(t *testing.T, text string) (plain bool) {
	t.Helper()
	u, ok := parsePlainURL(text)
	if !ok {
		return false
	}
	full, err := whatwg.Parse(text)
	if err != nil {
		t.Errorf("%q is taken for plain: %v", text, err)
		return true
	}
	for _, part := range urlParts() {
		if got, want := u.part(part.name), part.get(full); got != want {
			t.Errorf("%q: %s is %q, want %q", text, part.name, got, want)
		}
	}
	if u.href != full.Href(false) || u.origin() != originOf(full) {
		t.Errorf("%q: %q of %q, want %q of %q", text, u.href, u.origin(), full.Href(false), originOf(full))
	}
	return true
}

func TestPlainURL(t *testing.T) {
	t.Parallel()
	for text, want := range plainURLs {
		if got := checkPlainURL(t, text); got != want {
			t.Errorf("%q: plain is %v, want %v", text, got, want)
		}
	}
}

func FuzzPlainURL(f *testing.F) {
	for text := range plainURLs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkPlainURL(t, text) })
}
