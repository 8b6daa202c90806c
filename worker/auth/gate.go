package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/worker/directory"
)

// Members is what the gate asks the directory: see directory.Directory.
type Members interface {
	// Organization returns a membership. Errors: directory.ErrNotMember, directory.ErrUnavailable.
	Organization(ctx context.Context, accountID, organizationID string) (directory.Membership, error)
}

// Options say how a Gate works.
type Options struct {
	// PublicURL is the worker's origin, such as http://127.0.0.1:8787.
	PublicURL string
	// Issuer is the authorization server's identifier: an absolute URL, exactly as its tokens have it.
	Issuer string
	// Audience is what tokens must be for. Default: the MCP endpoint, <PublicURL>/mcp.
	Audience string
	// Members is the directory.
	Members Members
	// Client fetches keys and metadata; nil means one of the gate's own.
	Client *http.Client
}

// Validate reports every value that is wrong.
func (o Options) Validate() error {
	var errs []error
	if u, err := url.Parse(o.PublicURL); err != nil || !isOrigin(u) {
		errs = append(errs, fmt.Errorf("public URL %q is not an http or https origin such as http://127.0.0.1:8787",
			o.PublicURL))
	}
	if u, err := url.Parse(o.Issuer); err != nil || !isHTTP(u) || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("issuer %q is not an absolute http or https URL", o.Issuer))
	}
	return errors.Join(errs...)
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func isOrigin(u *url.URL) bool {
	return isHTTP(u) && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}

// Gate authenticates requests. Close it to end its connections.
type Gate struct {
	resources resources
	issuer    *issuer
	verifier  *verifier
	members   Members
	client    *http.Client
	relay     *relay
}

// NewGate returns a gate. Nothing is fetched before it is needed.
func NewGate(o Options) (*Gate, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	client := o.Client
	if client == nil {
		client = newClient()
	}
	res := newResources(o.PublicURL)
	iss := newIssuer(o.Issuer, client)
	return &Gate{
		resources: res,
		issuer:    iss,
		verifier:  newVerifier(o.Issuer, res.audiences(o.Audience), newKeySet(iss)),
		members:   o.Members,
		client:    client,
		relay:     &relay{issuer: iss},
	}, nil
}

// newClient returns a client with connections of its own, so that Close can end them.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2
	return &http.Client{Transport: t, Timeout: fetchTimeout}
}

// Close ends idle connections to the issuer.
func (g *Gate) Close() { g.client.CloseIdleConnections() }

// Host returns the host name of the worker's public URL.
func (g *Gate) Host() string { return g.resources.host }

// Issuer returns the authorization server's identifier.
func (g *Gate) Issuer() string { return g.issuer.id }

// Origin returns the worker's origin as the client addressed it.
func (g *Gate) Origin(r *http.Request) string { return g.resources.origin(r.Host) }

// Resource returns the absolute URL of the MCP endpoint as the client addressed it.
func (g *Gate) Resource(r *http.Request) string { return g.resources.origin(r.Host) + mcpPath }

// Identify says who makes a request with these headers.
func (g *Gate) Identify(ctx context.Context, h http.Header) Verdict {
	token, ok := bearer(h)
	if !ok {
		return Verdict{Outcome: OutcomeNoBearer}
	}
	who, err := g.verifier.verify(ctx, token)
	if err != nil {
		var invalid *invalidToken
		if errors.As(err, &invalid) {
			return Verdict{Outcome: OutcomeInvalidToken, Description: invalid.description, Err: err}
		}
		return Verdict{Outcome: OutcomeKeysUnavailable, Err: err}
	}
	return g.Member(ctx, who.accountID, who.organizationID)
}

// Member says who an account is that is known already, as Identify does for one whose token is good.
func (g *Gate) Member(ctx context.Context, accountID, organizationID string) Verdict {
	v := Verdict{AccountID: accountID, OrganizationID: organizationID}
	if organizationID == "" {
		v.Outcome, v.Description = OutcomeNoOrganization, "the account has none"
		v.Err = errors.New("the token names no organization")
		return v
	}
	m, err := g.members.Organization(ctx, accountID, organizationID)
	switch {
	case errors.Is(err, directory.ErrNotMember):
		v.Outcome, v.Description, v.Err = OutcomeNoOrganization, "the account is not a member of the one it names", err
	case err != nil:
		v.Outcome, v.Err = OutcomeDirectoryUnavailable, err
	default:
		v.Outcome = OutcomeVerified
		v.Identity = props.Identity{
			AccountID: accountID, OrganizationID: organizationID,
			OrganizationName: m.OrganizationName, Email: m.Email,
		}
	}
	return v
}

// bearer returns the token of the Authorization header. Several headers are joined, so that they make no valid
// token rather than a choice.
func bearer(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(strings.Join(values, ",")), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// Challenge sets the headers that go with a 401: where the resource's metadata is, and what is wrong with a token.
func (g *Gate) Challenge(w http.ResponseWriter, r *http.Request, v Verdict) {
	challenge := `Bearer resource_metadata="` + g.resources.origin(r.Host) + metadataPath + mcpPath + `"`
	if v.Outcome == OutcomeInvalidToken {
		challenge += `, error="invalid_token", error_description="` + v.Description + `"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
}
