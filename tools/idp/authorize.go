package idp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tandem-do/tandem/worker/directory"
)

// maxParamBytes bounds each parameter of an authorization request; maxRequestBytes all of them together.
const (
	maxParamBytes   = 4 << 10
	maxRequestBytes = 16 << 10
)

// request is an authorization request whose client and redirect URI are good, so that errors may go there.
type request struct {
	client        *client
	redirectURI   string
	redirectGiven bool
	state         string
	scope         string
	challenge     string
	nonce         string
	loginHint     string
	// prompt holds the prompts that were asked for.
	prompt string
	// raw is the request as a query, which the pages carry along.
	raw string
}

// pageError is an error that is shown to the person, since there is no redirect URI that may be trusted.
type pageError struct {
	status int
	text   string
}

func (e *pageError) Error() string { return e.text }

// redirectError is an error that goes back to the client; code is RFC 6749's or OpenID Connect's.
type redirectError struct{ code, text string }

func (e *redirectError) Error() string { return e.text }

// parseRequest reads an authorization request. It returns a request with a *redirectError, and none with a
// *pageError.
func (s *server) parseRequest(ctx context.Context, form url.Values) (*request, error) {
	raw := form.Encode()
	if len(raw) > maxRequestBytes {
		return nil, &pageError{http.StatusBadRequest, "The authorization request is over 16 KiB."}
	}
	id := form.Get("client_id")
	if id == "" {
		return nil, &pageError{http.StatusBadRequest, "The authorization request names no client_id."}
	}
	c, err := s.clientOf(ctx, id)
	var bad *metadataError
	switch {
	case errors.Is(err, errUnknownClient):
		return nil, &pageError{http.StatusBadRequest, "No client with this client_id is registered here. " +
			"If the state of this server was removed, have the client register again."}
	case errors.As(err, &bad):
		return nil, &pageError{http.StatusBadRequest, "This client cannot be used: " + bad.text + "."}
	case err != nil:
		return nil, err
	}
	r := &request{client: c, raw: raw, redirectURI: form.Get("redirect_uri"), redirectGiven: form.Has("redirect_uri")}
	if !r.redirectGiven && len(c.RedirectURIs) == 1 {
		r.redirectURI = c.RedirectURIs[0]
	}
	if len(form["redirect_uri"]) > 1 || !c.allowsRedirect(r.redirectURI) {
		return nil, &pageError{http.StatusBadRequest, "The redirect_uri is not one that this client has registered."}
	}
	r.state = form.Get("state")
	return r, s.parseRest(r, form)
}

// parseRest reads what may be answered with a redirect. Errors: *redirectError.
func (s *server) parseRest(r *request, form url.Values) error {
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return &redirectError{"invalid_request", "a parameter is there more than once"}
		}
		if len(values[0]) > maxParamBytes {
			return &redirectError{"invalid_request", "a parameter is over 4 KiB"}
		}
	}
	if t := form.Get("response_type"); t != "code" {
		return &redirectError{"unsupported_response_type", "response_type must be code"}
	}
	if m := form.Get("response_mode"); m != "" && m != "query" {
		return &redirectError{"invalid_request", "response_mode must be query"}
	}
	r.challenge = form.Get("code_challenge")
	if form.Get("code_challenge_method") != "S256" || len(r.challenge) != 43 || !isVerifier(r.challenge) {
		return &redirectError{"invalid_request", "PKCE is required: code_challenge_method S256 and its code_challenge"}
	}
	if !s.knownResources(form["resource"]) {
		return &redirectError{"invalid_target", "the only resource is " + s.audience}
	}
	if form.Has("request") || form.Has("request_uri") {
		return &redirectError{"request_not_supported", "request objects are not supported"}
	}
	r.scope = grantedScope(form.Get("scope"), r.client)
	if r.scope == "" {
		return &redirectError{"invalid_scope", "none of the scopes is known"}
	}
	r.nonce, r.loginHint, r.prompt = form.Get("nonce"), form.Get("login_hint"), form.Get("prompt")
	if strings.TrimSpace(r.prompt) != "none" && hasScope(r.prompt, "none") {
		return &redirectError{"invalid_request", "prompt none goes with no other"}
	}
	return nil
}

// grantedScope returns the known scopes of those asked for; asked for none, all but offline_access. A client
// that does not use refresh tokens gets no offline_access.
func grantedScope(asked string, c *client) string {
	if strings.TrimSpace(asked) == "" {
		asked = "openid profile email"
	}
	var all []string
	for _, sc := range scopes {
		if sc.name == scopeOffline && !hasScope(strings.Join(c.GrantTypes, " "), grantRefresh) {
			continue
		}
		all = append(all, sc.name)
	}
	return keepScopes(strings.Join(all, " "), asked)
}

