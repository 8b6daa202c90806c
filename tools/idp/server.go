package idp

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/tandem-do/tandem/worker/directory"
)

// Endpoints, below the issuer.
const (
	pathAuthorize = "/authorize"
	pathConsent   = "/consent"
	pathSignIn    = "/signin"
	pathSignOut   = "/signout"
	pathToken     = "/token"
	pathRegister  = "/register"
	pathJWKS      = "/jwks"
	pathUserinfo  = "/userinfo"
	pathMetadata  = "/.well-known/oauth-authorization-server"
	pathOpenID    = "/.well-known/openid-configuration"
)

// Grant types, and scopes that mean something here.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"

	scopeOpenID  = "openid"
	scopeOffline = "offline_access"
)

// scopes are those that a client may have, in the order in which they are shown, each with what it means.
var scopes = [...]struct{ name, meaning string }{
	{scopeOpenID, "Know which account is yours"},
	{"profile", "See the name of your organization"},
	{"email", "See your e-mail address"},
	{scopeOffline, "Stay signed in until you revoke it, or for 30 days without use"},
}

// maxFormBytes bounds every request's body.
const maxFormBytes = 64 << 10

// server answers the requests.
type server struct {
	issuer, audience string
	key              *signingKey
	db               *store
	dir              directory.Directory
	documents        *documents
	sessions         *sessions
	pages            *template.Template
	log              *slog.Logger
}

func newServer(o Options, key *signingKey, db *store, dir directory.Directory) (*server, error) {
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	return &server{
		issuer: o.PublicURL, audience: o.Audience, key: key, db: db, dir: dir,
		documents: newDocuments(), sessions: newSessions(o.PublicURL), pages: pages, log: o.Log,
	}, nil
}

// publicHost is the issuer's host, in lower case.
func (s *server) publicHost() string {
	u, err := url.Parse(s.issuer)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathAuthorize, s.authorize)
	mux.HandleFunc("POST "+pathAuthorize, s.authorize)
	mux.HandleFunc("POST "+pathSignIn, s.signIn)
	mux.HandleFunc("GET "+pathConsent, s.consent)
	mux.HandleFunc("POST "+pathConsent, s.decide)
	mux.HandleFunc("POST "+pathSignOut, s.signOut)
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /style.css", serveStyle)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	for path, h := range map[string]http.HandlerFunc{
		"GET " + pathMetadata: s.metadata, "GET " + pathOpenID: s.metadata, "GET " + pathJWKS: s.jwks,
		"POST " + pathToken: s.token, "POST " + pathRegister: s.register,
		"GET " + pathUserinfo: s.userinfo, "POST " + pathUserinfo: s.userinfo,
	} {
		mux.Handle(path, withCORS(h))
	}
	for _, path := range []string{pathMetadata, pathOpenID, pathJWKS, pathToken, pathRegister, pathUserinfo} {
		mux.HandleFunc("OPTIONS "+path, preflight)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
		mux.ServeHTTP(w, r)
	})
}

// withCORS lets pages of any origin read what h answers: clients in browsers use these endpoints, and none
// of them looks at cookies.
func withCORS(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "WWW-Authenticate")
		h.ServeHTTP(w, r)
	})
}

func preflight(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "content-type, authorization, accept, mcp-protocol-version")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// clientOf returns the client with this id: a registered one, or the one that the document at that URL
// describes. Errors: errUnknownClient, *metadataError, and those of the database.
func (s *server) clientOf(ctx context.Context, id string) (*client, error) {
	if isDocumentURL(id) {
		return s.documents.client(ctx, id)
	}
	return s.db.client(ctx, id)
}

// userOf returns the user with this address; one that nobody has used gets a user and an organization.
func (s *server) userOf(ctx context.Context, email string) (directory.User, error) {
	u, err := s.dir.FindUserByEmail(ctx, email)
	if errors.Is(err, directory.ErrUserNotFound) {
		return s.dir.CreateUserWithOrganization(ctx, directory.NewUser{Email: email})
	}
	return u, err
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// writeOAuthError writes an error in the form of RFC 6749, section 5.2.
func writeOAuthError(w http.ResponseWriter, status int, code, description string) {
	writeJSON(w, status, map[string]string{"error": code, "error_description": description})
}
