package idp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tandem-do/tandem/worker/directory"
)

// Bounds of browser sessions.
const (
	sessionLife  = 12 * time.Hour
	maxSessions  = 1024
	cookiePrefix = "tandem_idp_"
)

// sessions knows who is signed in at which browser. A browser has a session id from its first page on, since
// the form there needs one; the id changes when somebody signs in. The CSRF token of a session is a MAC of
// its id, so that nothing is kept for those who only look at a page.
type sessions struct {
	cookie string
	secure bool
	origin string
	mac    []byte
	users  *memory[directory.User]
}

// newSessions returns the sessions of a server at origin. Browsers share cookies among the ports of a host,
// so the cookie's name has the port in it.
func newSessions(origin string) *sessions {
	port := ""
	if u, err := url.Parse(origin); err == nil {
		port = u.Port()
	}
	return &sessions{
		cookie: cookiePrefix + port, secure: strings.HasPrefix(origin, "https:"), origin: origin,
		mac: []byte(newSecret()), users: newMemory[directory.User](maxSessions, sessionLife),
	}
}

// user returns who is signed in at the browser that sent r.
func (s *sessions) user(r *http.Request) (directory.User, bool) {
	id := s.id(r)
	if id == "" {
		return directory.User{}, false
	}
	return s.users.get(id)
}

// id returns the session id that r carries, if it is of the right length.
func (s *sessions) id(r *http.Request) string {
	c, err := r.Cookie(s.cookie)
	if err != nil || len(c.Value) != base64.RawURLEncoding.EncodedLen(32) {
		return ""
	}
	return c.Value
}

// csrf returns the token for a form on the page that answers r; the browser gets a session id if it has none.
func (s *sessions) csrf(w http.ResponseWriter, r *http.Request) string {
	id := s.id(r)
	if id == "" {
		id = newSecret()
		s.setCookie(w, id, int(sessionLife/time.Second))
	}
	return s.token(id)
}

func (s *sessions) token(id string) string {
	m := hmac.New(sha256.New, s.mac)
	m.Write([]byte(id))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// isGenuine reports whether a form was sent from a page of ours: the token is the session's, and the origin,
// where the browser names one, is the one that the page had.
func (s *sessions) isGenuine(r *http.Request) bool {
	id := s.id(r)
	if id == "" || !hmac.Equal([]byte(s.token(id)), []byte(r.PostFormValue("csrf"))) {
		return false
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == s.origin || strings.EqualFold(origin, "http://"+r.Host)
}

// signIn makes the user the one who is signed in, under a new session id.
func (s *sessions) signIn(w http.ResponseWriter, r *http.Request, u directory.User) {
	s.users.remove(s.id(r))
	id := newSecret()
	s.users.add(id, u)
	s.setCookie(w, id, int(sessionLife/time.Second))
}

// signOut forgets who is signed in.
func (s *sessions) signOut(w http.ResponseWriter, r *http.Request) {
	s.users.remove(s.id(r))
	s.setCookie(w, "", -1)
}

func (s *sessions) setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	})
}
