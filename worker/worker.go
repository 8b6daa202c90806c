package worker

import (
	"context"
	"log/slog"
	"net"

	"google.golang.org/grpc"
)

// Options say how a worker process runs.
type Options struct {
	// Listener takes HTTP requests.
	Listener net.Listener
	// PublicURL is the origin that clients use, such as http://127.0.0.1:8787.
	PublicURL string
	// Issuer is the authorization server; Audience is what tokens must be for. Default: the MCP endpoint's URL.
	Issuer, Audience string
	// Directory is where users and organizations are: sqlite:PATH or postgres://…
	Directory string
	// Router is the connection to the router process.
	Router *grpc.ClientConn
	// AllowedHosts are Host header values accepted beside loopback names and PublicURL's.
	AllowedHosts []string
	// Log takes the worker's log; nil discards it.
	Log *slog.Logger
}

// Serve runs a worker until ctx ends, then finishes the requests that run.
func Serve(ctx context.Context, o Options) error { panic("not built yet") }
