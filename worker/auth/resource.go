package auth

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Paths that the documents of discovery name.
const (
	mcpPath      = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// resources knows the names under which the MCP endpoint is reached. A worker on loopback has three: a client that
// says "localhost" must find its own spelling in the resource's metadata, or it refuses to go on.
type resources struct {
	public string // the configured origin, without a trailing slash
	scheme string
	host   string // without port
	port   string
	local  bool // the configured origin is a loopback one
}

func newResources(publicURL string) resources {
	publicURL = strings.TrimRight(publicURL, "/")
	u, err := url.Parse(publicURL)
	if err != nil {
		return resources{public: publicURL}
	}
	return resources{
		public: publicURL, scheme: u.Scheme, host: u.Hostname(), port: u.Port(), local: isLoopback(u.Hostname()),
	}
}

// origin returns the worker's origin as the client with this Host header knows it.
func (r resources) origin(host string) string {
	if !r.local {
		return r.public
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), ""
	}
	if port != r.port || !isAlias(name) {
		return r.public
	}
	return r.scheme + "://" + host
}

// audiences returns what tokens may be for: the configured audience, and the other spellings of a loopback
// endpoint.
func (r resources) audiences(configured string) []string {
	own := r.public + mcpPath
	if configured == "" {
		configured = own
	}
	out := []string{configured}
	if !r.local || configured != own {
		return out
	}
	for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
		alias := r.scheme + "://" + name
		if r.port != "" {
			alias += ":" + r.port
		}
		if alias != r.public {
			out = append(out, alias+mcpPath)
		}
	}
	return out
}

// isAlias reports the loopback names that audiences lists.
func isAlias(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// isLoopback reports whether a host name without port is the machine itself.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
