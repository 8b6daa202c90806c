package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/mcpclient"
)

const (
	// renewTimeout bounds one request to the token endpoint.
	renewTimeout = 30 * time.Second
	// earlyRenewal is how long before its end an access token is renewed.
	earlyRenewal = 30 * time.Second
)

// Tokens uses credentials and renews them. One Tokens is for one set of credentials, shared by all connections that use
// them: an authorization server may take a refresh token only once.
type Tokens struct {
	http   *http.Client
	save   func(Credentials) error
	load   func() (Credentials, error)
	logger *slog.Logger

	mu      sync.Mutex // guards what follows; held while tokens are renewed, so that one request is made for all
	current Credentials
	unsaved bool
}

var _ auth.OAuthHandler = (*Tokens)(nil)

// New returns Tokens.
func New(o Options) *Tokens {
	t := &Tokens{http: o.HTTP, save: o.Save, load: o.Load, logger: o.Logger, current: o.Credentials}
	if t.http == nil {
		t.http = http.DefaultClient
	}
	if t.logger == nil {
		t.logger = slog.New(slog.DiscardHandler)
	}
	return t
}

// TokenSource returns the source of the current access token. Tokens that must be renewed are asked for with ctx.
func (t *Tokens) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return source{ctx, t}, nil
}

// source is Tokens for the time of a connection.
type source struct {
	ctx    context.Context // the connection's
	tokens *Tokens
}

// Token returns an access token that is valid for a while. Its errors are *upstream.Error.
func (s source) Token() (*oauth2.Token, error) {
	t := s.tokens
	t.mu.Lock()
	defer t.mu.Unlock()
	if ending := t.current.Expiry; !ending.IsZero() && time.Until(ending) < earlyRenewal && t.current.RefreshToken != "" {
		if err := t.renew(s.ctx); err != nil {
			return nil, err
		}
	}
	t.settle()
	return &oauth2.Token{AccessToken: t.current.AccessToken, TokenType: "Bearer"}, nil
}

// Authorize answers a server that has refused the access token: it renews the token, if that may help. Otherwise its
// error has CodeUnauthorized, and Challenge finds in it what the server asks for.
func (t *Tokens) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	refusal := mcpclient.Unauthorized(resp.StatusCode, strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	t.mu.Lock()
	defer t.mu.Unlock()
	used, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	switch {
	case resp.StatusCode != http.StatusUnauthorized:
		return refusal
	case used != t.current.AccessToken: // renewed since it was sent
		return nil
	case t.current.RefreshToken == "":
		return refusal
	}
	if err := t.renew(ctx); err != nil {
		return err
	}
	t.settle()
	return nil
}

// renew asks for new tokens. The caller holds mu.
func (t *Tokens) renew(ctx context.Context) error {
	before := t.current
	err := t.ask(ctx)
	if err == nil || t.load == nil || !refused(err) {
		return worded(err)
	}
	// Another process may have used the refresh token, and have saved what it got.
	stored, loadErr := t.load()
	if loadErr != nil || stored.AccessToken == before.AccessToken {
		return worded(err)
	}
	t.current, t.unsaved = stored, false
	if stored.Expiry.IsZero() || time.Until(stored.Expiry) >= earlyRenewal {
		return nil
	}
	return worded(t.ask(ctx))
}

// ask makes the request to the token endpoint. The caller holds mu.
func (t *Tokens) ask(ctx context.Context) error {
	c := t.current
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, t.http), renewTimeout)
	defer cancel()
	config := oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: c.TokenEndpoint, AuthStyle: authStyle(c)},
	}
	// A TokenSource of oauth2 sends no resource indicator, which MCP wants with every request for a token.
	params := []oauth2.AuthCodeOption{
		oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", c.RefreshToken),
	}
	if c.Resource != "" {
		params = append(params, oauth2.SetAuthURLParam("resource", c.Resource))
	}
	token, err := config.Exchange(ctx, "", params...)
	if err != nil {
		return err
	}
	t.current = c.with(token)
	t.unsaved = true
	return nil
}

// settle saves credentials that are not saved yet. The caller holds mu.
func (t *Tokens) settle() {
	if !t.unsaved || t.save == nil {
		return
	}
	if err := t.save(t.current); err != nil {
		t.logger.Warn("renewed credentials of a source could not be saved", "err", err)
		return
	}
	t.unsaved = false
}

// with returns the credentials with a token in them.
func (c Credentials) with(token *oauth2.Token) Credentials {
	c.AccessToken, c.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		c.RefreshToken = token.RefreshToken
	}
	if scope, ok := token.Extra("scope").(string); ok && scope != "" {
		c.Scopes = strings.Fields(scope)
	}
	c.Scopes = slices.Sorted(slices.Values(c.Scopes))
	return c
}

func authStyle(c Credentials) oauth2.AuthStyle {
	switch {
	case c.ClientAuth == ClientAuthBasic:
		return oauth2.AuthStyleInHeader
	case c.ClientAuth == ClientAuthPost || c.ClientSecret == "":
		return oauth2.AuthStyleInParams
	default:
		return oauth2.AuthStyleAutoDetect
	}
}

// refused tells whether the authorization server will not renew these tokens, now or later.
func refused(err error) bool {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return false
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	return answer.ErrorCode != "" || status >= 400 && status < 500 && status != http.StatusTooManyRequests
}

// worded makes an *upstream.Error of an error of the token endpoint, without what that has sent.
func worded(err error) error {
	var known *upstream.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case refused(err):
		return upstream.Errorf(upstream.CodeUnauthorized,
			"the source's credentials have ended and were not renewed; sign in again")
	default:
		return upstream.Errorf(upstream.CodeUnavailable,
			"the source's authorization server could not be reached to renew the credentials")
	}
}

// Challenge returns the challenge that a server has refused credentials with, for SignInOptions.Challenge, or "".
func Challenge(err error) string {
	var e *upstream.Error
	if !errors.As(err, &e) || e.Code != upstream.CodeUnauthorized {
		return ""
	}
	var details struct{ Challenge string }
	if err := json.Unmarshal(e.Details, &details); err != nil {
		return ""
	}
	return details.Challenge
}
