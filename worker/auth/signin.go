package auth

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// Provider is the authorization server as it must be known to sign a person in at a browser.
type Provider struct {
	// Issuer is its identifier.
	Issuer string
	// AuthorizationEndpoint and TokenEndpoint are absolute URLs.
	AuthorizationEndpoint, TokenEndpoint string
	// ClientDocuments is true if a client may be named by the URL of its metadata, without registration.
	ClientDocuments bool
	// NamesItself is true if its answers carry iss, as RFC 9207 says.
	NamesItself bool
	// PostsSecret is true if it takes a client's secret in the body of a token request and not in a header.
	PostsSecret bool
}

// Provider returns the authorization server from its metadata, which is kept for a minute. Errors: its metadata cannot
// be had, or lack an endpoint.
func (g *Gate) Provider(ctx context.Context) (Provider, error) {
	doc, err := g.relay.get(ctx)
	if err != nil {
		return Provider{}, err
	}
	var m struct {
		AuthorizationEndpoint string   `json:"authorization_endpoint"`
		TokenEndpoint         string   `json:"token_endpoint"`
		ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
		NamesItself           bool     `json:"authorization_response_iss_parameter_supported"`
		AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := json.Unmarshal(doc, &m); err != nil {
		return Provider{}, fmt.Errorf("parse the issuer's metadata: %w", err)
	}
	for name, endpoint := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint, "token_endpoint": m.TokenEndpoint,
	} {
		u, err := url.Parse(endpoint)
		if err != nil || !isHTTP(u) || (u.Scheme == "http" && strings.HasPrefix(g.issuer.id, "https:")) {
			return Provider{}, fmt.Errorf("the issuer's %s is not an https URL", name)
		}
	}
	return Provider{
		Issuer: g.issuer.id, AuthorizationEndpoint: m.AuthorizationEndpoint, TokenEndpoint: m.TokenEndpoint,
		ClientDocuments: m.ClientDocuments, NamesItself: m.NamesItself,
		PostsSecret: slices.Contains(m.AuthMethods, "client_secret_post") &&
			!slices.Contains(m.AuthMethods, "client_secret_basic"),
	}, nil
}

// Client returns the HTTP client that reaches the issuer, within a few seconds.
func (g *Gate) Client() *http.Client { return g.client }

// ErrSignIn is returned by VerifySignIn for tokens that are not good. What wraps it has text for the log, and no token.
var ErrSignIn = errors.New("sign-in is not valid")

// SignIn is what a token endpoint gave for the code of a sign-in.
type SignIn struct {
	// IDToken and AccessToken are the tokens; AccessToken may be opaque.
	IDToken, AccessToken string
	// ClientID is the client that they are for, Nonce that of its request.
	ClientID, Nonce string
}

// idClaims are the parts of an ID token that count.
type idClaims struct {
	claims
	Nonce      string `json:"nonce"`
	Authorized string `json:"azp"`
}

// VerifySignIn returns the account that has signed in, and its organization, which is empty if no token names one.
// Errors: ErrSignIn; every other one means that it cannot be told.
func (g *Gate) VerifySignIn(ctx context.Context, in SignIn) (accountID, organizationID string, err error) {
	if in.IDToken == "" {
		return "", "", fmt.Errorf("%w: there is no ID token; does the issuer know the scope openid?", ErrSignIn)
	}
	if len(in.IDToken) > maxTokenBytes {
		return "", "", fmt.Errorf("%w: the ID token is too long", ErrSignIn)
	}
	var c idClaims
	if err := g.verifier.parse(ctx, newParser(g.issuer.id, in.ClientID), in.IDToken, &c); err != nil {
		var invalid *invalidToken
		if errors.As(err, &invalid) {
			return "", "", fmt.Errorf("%w: ID token: %s", ErrSignIn, invalid.description)
		}
		return "", "", err
	}
	if subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(in.Nonce)) != 1 {
		return "", "", fmt.Errorf("%w: the ID token is of another sign-in", ErrSignIn)
	}
	if c.Authorized != "" && c.Authorized != in.ClientID || len(c.Audience) > 1 && c.Authorized == "" {
		return "", "", fmt.Errorf("%w: the ID token is for another client", ErrSignIn)
	}
	who := account{c.Subject, c.OrganizationID}
	if who.organizationID == "" {
		// Some issuers name the organization in the access token alone.
		if access, err := g.verifier.verify(ctx, in.AccessToken); err == nil && access.accountID == who.accountID {
			who = access
		}
	}
	if !who.usable() {
		return "", "", fmt.Errorf("%w: the ID token has no usable subject or organization", ErrSignIn)
	}
	return who.accountID, who.organizationID, nil
}

var _ jwt.Claims = (*idClaims)(nil)
