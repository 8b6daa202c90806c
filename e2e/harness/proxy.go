package harness

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
)

// BearerProxy starts a loopback proxy in front of an endpoint that adds a bearer to every request and changes nothing
// else, Host and Origin included. It is for clients that cannot send one. It returns the endpoint's address behind the
// proxy and ends with the test.
func BearerProxy(t T, endpoint, token string) string {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // clients that go away are no news
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
	})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL + target.RequestURI()
}
