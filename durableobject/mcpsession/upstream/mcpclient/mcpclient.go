package mcpclient

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Options says which server to use, and how.
type Options struct {
	// URL is the MCP endpoint, http or https.
	URL string
	// HTTP makes the requests. Which addresses may be dialled is its transport's business: an *upstream.Error that its
	// dialer returns is this client's error. Its own timeout should be zero, as streams are long. Nil means a client
	// with http.DefaultTransport.
	HTTP *http.Client
	// Header is sent with every request to the endpoint's origin, and to no other: an Authorization header for a fixed
	// bearer, or what else the server wants.
	Header http.Header
	// OAuth supplies access tokens; normally an *oauth.Tokens. Nil means none.
	OAuth auth.OAuthHandler
	// ConnectTimeout bounds the handshake, default 30 s; ListTimeout one listing of tools, default 60 s; CallTimeout one
	// call, default 60 s.
	ConnectTimeout, ListTimeout, CallTimeout time.Duration
	// ToolsChanged is called, on a goroutine of the client's, when the server says that its tools have changed. It must
	// not block. Nil means that nobody asks: then no stream is held open for it.
	ToolsChanged func()
	// Version is this client's version, for the handshake; default "0".
	Version string
	// Logger is told what the SDK ignores in a server's answers; nil means none.
	Logger *slog.Logger
}

// Connect connects to a server. It returns an error if the server cannot be reached, refuses the credentials, or speaks
// no known version of the protocol: always an *upstream.Error.
func Connect(ctx context.Context, o Options) (upstream.Source, error) {
	return nil, upstream.Errorf(upstream.CodeUnavailable, "not implemented")
}
