package telemetry

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// parseEndpoint turns a collector's address into a gRPC target and its transport credentials.
func parseEndpoint(endpoint string) (target string, creds credentials.TransportCredentials, err error) {
	creds = insecure.NewCredentials()
	if path, ok := strings.CutPrefix(endpoint, "unix:"); ok {
		endpoint = "/" + strings.TrimLeft(path, "/")
		if !strings.HasPrefix(path, "/") {
			endpoint = path
		}
		return "unix:" + endpoint, creds, nil
	}
	if strings.HasPrefix(endpoint, "/") {
		return "unix:" + endpoint, creds, nil
	}
	if strings.Contains(endpoint, "://") {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || (u.Path != "" && u.Path != "/") || u.User != nil || u.RawQuery != "" {
			return "", nil, fmt.Errorf("telemetry endpoint %q is not an http or https URL of a host and port", endpoint)
		}
		port := "80"
		switch u.Scheme {
		case "http":
		case "https":
			creds, port = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), "443"
		default:
			return "", nil, fmt.Errorf("telemetry endpoint %q: scheme is not http or https", endpoint)
		}
		if u.Port() != "" {
			port = u.Port()
		}
		endpoint = net.JoinHostPort(u.Hostname(), port)
	}
	if host, port, err := net.SplitHostPort(endpoint); err != nil || host == "" || port == "" {
		return "", nil, fmt.Errorf("telemetry endpoint %q is not host:port, a URL or a unix socket's path", endpoint)
	}
	return "dns:///" + endpoint, creds, nil
}

// connectParams are the waits between attempts to reach the collector.
func connectParams() grpc.ConnectParams {
	b := backoff.DefaultConfig
	b.BaseDelay, b.MaxDelay = 100*time.Millisecond, 5*time.Second
	return grpc.ConnectParams{Backoff: b, MinConnectTimeout: 3 * time.Second}
}