// prompts reports whether the request wants the person to sign in anew. A prompt for consent does not: clients send one
// with every request for offline_access, those that no person watches included.
func (r *request) prompts() bool {
	return hasScope(r.prompt, "login") || hasScope(r.prompt, "select_account")
}

// authorize is the authorization endpoint.
func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	req, ok := s.readRequest(w, r, func() (url.Values, error) {
		err := r.ParseForm()
		return r.Form, err
	})
	if !ok {
		return
	}
	if req.loginHint != "" && !req.prompts() {
		s.signInHeadless(w, r, req)
		return
	}
	_, signedIn := s.sessions.user(r)
	switch {
	case req.prompt == "none" && signedIn:
		s.redirectError(w, r, req, &redirectError{"consent_required", "the user has to be asked"})
	case req.prompt == "none":
		s.redirectError(w, r, req, &redirectError{"login_required", "nobody is signed in"})
	case signedIn && !req.prompts():
		s.showConsent(w, r, req)
	default:
		s.showSignIn(w, r, req, "")
	}
}

// signInHeadless answers a request with a login_hint: the user gets signed in, or made, without a page.
func (s *server) signInHeadless(w http.ResponseWriter, r *http.Request, req *request) {
	user, err := s.userOf(r.Context(), req.loginHint)
	switch {
	case errors.Is(err, directory.ErrInvalid):
		s.redirectError(w, r, req, &redirectError{"invalid_request", "login_hint is not an e-mail address"})
	case err != nil:
		s.log.Error("signing in failed", "err", err)
		s.redirectError(w, r, req, &redirectError{"temporarily_unavailable", "the directory of users cannot be reached"})
	default:
		s.redirectCode(w, r, req, user)
	}
}

// readRequest reads the authorization request from the form that get returns, and answers one that is bad.
func (s *server) readRequest(
	w http.ResponseWriter, r *http.Request, get func() (url.Values, error),
) (req *request, ok bool) {
	form, err := get()
	if err != nil {
		s.showError(w, http.StatusBadRequest, "The authorization request could not be read.")
		return nil, false
	}
	req, err = s.parseRequest(r.Context(), form)
	var page *pageError
	var redirect *redirectError
	switch {
	case err == nil:
		return req, true
	case errors.As(err, &page):
		s.showError(w, page.status, page.text)
	case errors.As(err, &redirect):
		s.redirectError(w, r, req, redirect)
	default:
		s.log.Error("authorization request failed", "err", err)
		s.showError(w, http.StatusInternalServerError, "Something went wrong here. Please try again.")
	}
	return nil, false
}

// redirectCode sends the client a code for the user.
func (s *server) redirectCode(w http.ResponseWriter, r *http.Request, req *request, user directory.User) {
	now := time.Now()
	code, err := s.db.addCode(r.Context(), grant{
		ClientID: req.client.ID, RedirectURI: req.redirectURI, RedirectGiven: req.redirectGiven,
		Challenge: req.challenge, Scope: req.scope, Nonce: req.nonce,
		AccountID: user.AccountID, OrgID: user.OrganizationID, Email: user.Email, AuthTime: now.Unix(),
	}, now)
	if err != nil {
		s.log.Error("keeping a code failed", "err", err)
		s.redirectError(w, r, req, &redirectError{"server_error", "the code could not be kept"})
		return
	}
	s.redirect(w, r, req, url.Values{"code": {code}})
}

// redirectError sends the client an error.
func (s *server) redirectError(w http.ResponseWriter, r *http.Request, req *request, e *redirectError) {
	s.redirect(w, r, req, url.Values{"error": {e.code}, "error_description": {e.text}})
}

// redirect sends the browser back to the client with the answer, the state and the issuer (RFC 9207).
func (s *server) redirect(w http.ResponseWriter, r *http.Request, req *request, answer url.Values) {
	if req.state != "" {
		answer.Set("state", req.state)
	}
	answer.Set("iss", s.issuer)
	target, err := withQuery(req.redirectURI, answer)
	if err != nil {
		s.log.Error("building the redirect failed", "err", err)
		s.showError(w, http.StatusInternalServerError, "Something went wrong here. Please try again.")
		return
	}
	setPageHeaders(w)
	// The location is set by hand: http.Redirect would clean the path, and write a body with the code.
	w.Header().Set("Location", target)
	status := http.StatusFound
	if r.Method == http.MethodPost {
		status = http.StatusSeeOther
	}
	w.WriteHeader(status)
}

// withQuery adds parameters to a URI that may have some, and leaves those as they are.
func withQuery(uri string, add url.Values) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("parse redirect uri: %w", err)
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += add.Encode()
	return u.String(), nil
}
