package sources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

const (
	maxURLBytes    = 2048
	maxHeaderBytes = 100
)

// nameForm is that of a source's name: an identifier of JavaScript that a policy's pattern can have as a segment.
var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)

func invalid(format string, args ...any) error {
	return durableobject.Exception(props.ErrorNameInvalid, fmt.Sprintf(format, args...))
}

// checkName says what is wrong with a source's name.
func checkName(name string) error {
	switch {
	case !nameForm.MatchString(name):
		return invalid("name must be a letter and at most 39 letters, digits or underscores, not %.60q", name)
	case reservedSource(name) || reservedSegment(name):
		return invalid("name %q has another meaning; choose another", name)
	}
	return nil
}

// reservedSource reports whether a name is the first segment of a tool that is no source's.
func reservedSource(name string) bool {
	switch strings.ToLower(name) {
	case "executor", "search", "describe":
		return true
	}
	return false
}

// reservedSegment reports whether a path in a program cannot have a segment: the language reads it on every object.
func reservedSegment(name string) bool {
	switch name {
	case "then", "toJSON", "constructor", "prototype", "__proto__":
		return true
	}
	return false
}

// checkAddress says what is wrong with where a new source is.
func checkAddress(c *props.SourceCreate) error {
	switch c.Kind {
	case props.SourceMCP:
		if c.Document != "" || c.BaseURL != "" {
			return invalid("a source of kind mcp has a url, and neither document nor baseUrl")
		}
		return checkURL("url", c.URL)
	case props.SourceOpenAPI:
	default:
		return invalid("kind must be %q or %q, not %.60q", props.SourceMCP, props.SourceOpenAPI, c.Kind)
	}
	if (c.URL == "") == (c.Document == "") {
		return invalid("a source of kind openapi has a url or a document, one of them")
	}
	if len(c.Document) > props.MaxSourceDocumentBytes {
		return invalid("document has more than %d bytes", props.MaxSourceDocumentBytes)
	}
	if c.URL != "" {
		if err := checkURL("url", c.URL); err != nil {
			return err
		}
	}
	if c.BaseURL != "" {
		return checkURL("baseUrl", c.BaseURL)
	}
	return nil
}

func checkURL(field, text string) error {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURLBytes:
		return invalid("%s has more than %d bytes", field, maxURLBytes)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return invalid("%s must be an absolute http or https URL", field)
	case u.User != nil:
		return invalid("%s must not have a user or a password, which anybody could see; use auth", field)
	case u.Fragment != "":
		return invalid("%s must not have a fragment", field)
	}
	return nil
}

// checkAuth says what is wrong with credentials. It never shows the secret.
func (s *Sources) checkAuth(kind string, a *props.SourceCredentials) error {
	if a.Kind == "" {
		a.Kind = props.SourceAuthNone
	}
	if a.Kind != props.SourceAuthNone {
		if s.env.Sealer == nil {
			return invalid("this host keeps no secrets, so a source cannot have credentials")
		}
		if a.Secret == "" {
			return invalid("auth has no secret")
		}
		if len(a.Secret) > props.MaxSourceSecretBytes {
			return invalid("auth has a secret of more than %d bytes", props.MaxSourceSecretBytes)
		}
	}
	if a.Kind != props.SourceAuthHeader && a.Header != "" {
		return invalid("auth has a header, which goes with kind header alone")
	}
	switch a.Kind {
	case props.SourceAuthNone:
		if a.Secret != "" {
			return invalid("auth of kind none has a secret")
		}
	case props.SourceAuthBearer:
		return checkValue(a.Secret)
	case props.SourceAuthHeader:
		if len(a.Header) > maxHeaderBytes || !httpguts.ValidHeaderFieldName(a.Header) || ownHeader(a.Header) {
			return invalid("auth has a header %.60q, which cannot hold a secret", a.Header)
		}
		return checkValue(a.Secret)
	case props.SourceAuthOAuth:
		var fields map[string]json.RawMessage
		if kind != props.SourceMCP {
			return invalid("auth of kind oauth goes with a source of kind mcp")
		}
		if json.Unmarshal([]byte(a.Secret), &fields) != nil {
			return invalid("auth has credentials that are no JSON object")
		}
	default:
		return invalid("auth kind must be none, bearer, header or oauth, not %.60q", a.Kind)
	}
	return nil
}

func checkValue(secret string) error {
	if !httpguts.ValidHeaderFieldValue(secret) || strings.TrimSpace(secret) != secret {
		return invalid("auth has a secret with characters that a header cannot have, such as a line's end")
	}
	return nil
}

// ownHeader reports whether a header is the client's own business.
func ownHeader(name string) bool {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Accept", "Te", "Trailer", "Upgrade",
		"Last-Event-Id":
		return true
	}
	return strings.HasPrefix(name, "Mcp-") || strings.HasPrefix(name, "Proxy-")
}
