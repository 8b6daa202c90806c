package idp

import (
	"context"
	"log/slog"
	"net"
)

// Options say how the development authorization server runs.
type Options struct {
	// Listener takes HTTP requests.
	Listener net.Listener
	// PublicURL is the issuer, such as http://127.0.0.1:8789.
	PublicURL string
	// Audience is the resource that tokens are for unless a request names another: the MCP endpoint's URL.
	Audience string
	// Dir holds the signing key, the clients and the refresh tokens.
	Dir string
	// Directory is where users and organizations are: sqlite:PATH or postgres://…
	Directory string
	// Log takes the server's log; nil discards it.
	Log *slog.Logger
}

// Serve runs the server until ctx ends.
func Serve(ctx context.Context, o Options) error { panic("not built yet") }
