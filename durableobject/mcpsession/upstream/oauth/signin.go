package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/mcpclient"
)

// signInTimeout is how long a person has to sign in.
const signInTimeout = 5 * time.Minute

// maxReasonBytes bounds what an error quotes of why a sign-in failed.
const maxReasonBytes = 1 << 10

// SignIn signs in to an MCP server and returns what its tools can be used with: it connects, follows the challenge, and
// lists the tools, so that what the listing needs is granted too. The person at the browser has five minutes. Errors are
// *upstream.Error.
func SignIn(ctx context.Context, o SignInOptions) (Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	back, err := listen(o.RedirectPort)
	if err != nil {
		return Credentials{}, err
	}
	defer back.close(ctx)
	s := &signIn{options: o, redirect: back}
	if err := s.prepare(); err != nil {
		return Credentials{}, upstream.Errorf(upstream.CodeUnauthorized, "sign in: %v", err)
	}
	if o.Challenge != "" {
		if err := s.meet(ctx, o.Challenge); err != nil {
			return Credentials{}, err
		}
	}
	err = s.try(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil: // it says more than what came of it
		return Credentials{}, s.failed
	case err != nil:
		return Credentials{}, err
	case s.issued.AccessToken == "":
		return Credentials{}, upstream.Errorf(upstream.CodeUnauthorized, "the source does not ask anyone to sign in")
	}
	return s.issued, nil
}

// signIn is one sign-in: the SDK's handler of challenges, and what it has been given.
type signIn struct {
	options  SignInOptions
	redirect *redirect
	handler  *auth.AuthorizationCodeHandler

	mu       sync.Mutex // guards what follows
	resource string     // of the authorization that is under way
	issued   Credentials
	failed   error // the first failure: nobody is asked twice
}

var _ auth.OAuthHandler = (*signIn)(nil)

func (s *signIn) prepare() error {
	o := s.options
	if o.OpenBrowser == nil {
		return errors.New("there is no browser to open")
	}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:              s.redirect.url,
		AuthorizationCodeFetcher: s.fetch,
		ScopeFilter:              func(named []string) []string { return union(named, o.Scopes) },
		RequestRefreshToken:      true,
		Client:                   o.HTTP,
		NewTokenSource:           s.keep,
	}
	if o.ClientMetadataURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientMetadataURL}
	}
	if o.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID, Issuer: o.ClientIssuer}
		if o.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				RedirectURIs:    []string{s.redirect.url},
				GrantTypes:      []string{"authorization_code", "refresh_token"},
				ResponseTypes:   []string{"code"},
				ClientName:      "tandem",
				SoftwareVersion: o.Version,
			},
		}
	}
	var err error
	s.handler, err = auth.NewAuthorizationCodeHandler(config)
	return err
}

// meet authorizes for a challenge of an earlier time.
func (s *signIn) meet(ctx context.Context, challenge string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.ServerURL, nil)
	if err != nil {
		return upstream.Errorf(upstream.CodeRefused, "the source's URL cannot be parsed")
	}
	return s.Authorize(ctx, req, &http.Response{
		StatusCode: http.StatusUnauthorized,
		Header:     http.Header{"Www-Authenticate": {challenge}},
		Body:       http.NoBody,
	})
}

// try uses the server as it will be used.
func (s *signIn) try(ctx context.Context) error {
	client, err := mcpclient.Connect(ctx, mcpclient.Options{
		URL: s.options.ServerURL, HTTP: s.options.HTTP, OAuth: s, Version: s.options.Version,
		ConnectTimeout: signInTimeout, ListTimeout: signInTimeout,
	})
	if err != nil {
		return err
	}
	_, err = client.Tools(ctx)
	_ = client.Close() // what was issued is good all the same
	return err
}

// TokenSource returns the source of what was issued so far.
func (s *signIn) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	return s.handler.TokenSource(ctx)
}

// Authorize answers a challenge by the authorization code flow, once; it is the SDK that decides how.
func (s *signIn) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	if failed != nil {
		_ = resp.Body.Close()
		return failed
	}
	err := s.handler.Authorize(ctx, req, resp)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = upstream.Errorf(upstream.CodeUnauthorized, "sign in: %s", printable(err.Error()))
	return s.failed
}

// printable makes one line, that a terminal can show, of what a server may have written.
func printable(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }), " ")
	if len(s) > maxReasonBytes {
		s = strings.ToValidUTF8(s[:maxReasonBytes], "") + "…"
	}
	return s
}

// fetch sends the person to the authorization server and waits for the browser to come back.
func (s *signIn) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	address, err := url.Parse(args.URL)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" {
		return nil, errors.New("the authorization endpoint is not an address for a browser")
	}
	query := address.Query()
	s.mu.Lock()
	s.resource = query.Get("resource")
	s.mu.Unlock()
	answer := s.redirect.expect(query.Get("state"))
	if err := s.options.OpenBrowser(args.URL); err != nil {
		return nil, errors.New("the browser could not be opened")
	}
	select {
	case got := <-answer:
		if got.problem != "" {
			return nil, errors.New("the authorization server did not sign anyone in: " + got.problem)
		}
		return &got.result, nil
	case <-ctx.Done():
		return nil, errors.New("nobody signed in")
	}
}

// keep takes what was issued.
func (s *signIn) keep(ctx context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	issued := Credentials{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenEndpoint: c.Endpoint.TokenURL,
		Resource: s.resource, Scopes: c.Scopes,
	}
	switch c.Endpoint.AuthStyle {
	case oauth2.AuthStyleInHeader:
		issued.ClientAuth = ClientAuthBasic
	case oauth2.AuthStyleInParams:
		issued.ClientAuth = ClientAuthPost
	default: // whichever the endpoint takes
	}
	s.issued = issued.with(token)
	return c.TokenSource(ctx, token), nil
}

// union returns the members of both, each once, in order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
