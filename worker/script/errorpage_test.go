package script

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestErrorPage: in development a browser gets a page of an uncaught error, in which nothing of the request is markup;
// other clients get the stack, and nobody anything in production.
func TestErrorPage(t *testing.T) {
	t.Parallel()
	const code = `export default { fetch(request) { throw new TypeError("<b>" + new URL(request.url).search); } };`
	for _, tc := range []struct {
		name, accept string
		development  bool
		contentType  string
		want, not    string
	}{
		{"browser", "text/html,application/xhtml+xml,*/*;q=0.8", true, "text/html;charset=UTF-8",
			"<h1>TypeError: &lt;b&gt;?x=%3Ci%3E</h1><p>GET /?x=&lt;i&gt;: the", "<b>"},
		{"curl", "*/*", true, "text/plain;charset=UTF-8", "TypeError: <b>?x=%3Ci%3E\n    at ", "<h1>"},
		{"production", "text/html", false, "", "Internal Server Error", "TypeError"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(t.Context(), Options{Bundle: newBundle(t, code), Isolates: 1, Development: tc.development}, &room{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := httptest.NewRequest(http.MethodGet, "/?x=%3Ci%3E", nil)
			r.URL.RawQuery = "x=<i>"
			r.Header.Set("Accept", tc.accept)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			body := w.Body.String()
			if w.Code != 500 || w.Header().Get("Content-Type") != tc.contentType || !strings.Contains(body, tc.want) ||
				strings.Contains(body, tc.not) {
				t.Errorf("%d %v\n%s", w.Code, w.Header(), body)
			}
		})
	}
}
