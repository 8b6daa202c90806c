package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"code.dny.dev/ssrf"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// client returns a client whose connections end with the test.
func client(t *testing.T, o Options) *http.Client {
	t.Helper()
	return closing(t, NewClient(o))
}

func closing(t *testing.T, c *http.Client) *http.Client {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// get does a request and returns the body.
func get(t *testing.T, c *http.Client, address string, headers ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func wantCode(t *testing.T, err error, code string) *upstream.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	worded := Error(err)
	if worded.Code != code {
		t.Fatalf("%s (%v), want %s", worded.Code, err, code)
	}
	return worded
}

// Every special range of either family, in the forms in which an address can be written, is refused; what is public is not.
func TestRanges(t *testing.T) {
	t.Parallel()
	refused := map[string][]string{
		"unspecified": {"0.0.0.0", "0.1.2.3", "::"},
		"loopback":    {"127.0.0.1", "127.255.255.254", "::1"},
		"private":     {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"},
		"ULA":         {"fc00::1", "fd00:ec2::254", "fdff::1"},
		"link-local":  {"169.254.169.254", "169.254.0.1", "fe80::1", "febf::1", "fe80::1%eth0"},
		"site-local":  {"fec0::1"},
		"CGNAT":       {"100.64.0.1", "100.100.100.200", "100.127.255.255"},
		"multicast":   {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"},
		"broadcast":   {"255.255.255.255", "240.0.0.1"},
		"documents":   {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
		"benchmark":   {"198.18.0.1", "198.19.255.255", "2001:2::1"},
		"protocols":   {"192.0.0.1", "192.0.0.170", "192.88.99.1"},
		"mapped":      {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1"},
		"compatible":  {"::127.0.0.1", "::10.0.0.1"},
		"NAT64":       {"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1"},
		"6to4":        {"2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:a00:1::"},
		"Teredo":      {"2001:0:7f00:1::1", "2001::1"},
		"ORCHID":      {"2001:10::1", "2001:20::1"},
		"discard":     {"100::1"},
		"segments":    {"5f00::1"},
	}
	permit := ssrf.New(ssrf.WithAnyPort()).Safe
	for name, addresses := range refused {
		for _, address := range addresses {
			if err := permit(network(address), net.JoinHostPort(address, "443"), nil); err == nil {
				t.Errorf("%s: %s was permitted", name, address)
			}
		}
	}
	for _, address := range []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1",
		"169.253.255.255", "192.167.255.255", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
	} {
		if err := permit(network(address), net.JoinHostPort(address, "8443"), nil); err != nil {
			t.Errorf("%s was refused: %v", address, err)
		}
	}
}

func network(address string) string {
	if strings.Contains(address, ":") {
		return "tcp6"
	}
	return "tcp4"
}

// Literal addresses are refused by the client as a whole, however they are written.
func TestLiteralAddresses(t *testing.T) {
	t.Parallel()
	c := client(t, Options{})
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "169.254.169.254", "10.1.2.3", "0.0.0.0",
		"[::]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[fe80::1%25lo]",
	} {
		_, err := get(t, c, "http://"+host+":1/latest?token=hush")
		worded := wantCode(t, err, upstream.CodeRefused)
		if !strings.Contains(worded.Message, "--allow-private-sources") || strings.Contains(worded.Message, "hush") {
			t.Errorf("%s: message %q", host, worded.Message)
		}
	}
}

func TestAllowPrivate(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") }))
	defer server.Close()
	if body, err := get(t, client(t, Options{AllowPrivate: true}), server.URL); err != nil || body != "in" {
		t.Errorf("got %q, %v", body, err)
	}
	_, err := get(t, client(t, Options{}), server.URL)
	wantCode(t, err, upstream.CodeRefused)
}

// A name that resolves to a private address is refused, in either family and beside whatever else it resolves to.
func TestResolvedAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			r := &fakeDNS{answers: func() []string { return []string{address} }}
			_, err := get(t, client(t, Options{Resolver: r.resolver(t)}), "http://rebind.example/")
			wantCode(t, err, upstream.CodeRefused)
		})
	}
}

// The check is made for every connection: a name that was public before gains nothing.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())

	var dialled atomic.Int32
	guardian := ssrf.New(ssrf.WithAnyPort())
	permit := func(network, address string, c syscall.RawConn) error {
		if err := guardian.Safe(network, address, c); err != nil {
			return err
		}
		dialled.Add(1)
		return errors.New("no network in tests")
	}
	var rebound atomic.Bool
	r := &fakeDNS{answers: func() []string {
		if rebound.Load() {
			return []string{"127.0.0.1"}
		}
		return []string{"93.184.215.14"}
	}}
	c := closing(t, newClient(Options{Resolver: r.resolver(t)}, permit))
	_, err := get(t, c, "http://rebind.example:"+port+"/")
	wantCode(t, err, upstream.CodeUnavailable)
	rebound.Store(true)
	_, err = get(t, c, "http://rebind.example:"+port+"/")
	wantCode(t, err, upstream.CodeRefused)
	if dialled.Load() != 1 || reached.Load() != 0 {
		t.Errorf("%d addresses were dialled, %d requests came through", dialled.Load(), reached.Load())
	}
}

// public permits one test server, as if it were on the Internet, and nothing else that is private.
func public(server *httptest.Server) control {
	guardian := ssrf.New(ssrf.WithAnyPort())
	return func(network, address string, c syscall.RawConn) error {
		if address == server.Listener.Addr().String() {
			return nil
		}
		return guardian.Safe(network, address, c)
	}
}

