// Package loopback guards the development servers against DNS rebinding: a page on the internet whose
// name suddenly resolves to 127.0.0.1 reaches them with its own name in the Host header, and is refused.
package loopback

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Only returns a handler that passes to h the requests whose Host is localhost or a loopback address, with
// any port, or one of allowed exactly, and answers every other with 403 and a JSON error.
func Only(h http.Handler, allowed ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsHost(r.Host) && !slices.Contains(allowed, strings.ToLower(r.Host)) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":"forbidden_host",` +
				`"message":"the Host header must be localhost or a loopback address"}` + "\n"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// IsHost reports whether host, with or without a port, is localhost or a loopback address.
func IsHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback() && addr.Zone() == ""
}
