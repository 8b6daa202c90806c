package websession

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/ingress"
	"github.com/tandem-do/tandem/worker/page"
)

// Paths of the sign-in.
const (
	pathSignIn   = "/auth/signin"
	pathCallback = "/auth/callback"
	pathSignOut  = "/auth/signout"
	pathClient   = "/auth/client.json"
)

const (
	// flowLife is how long a person may take at the issuer.
	flowLife = 10 * time.Minute
	// exchangeTimeout bounds the exchange of a code.
	exchangeTimeout = 10 * time.Second
	// flowNameBytes is how much of a sign-in's state is in the name of its cookie.
	flowNameBytes = 8
)

// flow is one sign-in, from the redirect to the issuer to the callback.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	// Return is the path to go to then.
	Return string `json:"r"`
	// Ends is in Unix seconds.
	Ends int64 `json:"x"`
}

// Routes returns what the sign-in serves.
func (s *Sessions) Routes() []ingress.Route {
	only := func(method string, h http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != method {
				w.Header().Set("Allow", method)
				ingress.WriteError(w, r, http.StatusMethodNotAllowed, "allowed here: "+method)
				return
			}
			h(w, r)
		})
	}
	return []ingress.Route{
		{Path: pathSignIn, Handler: only(http.MethodGet, s.signIn)},
		{Path: pathCallback, Handler: only(http.MethodGet, s.callback)},
		{Path: pathSignOut, Handler: only(http.MethodPost, s.signOut)},
		{Path: pathClient, Handler: only(http.MethodGet, s.client)},
	}
}

// SignInURL returns where a person signs in to come back to a path of the worker; with other, as somebody else.
func (s *Sessions) SignInURL(path string, other bool) string {
	q := url.Values{"return": {ownPath(path)}}
	if other {
		q.Set("prompt", "select_account")
	}
	return pathSignIn + "?" + q.Encode()
}

// signIn begins a sign-in.
func (s *Sessions) signIn(w http.ResponseWriter, r *http.Request) {
	if s.Elsewhere(w, r) {
		return
	}
	q := r.URL.Query()
	s.redirect(w, r, ownPath(q.Get("return")), q.Get("prompt") == "select_account")
}

// SignIn sends the browser to the issuer, to come back to the page that it asked for.
func (s *Sessions) SignIn(w http.ResponseWriter, r *http.Request) {
	s.redirect(w, r, ownPath(r.URL.RequestURI()), false)
}

