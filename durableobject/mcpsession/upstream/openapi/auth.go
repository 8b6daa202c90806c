package openapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Scheme is a way to send credentials.
type Scheme string

// The schemes.
const (
	SchemeNone   Scheme = ""
	SchemeBearer Scheme = "bearer"
	SchemeBasic  Scheme = "basic"
	SchemeAPIKey Scheme = "apiKey"
)

// Auth is a source's credentials. It prints, logs and marshals without its secret.
type Auth struct {
	// Scheme says how the secret is sent.
	Scheme Scheme
	// Secret is the bearer token, the password or the key.
	Secret string
	// User is the user's name of SchemeBasic.
	User string
	// Name and In say where SchemeAPIKey goes: the name of a "header", "query" parameter or "cookie".
	Name, In string
}

// String says which scheme it is.
func (a Auth) String() string { return "auth:" + string(a.Scheme) }

// GoString is String, for %#v.
func (a Auth) GoString() string { return a.String() }

// LogValue is String, for slog.
func (a Auth) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalJSON is String, quoted.
func (a Auth) MarshalJSON() ([]byte, error) { return json.Marshal(a.String()) }

func (a Auth) validate() error {
	switch a.Scheme {
	case SchemeNone:
		if a.Secret != "" {
			return errors.New("a secret needs a scheme: bearer, basic or apiKey")
		}
		return nil
	case SchemeBearer, SchemeBasic, SchemeAPIKey:
	default:
		return fmt.Errorf("unknown scheme of credentials %.40q: use bearer, basic or apiKey", string(a.Scheme))
	}
	if a.Secret == "" && a.Scheme != SchemeBasic {
		return fmt.Errorf("the scheme %s needs a secret", a.Scheme)
	}
	if len(a.Secret) > maxSecretBytes || len(a.User) > maxSecretBytes {
		return fmt.Errorf("the secret or the user's name is longer than %d bytes", maxSecretBytes)
	}
	if !httpguts.ValidHeaderFieldValue(a.Secret) || !httpguts.ValidHeaderFieldValue(a.User) {
		return errors.New("the secret holds characters that a header cannot")
	}
	if a.Scheme == SchemeBasic && strings.Contains(a.User, ":") {
		return errors.New("a user's name may not hold a colon")
	}
	if a.Scheme == SchemeAPIKey {
		return a.validateKey()
	}
	return nil
}

func (a Auth) validateKey() error {
	if a.In != inHeader && a.In != inQuery && a.In != inCookie {
		return fmt.Errorf("a key goes in header, query or cookie, not %.40q", a.In)
	}
	if a.Name == "" || a.In != inQuery && !httpguts.ValidHeaderFieldName(a.Name) {
		return fmt.Errorf("%.100q cannot be the name of a %s", a.Name, a.In)
	}
	if a.In == inHeader && ownHeader(a.Name) && !strings.EqualFold(a.Name, "Authorization") {
		return fmt.Errorf("the header %s cannot hold a key", a.Name)
	}
	if a.In == inCookie && strings.ContainsAny(a.Secret, "; ,\"\\") {
		return errors.New("the secret holds characters that a cookie cannot")
	}
	return nil
}

// covers says whether a parameter is what the credentials fill.
func (a Auth) covers(in, name string) bool {
	return a.Scheme == SchemeAPIKey && a.In == in &&
		(a.Name == name || in == inHeader && strings.EqualFold(a.Name, name))
}

// apply adds the credentials to a request.
func (a Auth) apply(req *http.Request) {
	switch a.Scheme {
	case SchemeNone:
	case SchemeBearer:
		req.Header.Set("Authorization", "Bearer "+a.Secret)
	case SchemeBasic:
		req.SetBasicAuth(a.User, a.Secret)
	case SchemeAPIKey:
		a.applyKey(req)
	}
}

func (a Auth) applyKey(req *http.Request) {
	switch a.In {
	case inHeader:
		req.Header.Set(a.Name, a.Secret)
	case inQuery:
		pair := url.QueryEscape(a.Name) + "=" + url.QueryEscape(a.Secret)
		if req.URL.RawQuery != "" {
			pair = req.URL.RawQuery + "&" + pair
		}
		req.URL.RawQuery = pair
	case inCookie:
		addCookie(req, a.Name+"="+a.Secret)
	}
}

// maxSecretBytes bounds a secret and a user's name.
const maxSecretBytes = 4 << 10

// minRedactedBytes is the shortest secret that is cut out of answers; a shorter one would cut what merely looks like it.
const minRedactedBytes = 8

// redactor cuts a secret out of what a server echoes, in the forms in which it was sent.
type redactor struct{ forms *strings.Replacer }

func newRedactor(a Auth) *redactor {
	if len(a.Secret) < minRedactedBytes {
		return &redactor{}
	}
	quoted, _ := json.Marshal(a.Secret) // a string always marshals
	inJSON := strings.Trim(string(quoted), `"`)
	seen, pairs := map[string]bool{}, []string(nil)
	for _, form := range []string{
		base64.StdEncoding.EncodeToString([]byte(a.User + ":" + a.Secret)),
		strings.ReplaceAll(inJSON, "/", `\/`), inJSON, url.QueryEscape(a.Secret), url.PathEscape(a.Secret), a.Secret,
	} {
		if !seen[form] {
			seen[form] = true
			pairs = append(pairs, form, "[secret]")
		}
	}
	return &redactor{forms: strings.NewReplacer(pairs...)}
}

// redact returns text without the secret.
func (r *redactor) redact(text []byte) []byte {
	if r.forms == nil {
		return text
	}
	return []byte(r.forms.Replace(string(text)))
}
