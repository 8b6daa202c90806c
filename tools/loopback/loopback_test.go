package loopback

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestIsHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8788": true, "127.0.0.1": true, "127.8.9.1:80": true, "[::1]": true,
		"[::1]:8788": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"": false, "localhost.": false, "localhost.example.com": false, "127.0.0.1.nip.io": false,
		"10.0.0.1:8788": false, "0.0.0.0": false, "[::]": false, "evil.example:8788": false, "127.0.0.1:80:80": false,
	} {
		if got := IsHost(host); got != want {
			t.Errorf("IsHost(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	h := Only(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }), "my.example:1")
	for host, want := range map[string]int{"localhost:1": 204, "rebind.example:1": 403, "My.example:1": 204, "my.example": 403} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %s: status %d, want %d", host, w.Code, want)
		}
	}
}
