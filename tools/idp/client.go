package idp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tandem-do/tandem/tools/loopback"
)

// Bounds of a client's metadata.
const (
	maxRedirectURIs = 20
	maxURIBytes     = 2048
	maxTextBytes    = 200
)

// client is an OAuth client's metadata, in the form of RFC 7591. All clients are public.
type client struct {
	ID                      string   `json:"client_id"`
	IssuedAt                int64    `json:"client_id_issued_at,omitempty"`
	Name                    string   `json:"client_name,omitempty"`
	RedirectURIs            []string `json:"redirect_uris"`
	GrantTypes              []string `json:"grant_types"`
	ResponseTypes           []string `json:"response_types"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method"`
	Scope                   string   `json:"scope,omitempty"`
	ClientURI               string   `json:"client_uri,omitempty"`
	LogoURI                 string   `json:"logo_uri,omitempty"`
	PolicyURI               string   `json:"policy_uri,omitempty"`
	TosURI                  string   `json:"tos_uri,omitempty"`
	SoftwareID              string   `json:"software_id,omitempty"`
	SoftwareVersion         string   `json:"software_version,omitempty"`
}

// metadataError says what is wrong with a client's metadata; code is RFC 7591's.
type metadataError struct{ code, text string }

func (e *metadataError) Error() string { return e.text }

func badMetadata(format string, args ...any) error {
	return &metadataError{"invalid_client_metadata", fmt.Sprintf(format, args...)}
}

// validate checks metadata that somebody sent, and fills in the defaults. Errors: *metadataError.
func (c *client) validate() error {
	if n := len(c.RedirectURIs); n < 1 || n > maxRedirectURIs {
		return &metadataError{"invalid_redirect_uri",
			fmt.Sprintf("redirect_uris has %d entries, not 1 to %d", n, maxRedirectURIs)}
	}
	for i, uri := range c.RedirectURIs {
		if fault := redirectFault(uri); fault != "" {
			return &metadataError{"invalid_redirect_uri", fmt.Sprintf("redirect_uris[%d] %s", i, fault)}
		}
	}
	// A client that would like a secret is told by the answer that it is a public one: RFC 7591, section 2.
	methods := []string{"", "none", "client_secret_basic", "client_secret_post"}
	if !slices.Contains(methods, c.TokenEndpointAuthMethod) {
		return badMetadata("token_endpoint_auth_method must be none")
	}
	c.TokenEndpointAuthMethod = "none"
	if len(c.GrantTypes) == 0 {
		c.GrantTypes = []string{grantCode, grantRefresh}
	}
	for _, g := range c.GrantTypes {
		if g != grantCode && g != grantRefresh {
			return badMetadata("grant_types may hold %s and %s only", grantCode, grantRefresh)
		}
	}
	if len(c.GrantTypes) > 2 || !slices.Contains(c.GrantTypes, grantCode) {
		return badMetadata("grant_types must hold %s, and each type once", grantCode)
	}
	if len(c.ResponseTypes) == 0 {
		c.ResponseTypes = []string{"code"}
	}
	if !slices.Equal(c.ResponseTypes, []string{"code"}) {
		return badMetadata("response_types must be [\"code\"]")
	}
	return c.validateTexts()
}

// validateTexts checks the fields that are shown or handed back.
func (c *client) validateTexts() error {
	for _, f := range []struct{ name, value string }{
		{"client_name", c.Name}, {"software_id", c.SoftwareID}, {"software_version", c.SoftwareVersion},
	} {
		if len(f.value) > maxTextBytes || !utf8.ValidString(f.value) || strings.ContainsFunc(f.value, unprintable) {
			return badMetadata("%s must be printable text of at most %d bytes", f.name, maxTextBytes)
		}
	}
	if len(c.Scope) > maxURIBytes || strings.ContainsFunc(c.Scope, unprintable) {
		return badMetadata("scope must be printable text of at most %d bytes", maxURIBytes)
	}
	for _, f := range []struct{ name, value string }{
		{"client_uri", c.ClientURI}, {"logo_uri", c.LogoURI}, {"policy_uri", c.PolicyURI}, {"tos_uri", c.TosURI},
	} {
		u, err := url.Parse(f.value)
		if f.value != "" && (len(f.value) > maxURIBytes || err != nil || !isHTTP(u)) {
			return badMetadata("%s must be an http or https URL of at most %d bytes", f.name, maxURIBytes)
		}
	}
	return nil
}

// unprintable reports controls and the invisible characters that reorder text.
func unprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// redirectFault says what is wrong with a redirect URI, or nothing. Taken are https, http to this machine,
// and a native app's own scheme.
func redirectFault(uri string) string {
	if uri == "" || len(uri) > maxURIBytes {
		return fmt.Sprintf("must have 1 to %d bytes", maxURIBytes)
	}
	if strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError || r == '\\' }) {
		return "holds a space, a control character or a backslash"
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return "is not an absolute URL"
	}
	if u.Fragment != "" || strings.Contains(uri, "#") {
		return "has a fragment"
	}
	if u.User != nil {
		return "names a user"
	}
	switch u.Scheme {
	case "https":
		if u.Hostname() == "" {
			return "has no host"
		}
	case "http":
		if !loopback.IsHost(u.Hostname()) {
			return "is http to another machine; use https, or localhost"
		}
	case "javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source", "ws", "wss", "ftp",
		"mailto", "tel", "sms", "chrome", "resource", "jar":
		return "has a scheme that is no app's own"
	default:
		if u.Host == "" && u.Opaque == "" && strings.Trim(u.Path, "/") == "" {
			return "has nothing after its scheme"
		}
	}
	return ""
}

// allowsRedirect reports whether uri is one of the client's: the same text, or for http on this machine the
// same but for the port, which a native app cannot know in advance (RFC 8252, section 7.3).
func (c *client) allowsRedirect(uri string) bool {
	if slices.Contains(c.RedirectURIs, uri) {
		return true
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" || redirectFault(uri) != "" {
		return false
	}
	return slices.ContainsFunc(c.RedirectURIs, func(registered string) bool {
		r, err := url.Parse(registered)
		return err == nil && r.Scheme == "http" && strings.EqualFold(r.Hostname(), u.Hostname()) &&
			r.EscapedPath() == u.EscapedPath() && r.RawQuery == u.RawQuery
	})
}

// displayName is what the consent page calls the client.
func (c *client) displayName() string {
	if strings.TrimSpace(c.Name) != "" {
		return c.Name
	}
	return c.ID
}