func TestRedirectToLoopback(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusFound)
	}))
	defer outer.Close()
	_, err := get(t, closing(t, newClient(Options{}, public(outer))), outer.URL)
	wantCode(t, err, upstream.CodeRefused)
	if reached.Load() != 0 {
		t.Error("the inner server was reached")
	}
}

// Credentials in any header, and the address before, stay with the first origin, also when the way leads back to it.
func TestRedirectsDropCredentials(t *testing.T) {
	t.Parallel()
	var last http.Header
	var target, origin *httptest.Server
	target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Header.Clone()
		if r.URL.Path == "/back" {
			http.Redirect(w, r, origin.URL+"/end", http.StatusFound)
		}
	}))
	defer target.Close()
	origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Header.Clone()
		switch r.URL.Path {
		case "/same":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/other", "/back":
			http.Redirect(w, r, target.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}
	}))
	defer origin.Close()
	c := client(t, Options{AllowPrivate: true})
	for path, kept := range map[string]bool{"/same": true, "/other": false, "/back": false} {
		_, err := get(t, c, origin.URL+path+"?key=hush", "Authorization", "Bearer hush", "X-Api-Key", "hush", "Cookie", "a=hush",
			"Accept", "text/html")
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range last {
			if strings.Contains(fmt.Sprint(values), "hush") && (!kept || name == "Referer") {
				t.Errorf("%s: %s followed", path, name)
			}
		}
		if kept && last.Get("X-Api-Key") != "hush" || last.Get("Accept") != "text/html" {
			t.Errorf("%s: headers %v", path, last)
		}
	}
	resp, err := c.Post(origin.URL+"/other", "text/plain", strings.NewReader("hush"))
	if err == nil {
		_ = resp.Body.Close()
	}
	wantCode(t, err, upstream.CodeRefused)
}

func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/", http.StatusFound)
	}))
	defer server.Close()
	_, err := get(t, client(t, Options{AllowPrivate: true}), server.URL)
	wantCode(t, err, upstream.CodeFailed)
	if n := requests.Load(); n != MaxRedirects+1 {
		t.Errorf("%d requests", n)
	}
}

func TestAddressesThatNoSourceHas(t *testing.T) {
	t.Parallel()
	c := client(t, Options{AllowPrivate: true})
	for _, address := range []string{"file:///etc/passwd", "gopher://127.0.0.1/", "http://u:hush@127.0.0.1/", "http:///x"} {
		_, err := get(t, c, address)
		if worded := wantCode(t, err, upstream.CodeRefused); strings.Contains(worded.Message, "hush") {
			t.Errorf("%s: %s", address, worded.Message)
		}
	}
	server := httptest.NewServer(http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	defer server.Close()
	_, err := get(t, c, server.URL)
	wantCode(t, err, upstream.CodeRefused)
}

func TestSizes(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("a", 2*maxResponseHeaderBytes))
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		case "/exact":
			_, _ = w.Write(make([]byte, 1000))
		default:
			_, _ = w.Write(make([]byte, 1001))
		}
	}))
	defer server.Close()
	c := client(t, Options{AllowPrivate: true, MaxBodyBytes: 1000})
	if body, err := get(t, c, server.URL+"/exact"); err != nil || len(body) != 1000 {
		t.Errorf("exact: %d bytes, %v", len(body), err)
	}
	for _, path := range []string{"/more", "/gzip"} {
		body, err := get(t, c, server.URL+path)
		wantCode(t, err, upstream.CodeTooLarge)
		if len(body) != 1000 {
			t.Errorf("%s: %d bytes", path, len(body))
		}
	}
	_, err := get(t, c, server.URL+"/header")
	wantCode(t, err, upstream.CodeUnavailable)
	if body, err := get(t, client(t, Options{AllowPrivate: true, MaxBodyBytes: NoLimit}), server.URL); err != nil {
		t.Errorf("no limit: %d bytes, %v", len(body), err)
	}
}

// A server that never answers, or never ends, is waited for no longer than allowed.
func TestWaits(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	for path, o := range map[string]Options{
		"/head": {HeaderTimeout: 50 * time.Millisecond},
		"/body": {Timeout: 50 * time.Millisecond},
	} {
		o.AllowPrivate = true
		_, err := get(t, client(t, o), server.URL+path)
		if worded := wantCode(t, err, upstream.CodeUnavailable); !strings.Contains(worded.Message, "in time") {
			t.Errorf("%s: %s", path, worded.Message)
		}
	}
	if d := client(t, Options{Timeout: NoLimit}).Timeout; d != 0 {
		t.Errorf("timeout %v where none was asked for", d)
	}
}

func TestErrorsHoldNoAddress(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, err = get(t, client(t, Options{AllowPrivate: true}), "http://"+address+"/?key=hush")
	if !strings.Contains(err.Error(), "hush") {
		t.Fatalf("%v: the test is of no use", err)
	}
	worded := wantCode(t, err, upstream.CodeUnavailable)
	if strings.Contains(worded.Message, "hush") || !strings.Contains(worded.Message, "connection refused") {
		t.Errorf("message %q", worded.Message)
	}
	for cause, want := range map[error]string{
		context.Canceled:                "not waited for",
		&net.DNSError{IsNotFound: true}: "does not resolve",
		errors.New("hush"):              "broke off",
		fmt.Errorf("x: %w", io.EOF):     "broke off",
		context.DeadlineExceeded:        "in time",
	} {
		if got := Error(cause).Message; !strings.Contains(got, want) || strings.Contains(got, "hush") {
			t.Errorf("%v: %q", cause, got)
		}
	}
}

// The environment's proxy would do the dialling, and so get round the check.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	g, ok := NewClient(Options{}).Transport.(*guard)
	if !ok || g.next.Proxy != nil {
		t.Error("a proxy is used")
	}
}
