package idp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

const (
	accessLife = time.Hour
	// The header types of the two kinds of token; RFC 9068 names the first, so that one cannot pass for the
	// other.
	typeAccess = "at+jwt"
	typeID     = "JWT"
)

// tokenError is a refusal at the token endpoint; code is RFC 6749's.
type tokenError struct {
	status     int
	code, text string
}

func (e *tokenError) Error() string { return e.text }

func refuse(code, text string) error { return &tokenError{http.StatusBadRequest, code, text} }

// tokenReply is RFC 6749's answer.
type tokenReply struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`
	IDToken      string `json:"id_token,omitempty"`
}

// token is the token endpoint: codes and refresh tokens for access tokens.
func (s *server) token(w http.ResponseWriter, r *http.Request) {
	reply, err := s.answerToken(r, time.Now())
	var bad *tokenError
	switch {
	case err == nil:
		w.Header().Set("Pragma", "no-cache")
		writeJSON(w, http.StatusOK, reply)
	case errors.As(err, &bad):
		writeOAuthError(w, bad.status, bad.code, bad.text)
	case errors.Is(err, errNoSuchGrant):
		writeOAuthError(w, http.StatusBadRequest, "invalid_grant",
			"the grant is unknown, expired, revoked or another client's")
	case errors.Is(err, errReused):
		s.log.Warn("a code or refresh token was used again; its tokens are revoked")
		writeOAuthError(w, http.StatusBadRequest, "invalid_grant", "the grant was used before")
	default:
		s.log.Error("token request failed", "err", err)
		writeOAuthError(w, http.StatusInternalServerError, "server_error", "the tokens could not be issued")
	}
}

// answerToken does what the token endpoint is asked. Errors: *tokenError, errNoSuchGrant, errReused, and
// those of the database.
func (s *server) answerToken(r *http.Request, now time.Time) (*tokenReply, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/x-www-form-urlencoded" {
		return nil, refuse("invalid_request", "the content type must be application/x-www-form-urlencoded")
	}
	if err := r.ParseForm(); err != nil {
		return nil, refuse("invalid_request", "the body is not a form of at most 64 KiB")
	}
	form := r.PostForm
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return nil, refuse("invalid_request", "a parameter is there more than once")
		}
	}
	id := form.Get("client_id")
	if id == "" {
		return nil, refuse("invalid_request", "client_id is missing")
	}
	c, err := s.clientOf(r.Context(), id)
	if bad := (*metadataError)(nil); errors.Is(err, errUnknownClient) || errors.As(err, &bad) {
		return nil, &tokenError{http.StatusUnauthorized, "invalid_client", "the client is not known"}
	}
	if err != nil {
		return nil, err
	}
	if !s.knownResources(form["resource"]) {
		return nil, refuse("invalid_target", "the only resource is "+s.audience)
	}
	switch form.Get("grant_type") {
	case grantCode:
		return s.answerCode(r, c, form, now)
	case grantRefresh:
		return s.answerRefresh(r, c, form, now)
	case "":
		return nil, refuse("invalid_request", "grant_type is missing")
	}
	return nil, refuse("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
}

// answerCode gives tokens for a code.
func (s *server) answerCode(r *http.Request, c *client, form url.Values, now time.Time) (*tokenReply, error) {
	code, verifier := form.Get("code"), form.Get("code_verifier")
	if code == "" {
		return nil, refuse("invalid_request", "code is missing")
	}
	if !isVerifier(verifier) {
		return nil, refuse("invalid_request", "code_verifier must be 43 to 128 letters, digits, or - . _ ~")
	}
	check := func(g grant) error {
		sum := sha256.Sum256([]byte(verifier))
		challenge := base64.RawURLEncoding.EncodeToString(sum[:])
		switch {
		case g.ClientID != c.ID:
			return errNoSuchGrant
		case subtle.ConstantTimeCompare([]byte(challenge), []byte(g.Challenge)) != 1:
			return refuse("invalid_grant", "code_verifier does not match the code_challenge")
		case form.Get("redirect_uri") != g.RedirectURI && (g.RedirectGiven || form.Has("redirect_uri")):
			return refuse("invalid_grant", "redirect_uri is not the one of the authorization request")
		}
		return nil
	}
	g, refresh, err := s.db.useCode(r.Context(), code, now, check)
	if err != nil {
		return nil, err
	}
	return s.issue(g, g.Scope, refresh, now)
}

// answerRefresh gives tokens for a refresh token, and the next refresh token with them.
func (s *server) answerRefresh(r *http.Request, c *client, form url.Values, now time.Time) (*tokenReply, error) {
	token := form.Get("refresh_token")
	if token == "" {
		return nil, refuse("invalid_request", "refresh_token is missing")
	}
	narrow := form.Get("scope")
	check := func(g grant) error {
		if g.ClientID != c.ID {
			return errNoSuchGrant
		}
		for name := range strings.FieldsSeq(narrow) {
			if !hasScope(g.Scope, name) {
				return refuse("invalid_scope", "the scope is more than was granted")
			}
		}
		return nil
	}
	g, next, err := s.db.useRefresh(r.Context(), token, now, check)
	if err != nil {
		return nil, err
	}
	scope := g.Scope
	if strings.TrimSpace(narrow) != "" {
		scope = keepScopes(g.Scope, narrow)
	}
	return s.issue(g, scope, next, now)
}

// issue makes the tokens that g stands for, with the scope given.
func (s *server) issue(g grant, scope, refresh string, now time.Time) (*tokenReply, error) {
	claims := jwt.MapClaims{
		"iss": s.issuer, "sub": g.AccountID, "org_id": g.OrgID, "email": g.Email, "iat": now.Unix(),
		"exp": now.Add(accessLife).Unix(),
	}
	access := withClaims(claims, jwt.MapClaims{
		"aud": s.audience, "jti": uuid.NewString(), "client_id": g.ClientID, "scope": scope,
	})
	reply := &tokenReply{
		TokenType: "Bearer", ExpiresIn: int(accessLife / time.Second), RefreshToken: refresh, Scope: scope,
	}
	var err error
	if reply.AccessToken, err = s.key.sign(typeAccess, access); err != nil {
		return nil, err
	}
	if hasScope(scope, scopeOpenID) {
		id := withClaims(claims, jwt.MapClaims{"aud": g.ClientID, "auth_time": g.AuthTime, "email_verified": true})
		if g.Nonce != "" {
			id["nonce"] = g.Nonce
		}
		if reply.IDToken, err = s.key.sign(typeID, id); err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// withClaims returns the claims of both.
func withClaims(a, b jwt.MapClaims) jwt.MapClaims {
	for name, value := range a {
		if _, ok := b[name]; !ok {
			b[name] = value
		}
	}
	return b
}

// knownResources reports whether every resource is the audience, with or without a trailing slash.
func (s *server) knownResources(resources []string) bool {
	for _, r := range resources {
		if strings.TrimSuffix(r, "/") != strings.TrimSuffix(s.audience, "/") {
			return false
		}
	}
	return true
}

// isVerifier reports whether v is a code verifier as RFC 7636 defines it.
func isVerifier(v string) bool {
	return len(v) >= 43 && len(v) <= 128 && !strings.ContainsFunc(v, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r))
	})
}

// keepScopes returns those of the known scopes that both lists hold, in the order in which they are shown.
func keepScopes(a, b string) string {
	var kept []string
	for _, s := range scopes {
		if hasScope(a, s.name) && hasScope(b, s.name) {
			kept = append(kept, s.name)
		}
	}
	return strings.Join(kept, " ")
}
