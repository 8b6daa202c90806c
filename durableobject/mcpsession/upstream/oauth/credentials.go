package oauth

import (
	"log/slog"
	"net/http"
	"time"
)

// Credentials are what a sign-in gave, all that is needed to use it and to renew it. They are secret as a whole: they
// belong encrypted at rest, and not in logs.
type Credentials struct {
	// AccessToken is the bearer; Expiry is when it ends, zero if the authorization server did not say.
	AccessToken string    `json:"accessToken"`
	Expiry      time.Time `json:"expiry,omitzero"`
	// RefreshToken renews the access token; empty if the authorization server gives none.
	RefreshToken string `json:"refreshToken,omitempty"`
	// ClientID and ClientSecret are this client's registration with the authorization server. A public client has no
	// secret.
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// ClientAuth says how the client names itself to the token endpoint: ClientAuthBasic, ClientAuthPost, or empty for
	// whichever the endpoint takes.
	ClientAuth string `json:"clientAuth,omitempty"`
	// TokenEndpoint is where tokens come from.
	TokenEndpoint string `json:"tokenEndpoint"`
	// Resource is the resource indicator (RFC 8707) that the tokens are for.
	Resource string `json:"resource,omitempty"`
	// Scopes are those that were granted.
	Scopes []string `json:"scopes,omitempty"`
}

// Values of Credentials.ClientAuth.
const (
	// ClientAuthBasic sends the client's name and secret in the Authorization header.
	ClientAuthBasic = "basic"
	// ClientAuthPost sends them in the form.
	ClientAuthPost = "post"
)

// LogValue keeps the credentials out of logs.
func (Credentials) LogValue() slog.Value { return slog.StringValue("[credentials]") }

// String keeps the credentials out of messages.
func (Credentials) String() string { return "[credentials]" }

// GoString keeps the credentials out of messages.
func (Credentials) GoString() string { return "[credentials]" }

// Options says how credentials are used.
type Options struct {
	// Credentials are those to begin with.
	Credentials Credentials
	// HTTP makes the requests to the token endpoint; nil means http.DefaultClient.
	HTTP *http.Client
	// Save is told of credentials that replace the earlier ones, before they are used; it may be nil. One call is made at
	// a time, and requests wait for it. When it fails, the credentials are used all the same, and saved again with the
	// next request.
	Save func(Credentials) error
	// Load returns the credentials as they are saved. It is asked when the authorization server refuses to renew
	// those in memory: another process may have renewed them. It may be nil.
	Load func() (Credentials, error)
	// Logger is told of credentials that could not be saved; nil means none.
	Logger *slog.Logger
}

// SignInOptions says where and how to sign in.
type SignInOptions struct {
	// ServerURL is the MCP endpoint.
	ServerURL string
	// OpenBrowser shows a URL to the person who signs in. It may return before they are done.
	OpenBrowser func(url string) error
	// HTTP makes all requests; nil means http.DefaultClient.
	HTTP *http.Client
	// Challenge is the WWW-Authenticate value of a refusal that asks for more than earlier credentials grant, as
	// Challenge finds it in an error; empty for a first sign-in.
	Challenge string
	// Scopes are asked for beside those that the server names, such as those of the earlier credentials.
	Scopes []string
	// ClientID and ClientSecret are those of a client that was registered by hand; without one, the client registers
	// itself. ClientIssuer is the authorization server that knows it; no other is told of it. Empty means whichever the
	// MCP server names.
	ClientID, ClientSecret, ClientIssuer string
	// ClientMetadataURL is where a document about this client is published; it is the client's id with authorization
	// servers that take such ids. Optional.
	ClientMetadataURL string
	// RedirectPort is the loopback port that the browser comes back to; 0 means any.
	RedirectPort int
	// Version is this client's version, for its registration and the MCP handshake.
	Version string
}
