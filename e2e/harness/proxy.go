package harness

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// BearerProxy starts a loopback proxy in front of an endpoint that adds a bearer to every request and changes nothing
// else, Host and Origin included. It is for clients that cannot send one. It returns the endpoint's address behind the
// proxy and ends with the test.
func BearerProxy(t T, endpoint, token string) string {
	t.Helper()
	return startProxy(t, endpoint, &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Header.Set("Authorization", "Bearer "+token) },
	})
}

// Cut says where an event stream breaks off: after so many bytes, or a time after its first ones, whichever comes first.
// Never: nowhere.
type Cut struct {
	Never bool
	Bytes int
	After time.Duration
}

// CutProxy starts a loopback proxy in front of an endpoint that breaks connections off in the middle of event streams.
// It asks where for each stream, from many goroutines. It returns the endpoint's address behind the proxy and ends with
// the test.
func CutProxy(t T, endpoint string, where func(*http.Request) Cut) string {
	t.Helper()
	return startProxy(t, endpoint, &httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {},
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
				return nil
			}
			if c := where(r.Request); !c.Never {
				r.Body = &cutBody{ReadCloser: r.Body, left: c.Bytes, after: c.After}
			}
			return nil
		},
	})
}

// cutBody is a body that breaks off.
type cutBody struct {
	io.ReadCloser
	left  int
	after time.Duration
	timer *time.Timer // nil until there are first bytes
}

var errCut = errors.New("cut off")

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errCut
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if n > 0 && b.timer == nil {
		b.timer = time.AfterFunc(b.after, func() { b.ReadCloser.Close() })
	}
	return n, err
}

func (b *cutBody) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	return b.ReadCloser.Close()
}

// startProxy completes and serves a proxy.
func startProxy(t T, endpoint string, proxy *httputil.ReverseProxy) string {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := proxy.Rewrite
	proxy.Rewrite = func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		rewrite(r)
	}
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // clients that go away are no news
	server := httptest.NewServer(proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + target.RequestURI()
}
