package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// fetchTimeout bounds everything that is fetched from the issuer.
	fetchTimeout = 5 * time.Second
	// maxDocumentBytes bounds a document of the issuer.
	maxDocumentBytes = 1 << 20
)

// issuer fetches the documents of the authorization server.
type issuer struct {
	id     string
	client *http.Client
	// oauth and openID are where its metadata may be: RFC 8414 and OpenID Connect Discovery.
	oauth, openID string
}

func newIssuer(id string, client *http.Client) *issuer {
	iss := &issuer{id: id, client: client}
	u, err := url.Parse(id)
	if err != nil {
		return iss // refused by Options.Validate
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.EscapedPath(), "/")
	iss.oauth = origin + "/.well-known/oauth-authorization-server" + path
	iss.openID = origin + path + "/.well-known/openid-configuration"
	return iss
}

// errNotThere is returned by get for an answer that is not 200.
var errNotThere = errors.New("document is not there")

// keys fetches the key set that the metadata names.
func (i *issuer) keys(ctx context.Context) (map[string][]jwt.VerificationKey, error) {
	doc, err := i.metadata(ctx, i.openID, i.oauth)
	if err != nil {
		return nil, err
	}
	var m struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(doc, &m); err != nil || m.JWKSURI == "" {
		return nil, errors.New("the issuer's metadata has no jwks_uri")
	}
	u, err := url.Parse(m.JWKSURI)
	if err != nil || !isHTTP(u) || (u.Scheme == "http" && strings.HasPrefix(i.id, "https:")) {
		return nil, errors.New("the issuer's jwks_uri is not an https URL")
	}
	body, err := i.get(ctx, m.JWKSURI)
	if err != nil {
		return nil, err
	}
	return parseKeys(body)
}

// metadata fetches the first of these documents that is there, and makes sure that it is this issuer's.
func (i *issuer) metadata(ctx context.Context, addresses ...string) ([]byte, error) {
	var err error
	for _, address := range addresses {
		var body []byte
		if body, err = i.get(ctx, address); errors.Is(err, errNotThere) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var m struct {
			Issuer string `json:"issuer"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, fmt.Errorf("parse the issuer's metadata: %w", err)
		}
		if m.Issuer != i.id {
			return nil, fmt.Errorf("the issuer's metadata is of %q, not of %q", m.Issuer, i.id)
		}
		return body, nil
	}
	return nil, err
}

// get fetches one document. Errors: errNotThere and those of the network.
func (i *issuer) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", address, err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := i.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch from the issuer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: %w: status %d", address, errNotThere, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", address, err)
	}
	if len(body) > maxDocumentBytes {
		return nil, fmt.Errorf("fetch %s: more than %d bytes", address, maxDocumentBytes)
	}
	return body, nil
}
