package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
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
	// Logger is told, at debug level, what goes wrong and changes nothing; nil means none.
	Logger *slog.Logger
}

// Timeouts that Options defaults to.
const (
	defaultConnectTimeout = 30 * time.Second
	defaultTimeout        = time.Minute
)

// withDefaults returns the options with defaults filled in, or everything that is wrong with them.
func (o Options) withDefaults() (Options, *url.URL, error) {
	endpoint, err := url.Parse(o.URL)
	var faults []error
	switch {
	case err != nil:
		faults = append(faults, errors.New("its URL cannot be parsed"))
	case endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "":
		faults = append(faults, errors.New("its URL must be absolute, with http or https"))
	case endpoint.User != nil || endpoint.Fragment != "":
		faults = append(faults, errors.New("its URL must not hold a password or a fragment"))
	}
	if o.OAuth != nil && o.Header.Get("Authorization") != "" {
		faults = append(faults, errors.New("it has both a bearer and OAuth credentials"))
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.ListTimeout <= 0 {
		o.ListTimeout = defaultTimeout
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultTimeout
	}
	if o.Version == "" {
		o.Version = "0"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(faults...); err != nil {
		return o, nil, upstream.Errorf(upstream.CodeRefused, "the source cannot be used: %v", err)
	}
	return o, endpoint, nil
}

// Connect connects to a server. It returns an error if the server cannot be reached, refuses the credentials, or speaks
// no known version of the protocol: always an *upstream.Error. ctx bounds the handshake only.
func Connect(ctx context.Context, o Options) (upstream.Source, error) {
	o, endpoint, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := newClient(ctx, o, endpoint)
	if _, err := c.current(ctx); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}
