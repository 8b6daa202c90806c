package oauth

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// Tokens uses credentials and renews them. One Tokens is for one set of credentials, shared by all connections that use
// them: an authorization server may take a refresh token only once.
type Tokens struct{}

var _ auth.OAuthHandler = (*Tokens)(nil)

// New returns Tokens.
func New(o Options) *Tokens { return &Tokens{} }

// TokenSource returns the source of the current access token.
func (t *Tokens) TokenSource(context.Context) (oauth2.TokenSource, error) { return nil, nil }

// Authorize answers a server that has refused the access token: it renews the token, if that may help.
func (t *Tokens) Authorize(context.Context, *http.Request, *http.Response) error {
	return upstream.Errorf(upstream.CodeUnauthorized, "not implemented")
}
