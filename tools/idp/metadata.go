package idp

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// metadata serves RFC 8414's and OpenID Connect's documents, which are one.
func (s *server) metadata(w http.ResponseWriter, _ *http.Request) {
	names := make([]string, len(scopes))
	for i, sc := range scopes {
		names[i] = sc.name
	}
	w.Header().Set("Cache-Control", "max-age=60")
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                         s.issuer,
		"authorization_endpoint":                         s.issuer + pathAuthorize,
		"token_endpoint":                                 s.issuer + pathToken,
		"registration_endpoint":                          s.issuer + pathRegister,
		"jwks_uri":                                       s.issuer + pathJWKS,
		"userinfo_endpoint":                              s.issuer + pathUserinfo,
		"scopes_supported":                               names,
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{grantCode, grantRefresh},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{algorithm},
		"prompt_values_supported":                        []string{"none", "login", "consent", "select_account"},
		"claims_supported":                               []string{"sub", "email", "email_verified", "org_id"},
	})
}

// jwks serves the public key.
func (s *server) jwks(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "max-age=60")
	writeJSON(w, http.StatusOK, s.key.set)
}

// register is RFC 7591's dynamic registration, open to everyone.
func (s *server) register(w http.ResponseWriter, r *http.Request) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		writeOAuthError(w, http.StatusUnsupportedMediaType, "invalid_client_metadata",
			"the content type must be application/json")
		return
	}
	body, err := io.ReadAll(r.Body)
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		writeOAuthError(w, http.StatusRequestEntityTooLarge, "invalid_client_metadata", "the body is over 64 KiB")
		return
	}
	var c client
	if err != nil || json.Unmarshal(body, &c) != nil {
		writeOAuthError(w, http.StatusBadRequest, "invalid_client_metadata",
			"the body is not a JSON object of client metadata")
		return
	}
	if err := c.validate(); err != nil {
		var bad *metadataError
		errors.As(err, &bad)
		writeOAuthError(w, http.StatusBadRequest, bad.code, bad.text)
		return
	}
	c.ID, c.IssuedAt = "client_"+uuid.NewString(), time.Now().Unix()
	if err := s.db.addClient(r.Context(), &c); err != nil {
		s.log.Error("registering a client failed", "err", err)
		writeOAuthError(w, http.StatusInternalServerError, "server_error", "the client could not be kept")
		return
	}
	writeJSON(w, http.StatusCreated, &c)
}

// userinfo tells the bearer of an access token who it stands for.
func (s *server) userinfo(w http.ResponseWriter, r *http.Request) {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeOAuthError(w, http.StatusUnauthorized, "invalid_token", "an access token is needed")
		return
	}
	claims, err := s.key.verify(strings.TrimSpace(token), s.issuer)
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeOAuthError(w, http.StatusUnauthorized, "invalid_token", "the access token is not valid, or has expired")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"sub": claims["sub"], "email": claims["email"], "email_verified": true, "org_id": claims["org_id"],
	})
}