// redirect sends the browser to the issuer.
func (s *Sessions) redirect(w http.ResponseWriter, r *http.Request, back string, other bool) {
	config, _, err := s.config(r.Context())
	if err != nil {
		s.failed(w, back, err)
		return
	}
	f := flow{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: back,
		Ends: time.Now().Add(flowLife).Unix(),
	}
	value, err := s.flows.seal(f)
	if err != nil {
		s.failed(w, back, err)
		return
	}
	s.setCookie(w, &http.Cookie{
		Name: s.flowName(f.State), Value: value, Path: pathCallback, MaxAge: int(flowLife / time.Second),
	})
	options := []oauth2.AuthCodeOption{
		oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("nonce", f.Nonce),
	}
	if other {
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	page.Redirect(w, http.StatusFound, config.AuthCodeURL(f.State, options...))
}

// flowName returns the name of the cookie of a sign-in.
func (s *Sessions) flowName(state string) string {
	return s.flowPrefix + state[:min(len(state), flowNameBytes)]
}

// config returns the worker as a client of the issuer. Errors: as Ready.
func (s *Sessions) config(ctx context.Context) (*oauth2.Config, auth.Provider, error) {
	p, err := s.o.Gate.Provider(ctx)
	if err != nil {
		return nil, p, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, p, err
	}
	style := oauth2.AuthStyleInHeader
	if s.o.ClientSecret == "" || p.PostsSecret {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: s.clientID(), ClientSecret: s.o.ClientSecret, RedirectURL: s.origin + pathCallback,
		Scopes:   []string{"openid", "profile", "email"},
		Endpoint: oauth2.Endpoint{AuthURL: p.AuthorizationEndpoint, TokenURL: p.TokenEndpoint, AuthStyle: style},
	}, p, nil
}

// clientID returns the client that the worker is.
func (s *Sessions) clientID() string {
	if s.o.ClientID != "" {
		return s.o.ClientID
	}
	return s.origin + pathClient
}

// client serves the worker's client-ID metadata document, from which the issuer learns what it may redirect to.
func (s *Sessions) client(w http.ResponseWriter, r *http.Request) {
	if s.o.ClientID != "" {
		ingress.WriteError(w, r, http.StatusNotFound, "the worker is registered with the issuer")
		return
	}
	ingress.WriteJSON(w, http.StatusOK, map[string]any{
		"client_id": s.clientID(), "client_name": "tandem approvals", "client_uri": s.origin,
		"redirect_uris": []string{s.origin + pathCallback}, "grant_types": []string{"authorization_code"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none", "scope": "openid profile email",
	})
}

// Errors of a callback that a person may cause.
var (
	errNoFlow   = errors.New("the sign-in was not begun in this browser, or too long ago")
	errCanceled = errors.New("the sign-in was cancelled")
	errRefused  = errors.New("the issuer refused the sign-in")
)

// callback ends a sign-in: the issuer has sent the browser here.
func (s *Sessions) callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, err := s.flow(r, q.Get("state"))
	if err != nil {
		s.failed(w, "/", err)
		return
	}
	s.setCookie(w, &http.Cookie{Name: s.flowName(f.State), Path: pathCallback, MaxAge: -1}) // one answer to each
	account, organization, err := s.exchange(r.Context(), f, q)
	if err != nil {
		s.failed(w, f.Return, err)
		return
	}
	if v := s.o.Gate.Member(r.Context(), account, organization); v.Outcome == auth.OutcomeNoOrganization {
		s.message(w, http.StatusForbidden, page.Message{
			Head: page.Head{Title: "No organization"}, Tone: "bad",
			Text:  "You have signed in, but " + v.Description + ". Ask somebody in your organization to add you.",
			Links: []page.Link{{Text: "Use another account", URL: s.SignInURL(f.Return, true)}},
		})
		return
	}
	if err := s.begin(w, account, organization); err != nil {
		s.failed(w, f.Return, err)
		return
	}
	page.Redirect(w, http.StatusSeeOther, f.Return)
}

// flow returns the sign-in of this browser that has a state. Errors: errNoFlow.
func (s *Sessions) flow(r *http.Request, state string) (flow, error) {
	var f flow
	c, err := r.Cookie(s.flowName(state))
	if err != nil || s.flows.open(c.Value, &f) != nil || time.Now().Unix() >= f.Ends ||
		subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1 {
		return flow{}, errNoFlow
	}
	return f, nil
}

// exchange returns the account behind the issuer's answer. Errors: errCanceled, errRefused, auth.ErrSignIn, ErrNoClient;
// every other one means that it cannot be told.
func (s *Sessions) exchange(
	ctx context.Context, f flow, answer url.Values,
) (accountID, organizationID string, err error) {
	config, provider, err := s.config(ctx)
	if err != nil {
		return "", "", err
	}
	// Like RFC 9207: an answer of another issuer must not be taken for this one's.
	if iss := answer.Get("iss"); iss != s.issuer && (iss != "" || provider.NamesItself) {
		return "", "", errRefused
	}
	switch code := answer.Get("error"); {
	case code == "access_denied":
		return "", "", errCanceled
	case code != "" || answer.Get("code") == "":
		s.o.Log.Warn("sign-in refused by the issuer", "reason", strings.ToValidUTF8(code[:min(len(code), 64)], ""))
		return "", "", errRefused
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, s.o.Gate.Client()), exchangeTimeout)
	defer cancel()
	token, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if refusal := (*oauth2.RetrieveError)(nil); errors.As(err, &refusal) && refusal.Response.StatusCode < 500 {
		s.o.Log.Warn("code refused by the issuer", "reason", refusal.ErrorCode)
		return "", "", errRefused
	}
	if err != nil {
		return "", "", err
	}
	id, _ := token.Extra("id_token").(string)
	return s.o.Gate.VerifySignIn(ctx, auth.SignIn{
		IDToken: id, AccessToken: token.AccessToken, ClientID: config.ClientID, Nonce: f.Nonce,
	})
}

// failed says why a sign-in did not work, and how to try again.
func (s *Sessions) failed(w http.ResponseWriter, back string, err error) {
	m := page.Message{Head: page.Head{Title: "Not signed in"}, Tone: "bad"}
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, ErrNoClient):
		s.o.Log.Error("browser sign-in is not set up", "err", err)
		status, m.Title = http.StatusNotImplemented, "Sign-in is not set up"
		m.Text = "Nobody can sign in to this worker with a browser yet. Its operator must register it with the identity " +
			"provider and start it with --web-client-id."
		s.message(w, status, m)
		return
	case errors.Is(err, errNoFlow):
		m.Text = "This sign-in was not begun in this browser, or too long ago. Open the address of the page again."
	case errors.Is(err, errCanceled):
		m.Title, m.Text = "Sign-in cancelled", "You did not allow it, so nobody is signed in here."
	case errors.Is(err, errRefused):
		m.Text = "The identity provider did not accept this sign-in. Please try again."
	case errors.Is(err, auth.ErrSignIn):
		s.o.Log.Error("sign-in not valid", "err", err)
		m.Text = "The identity provider's answer is not valid here. Please tell this worker's operator."
	default:
		s.o.Log.Warn("sign-in failed", "err", err)
		status, m.Text = http.StatusServiceUnavailable, "The identity provider cannot be reached. Please try again."
	}
	if back != "/" {
		m.Links = []page.Link{{Text: "Try again", URL: s.SignInURL(back, false)}}
	}
	s.message(w, status, m)
}
