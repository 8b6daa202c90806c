package sidecar

import (
	"context"
	"net"
	"net/http"

	"google.golang.org/grpc"
)

// Listen opens the address a process serves on: "unix:/path", "fd:3" for a listener inherited from the
// parent, or "host:port".
func Listen(address string) (net.Listener, error) { panic("not built yet") }

// Dial returns a lazy connection to a gRPC target ("unix:/path" or "host:port").
func Dial(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) { panic("not built yet") }

// ServerOptions say how NewServer builds a server.
type ServerOptions struct {
	// Reflection serves gRPC reflection, for development.
	Reflection bool
}

// NewServer returns a gRPC server with health, keepalive and message limits.
func NewServer(o ServerOptions) *grpc.Server { panic("not built yet") }

// Link carries calls to one host over one connection. It dials, redials and multiplexes.
type Link struct{}

// NewLink returns a link over conn. Close ends it, failing what is under way as disconnected.
func NewLink(conn *grpc.ClientConn) *Link { panic("not built yet") }

// Fetch implements Caller.
func (l *Link) Fetch(ctx context.Context, t Target, r *http.Request) (*http.Response, error) {
	panic("not built yet")
}

// Call implements Caller.
func (l *Link) Call(ctx context.Context, t Target, method string, args []byte) ([]byte, error) {
	panic("not built yet")
}

// Close ends the link and waits for its goroutines.
func (l *Link) Close() error { panic("not built yet") }

// RegisterHandler serves ObjectService on s with h.
func RegisterHandler(s *grpc.Server, h Handler) { panic("not built yet") }
