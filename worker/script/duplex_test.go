package script

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A connection can be used again after a request whose body the script has not read.
func TestUnreadBodies(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(duplex(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte("ok"))
	})))
	defer server.Close()
	for range 20 {
		resp, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("a body that nobody reads"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
	}
}
