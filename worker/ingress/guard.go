package ingress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard decides which Host and Origin values are the worker's own. A page that rebinds its name to this machine's
// address sends its own name as Host; a page that calls from another site sends its own as Origin.
type guard struct {
	hosts   map[string]bool // lower case, without port
	origins map[string]bool // as browsers send them
}

func newGuard(o Options) (guard, error) {
	g := guard{hosts: map[string]bool{}, origins: map[string]bool{}}
	var errs []error
	for _, h := range o.AllowedHosts {
		if h == "" || strings.ContainsAny(h, "/@?#*, ") {
			errs = append(errs, fmt.Errorf("allowed host %q is not a host name", h))
			continue
		}
		g.hosts[hostname(h)] = true
	}
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			errs = append(errs, fmt.Errorf("allowed origin %q is not an origin such as https://app.example.com", origin))
			continue
		}
		g.origins[strings.ToLower(origin)] = true
	}
	return g, errors.Join(errs...)
}

// check refuses a foreign Host or Origin. The errors are for the client.
func (g guard) check(r *http.Request) error {
	if !g.ownHost(r.Host) {
		return errors.New("this Host is not served here")
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.ownOrigin(origin) {
			return errors.New("this Origin may not call here")
		}
	}
	return nil
}

func (g guard) ownHost(host string) bool {
	name := hostname(host)
	return isLoopback(name) || g.hosts[name]
}

func (g guard) ownOrigin(origin string) bool {
	if g.origins[strings.ToLower(origin)] {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return false // among them "null"
	}
	return g.ownHost(u.Host)
}

// hostname returns a Host value without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// isLoopback reports the names of this machine itself, which no other machine can take.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}
