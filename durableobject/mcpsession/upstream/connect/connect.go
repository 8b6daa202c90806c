package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/egress"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/mcpclient"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/oauth"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/openapi"
	"github.com/tandem-do/tandem/proto/props"
)

// Options say how sources are reached.
type Options struct {
	// AllowPrivate lets sources have loopback and private addresses.
	AllowPrivate bool
	// CallTimeout bounds one call. Default 60 s.
	CallTimeout time.Duration
	// Version is this program's, for handshakes.
	Version string
	// Log takes what is ignored in answers; nil discards it.
	Log *slog.Logger
}

// Connector is the upstream.Connector of a process. Close ends its idle connections.
type Connector struct {
	o Options
	// exchanges is for requests with an answer, streams for those whose answer stays open.
	exchanges, streams *http.Client
}

var _ upstream.Connector = (*Connector)(nil)

// New returns a connector.
func New(o Options) *Connector {
	if o.CallTimeout <= 0 {
		o.CallTimeout = time.Minute
	}
	limits := egress.Options{AllowPrivate: o.AllowPrivate, Timeout: o.CallTimeout, HeaderTimeout: o.CallTimeout}
	exchanges := egress.NewClient(limits)
	limits.Timeout, limits.MaxBodyBytes = egress.NoLimit, egress.NoLimit
	return &Connector{o: o, exchanges: exchanges, streams: egress.NewClient(limits)}
}

// Close ends idle connections.
func (c *Connector) Close() {
	c.exchanges.CloseIdleConnections()
	c.streams.CloseIdleConnections()
}

// Connect implements upstream.Connector.
func (c *Connector) Connect(ctx context.Context, s upstream.Spec) (upstream.Source, error) {
	if s.Kind != props.SourceOpenAPI {
		return c.mcp(ctx, s)
	}
	source, err := c.openAPI(s, cmp.Or(s.DocumentURL, s.URL))
	if err != nil {
		return nil, err
	}
	return source, nil
}

// Inspect implements upstream.Connector.
func (c *Connector) Inspect(ctx context.Context, s upstream.Spec) (upstream.Inspection, error) {
	if s.Kind == props.SourceOpenAPI {
		return c.inspectOpenAPI(ctx, s)
	}
	source, err := c.mcp(ctx, s)
	if err != nil {
		return upstream.Inspection{}, err
	}
	tools, err := source.Tools(ctx)
	if closed := source.Close(); closed != nil && err == nil {
		c.log().Debug("source not closed", "err", closed)
	}
	return upstream.Inspection{Tools: tools}, err
}

func (c *Connector) log() *slog.Logger {
	if c.o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.o.Log
}

func (c *Connector) inspectOpenAPI(ctx context.Context, s upstream.Spec) (upstream.Inspection, error) {
	from := ""
	if s.URL != "" {
		document, err := openapi.Fetch(ctx, c.exchanges, s.URL)
		if err != nil {
			return upstream.Inspection{}, err
		}
		s.Document, from = document.Content, withoutQuery(document.URL)
	}
	source, err := c.openAPI(s, from)
	if err != nil {
		return upstream.Inspection{}, err
	}
	tools, err := source.Tools(ctx)
	return upstream.Inspection{
		Tools: tools, Document: s.Document, DocumentURL: from, Server: origin(source.Server()), Note: note(source.Skipped()),
	}, err
}

// withoutQuery returns an address without its query, which may be secret.
func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// origin returns the scheme and host of a server's address.
func origin(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return u.Scheme + "://" + u.Host
}

// openAPI makes a source of a document that came from a URL.
func (c *Connector) openAPI(s upstream.Spec, from string) (*openapi.Source, error) {
	credentials := openapi.Auth{}
	switch s.Auth.Kind {
	case props.SourceAuthNone:
	case props.SourceAuthBearer:
		credentials = openapi.Auth{Scheme: openapi.SchemeBearer, Secret: s.Auth.Secret}
	case props.SourceAuthHeader:
		credentials = openapi.Auth{
			Scheme: openapi.SchemeAPIKey, In: "header", Name: s.Auth.Header, Secret: s.Auth.Secret,
		}
	default:
		return nil, upstream.Errorf(upstream.CodeFailed, "an OpenAPI source cannot authenticate by %q", s.Auth.Kind)
	}
	source, err := openapi.New(s.Document, openapi.Options{
		HTTP: c.exchanges, BaseURL: s.BaseURL, DocumentURL: from, Auth: credentials, Timeout: c.o.CallTimeout,
	})
	if err != nil {
		return nil, known(err)
	}
	return source, nil
}

// mcp connects to an MCP server.
func (c *Connector) mcp(ctx context.Context, s upstream.Spec) (upstream.Source, error) {
	o := mcpclient.Options{
		URL: s.URL, HTTP: c.streams, CallTimeout: c.o.CallTimeout, Version: c.o.Version, Logger: c.o.Log,
		Header: http.Header{},
	}
	switch s.Auth.Kind {
	case props.SourceAuthNone:
	case props.SourceAuthBearer:
		o.Header.Set("Authorization", "Bearer "+s.Auth.Secret)
	case props.SourceAuthHeader:
		o.Header.Set(s.Auth.Header, s.Auth.Secret)
	case props.SourceAuthOAuth:
		var credentials oauth.Credentials
		if err := json.Unmarshal([]byte(s.Auth.Secret), &credentials); err != nil {
			return nil, upstream.Errorf(upstream.CodeUnauthorized, "the OAuth credentials are not JSON; sign in again")
		}
		o.OAuth = oauth.New(oauth.Options{
			Credentials: credentials, HTTP: c.exchanges, Save: saver(s.Save), Logger: c.o.Log,
		})
	default:
		return nil, upstream.Errorf(upstream.CodeFailed, "an MCP source cannot authenticate by %q", s.Auth.Kind)
	}
	return mcpclient.Connect(ctx, o)
}

// saver hands new credentials on as JSON.
func saver(save func(string)) func(oauth.Credentials) error {
	if save == nil {
		return nil
	}
	return func(c oauth.Credentials) error {
		secret, err := json.Marshal(c)
		if err == nil {
			save(string(secret))
		}
		return err
	}
}

// known makes an error an *upstream.Error.
func known(err error) error {
	var e *upstream.Error
	if errors.As(err, &e) {
		return e
	}
	return upstream.Errorf(upstream.CodeFailed, "%v", err)
}

// maxNoted is how many skipped operations a note names.
const maxNoted = 5

// note says which operations became no tools.
func note(skipped []openapi.Skipped) string {
	if len(skipped) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d operations are no tools: ", len(skipped))
	for i, s := range skipped[:min(len(skipped), maxNoted)] {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%.100s: %.200s", s.Operation, s.Reason)
	}
	if len(skipped) > maxNoted {
		b.WriteString("; …")
	}
	return b.String()
}
