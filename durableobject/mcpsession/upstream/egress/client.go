package egress

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Limits that no option changes.
const (
	// MaxRedirects is how many redirects one request follows.
	MaxRedirects = 5

	maxResponseHeaderBytes = 64 << 10
	idleTimeout            = time.Minute
	keepAlive              = 30 * time.Second
)

// NoLimit as Timeout or MaxBodyBytes takes the limit away, for streams that stay open: their caller bounds them.
const NoLimit = -1

// Options configure NewClient. The zero value works.
type Options struct {
	// AllowPrivate lets the client reach loopback and private addresses: the flag --allow-private-sources.
	AllowPrivate bool
	// Timeout bounds one exchange from the dial to the end of the body, redirects included; default 60 s.
	Timeout time.Duration
	// DialTimeout bounds the resolution of a name and the connection, and once more the TLS handshake; default 5 s.
	DialTimeout time.Duration
	// HeaderTimeout bounds the wait for a response's headers; default 60 s.
	HeaderTimeout time.Duration
	// MaxConnsPerHost bounds the connections to one host; more requests wait; default 16.
	MaxConnsPerHost int
	// MaxBodyBytes bounds a response's body after decompression; default 8 MiB.
	MaxBodyBytes int64
	// Resolver resolves names; default the system's.
	Resolver *net.Resolver
}

// NewClient returns a client with the package's guarantees. Pass its errors through Error before anybody sees them.
func NewClient(o Options) *http.Client {
	if o.AllowPrivate {
		return newClient(o, nil)
	}
	return newClient(o, ssrf.New(ssrf.WithAnyPort()).Safe)
}

// control decides on an address that is about to be dialled, as net.Dialer.Control does.
type control func(network, address string, c syscall.RawConn) error

func newClient(o Options, permit control) *http.Client {
	dialTimeout := cmp.Or(o.DialTimeout, 5*time.Second)
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Resolver: o.Resolver, Control: permit}
	transport := &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		ResponseHeaderTimeout:  cmp.Or(o.HeaderTimeout, time.Minute),
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxResponseHeaderBytes,
		MaxConnsPerHost:        cmp.Or(o.MaxConnsPerHost, 16),
		MaxIdleConnsPerHost:    4,
		MaxIdleConns:           256,
		IdleConnTimeout:        idleTimeout,
	}
	return &http.Client{
		Transport:     &guard{next: transport, maxBodyBytes: cmp.Or(o.MaxBodyBytes, 8<<20)},
		CheckRedirect: checkRedirect,
		Timeout:       max(cmp.Or(o.Timeout, time.Minute), 0),
	}
}

// checkRedirect decides on one redirect. Beyond the first origin a request carries only what every request carries, since
// any other header may be a credential, and no body.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return upstream.Errorf(upstream.CodeFailed, "the source redirected more than %d times", MaxRedirects)
	}
	// The address of the request before may hold a key in its query.
	req.Header.Del("Referer")
	first := via[0].URL
	crossed := !sameOrigin(first, req.URL)
	for _, hop := range via {
		crossed = crossed || !sameOrigin(first, hop.URL)
	}
	if !crossed {
		return nil
	}
	if first.Scheme == "https" && req.URL.Scheme != "https" {
		return upstream.Errorf(upstream.CodeRefused, "the source redirected from https to %.20q", req.URL.Scheme)
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return upstream.Errorf(upstream.CodeRefused,
			"the source redirected a %s request to another origin; give the source its final address", req.Method)
	}
	for name := range req.Header {
		switch name {
		case "Accept", "User-Agent":
		default:
			delete(req.Header, name)
		}
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// guard is the transport: it refuses what is not plain HTTP, bounds bodies and words refusals.
type guard struct {
	next         *http.Transport
	maxBodyBytes int64
}

// RoundTrip does one exchange.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkURL(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a transport must close it, and nothing was sent
		}
		return nil, err
	}
	resp, err := g.next.RoundTrip(req)
	if errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrInvalidHostPort) ||
		errors.Is(err, ssrf.ErrProhibitedNetwork) {
		return nil, upstream.Errorf(upstream.CodeRefused, "the source's host %.200q has a loopback, private or otherwise "+
			"special address; to allow such sources, start with --allow-private-sources", req.URL.Hostname())
	}
	if err != nil {
		return nil, err
	}
	if g.maxBodyBytes >= 0 {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: g.maxBodyBytes}
	}
	return resp, nil
}

// CloseIdleConnections closes connections that no request uses.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

// checkURL refuses addresses that no source may have.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return upstream.Errorf(upstream.CodeRefused, "a source's address is http or https, not %.20q", u.Scheme)
	case u.Hostname() == "":
		return upstream.Errorf(upstream.CodeRefused, "the source's address names no host")
	case u.User != nil:
		return upstream.Errorf(upstream.CodeRefused,
			"the source's address holds a user or password; give credentials separately, so that they are kept secret")
	}
	return nil
}
