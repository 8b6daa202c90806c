package websession

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/page"
)

const (
	// sessionLife is how long somebody stays signed in.
	sessionLife = 8 * time.Hour
	// maxFormBytes bounds the body of a form.
	maxFormBytes = 4 << 10
	// maxPathBytes bounds the path to which a sign-in returns.
	maxPathBytes = 2048
)

// Options say how sessions work.
type Options struct {
	// Gate knows the issuer and the directory.
	Gate *auth.Gate
	// PublicURL is the worker's origin, such as http://127.0.0.1:8787.
	PublicURL string
	// ClientID is the worker as a client of the issuer. Empty: the address of its client-ID metadata document.
	ClientID string
	// ClientSecret goes with ClientID, if the issuer gave one.
	ClientSecret string
	// Key seals the sessions: 32 bytes, see OpenKey. Nil: a random one, so that sessions end with the process.
	Key []byte
	// Log takes what a person must look at; nil discards it.
	Log *slog.Logger
}

// Sessions knows who is signed in at which browser.
type Sessions struct {
	o      Options
	issuer string
	origin string
	secure bool
	// cookie is the name of the session's cookie, flowPrefix how those of sign-ins begin.
	cookie, flowPrefix string
	sessions, flows    *sealer
	protection         *http.CrossOriginProtection
	pages              *page.Set
	// ready is set once it is known that the issuer takes the worker as a client.
	ready atomic.Bool
}

// New returns the sessions of a worker. Errors: a key that is none, a public URL that is no origin.
func New(o Options) (*Sessions, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Key == nil {
		o.Key = randomKey()
	}
	if len(o.Key) != keyBytes {
		return nil, ErrKey
	}
	s := &Sessions{
		o: o, issuer: o.Gate.Issuer(), origin: strings.TrimRight(o.PublicURL, "/"),
		protection: http.NewCrossOriginProtection(),
	}
	u, err := url.Parse(s.origin)
	if err != nil {
		return nil, fmt.Errorf("public URL: %w", err)
	}
	s.secure = u.Scheme == "https"
	// Browsers share cookies among the ports of a host, so the names have the port in them. The prefixes bind a cookie to
	// this host and to https, in the browser.
	s.cookie, s.flowPrefix = "tandem_session_"+u.Port(), "tandem_signin_"+u.Port()+"_"
	if s.secure {
		s.cookie, s.flowPrefix = "__Host-"+s.cookie, "__Secure-"+s.flowPrefix
	}
	if s.pages, err = page.Parse(nil); err != nil {
		return nil, err
	}
	var errs [3]error
	s.sessions, errs[0] = newSealer(o.Key, "session", s.issuer)
	s.flows, errs[1] = newSealer(o.Key, "sign-in", s.issuer)
	errs[2] = s.protection.AddTrustedOrigin(s.origin) // a proxy may have changed the host of the request
	return s, errors.Join(errs[:]...)
}

// session is what the session cookie holds.
type session struct {
	Account      string `json:"a"`
	Organization string `json:"o"`
	CSRF         string `json:"c"`
	// Ends is in Unix seconds.
	Ends int64 `json:"x"`
}

// Visitor is somebody who is signed in.
type Visitor struct {
	// Verdict says who it is, as for a bearer token.
	auth.Verdict
	csrf string
}

// Visitor returns who is signed in at the browser that sent r, false for nobody.
func (s *Sessions) Visitor(r *http.Request) (Visitor, bool) {
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return Visitor{}, false
	}
	var in session
	if s.sessions.open(c.Value, &in) != nil || time.Now().Unix() >= in.Ends {
		return Visitor{}, false
	}
	return Visitor{s.o.Gate.Member(r.Context(), in.Account, in.Organization), in.CSRF}, true
}

// Identify says who is signed in at the browser that sent r: OutcomeNoBearer for nobody.
func (s *Sessions) Identify(r *http.Request) auth.Verdict {
	v, ok := s.Visitor(r)
	if !ok {
		return auth.Verdict{Outcome: auth.OutcomeNoBearer}
	}
	return v.Verdict
}

// Name returns what a person is called: the e-mail address, or the account.
func (v Visitor) Name() string {
	if v.Identity.Email != "" {
		return v.Identity.Email
	}
	return v.AccountID
}

// Head returns the head of a page for a visitor.
func (s *Sessions) Head(title string, v Visitor) page.Head {
	return page.Head{Title: title, Account: v.Name(), SignOut: pathSignOut, CSRF: v.csrf}
}

var (
	errNoOrigin = errors.New("the browser does not say where the request comes from")
	errOldForm  = errors.New("the form is out of date")
)

// CheckOrigin refuses a request that changes something and does not come from a page of this worker. It must be asked
// before a cookie counts.
func (s *Sessions) CheckOrigin(r *http.Request) error {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !safe && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return errNoOrigin
	}
	return s.protection.Check(r)
}

// CheckForm reads a form of a page that was made with Head, and refuses one that comes from elsewhere or is of another
// session.
func (s *Sessions) CheckForm(w http.ResponseWriter, r *http.Request, v Visitor) error {
	if err := s.CheckOrigin(r); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("read form: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("csrf")), []byte(v.csrf)) != 1 {
		return errOldForm
	}
	return nil
}

// begin makes the session of somebody who has signed in.
func (s *Sessions) begin(w http.ResponseWriter, account, organization string) error {
	value, err := s.sessions.seal(session{
		Account: account, Organization: organization, CSRF: rand.Text(), Ends: time.Now().Add(sessionLife).Unix(),
	})
	if err != nil {
		return err
	}
	s.setCookie(w, &http.Cookie{Name: s.cookie, Value: value, Path: "/", MaxAge: int(sessionLife / time.Second)})
	return nil
}

// signOut takes the form that ends a session.
func (s *Sessions) signOut(w http.ResponseWriter, r *http.Request) {
	// A form from elsewhere comes without the cookie, and the answer would remove that all the same.
	err := s.CheckOrigin(r)
	if v, ok := s.Visitor(r); ok && err == nil {
		err = s.CheckForm(w, r, v)
	}
	if err != nil {
		s.message(w, http.StatusForbidden, page.Message{
			Head: page.Head{Title: "Not signed out"}, Tone: "bad",
			Text: "This form is out of date. Reload the page and try again.",
		})
		return
	}
	s.setCookie(w, &http.Cookie{Name: s.cookie, Path: "/", MaxAge: -1})
	s.message(w, http.StatusOK, page.Message{
		Head: page.Head{Title: "Signed out"}, Text: "You are signed out here. Your sign-in service may still know you.",
	})
}

// setCookie sets a cookie as all cookies here are: for the server only, and not for requests from other sites.
func (s *Sessions) setCookie(w http.ResponseWriter, c *http.Cookie) {
	c.HttpOnly, c.Secure, c.SameSite = true, s.secure, http.SameSiteLaxMode
	http.SetCookie(w, c)
}

// message answers with a message.
func (s *Sessions) message(w http.ResponseWriter, status int, m page.Message) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	if err := s.pages.Write(w, status, "message", m); err != nil {
		s.o.Log.Error("page failed", "err", err)
	}
}

// Elsewhere sends a browser that has come by another name of this machine to the worker's own origin, where cookies and
// the sign-in are, and reports whether it did.
func (s *Sessions) Elsewhere(w http.ResponseWriter, r *http.Request) bool {
	if s.o.Gate.Origin(r) == s.origin || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
		return false
	}
	page.Redirect(w, http.StatusFound, s.origin+ownPath(r.URL.RequestURI()))
	return true
}

// ownPath returns a path with its query if it leads to this worker and nowhere else, and "/" if not.
func ownPath(p string) string {
	u, err := url.Parse(p)
	if err != nil || len(p) > maxPathBytes || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return "/"
	}
	foreign := func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.ContainsFunc(p, foreign) {
		return "/"
	}
	return p
}

// ErrNoClient is returned by Ready if people cannot sign in at a browser, since the worker is no client of the issuer.
var ErrNoClient = errors.New("the worker is no client of the issuer, which takes no client-ID metadata documents: " +
	"register it there and give it --web-client-id")

// Ready returns nil if people can sign in at a browser. Errors: ErrNoClient; every other one means that it cannot be told
// at the moment.
func (s *Sessions) Ready(ctx context.Context) error {
	if s.o.ClientID != "" || s.ready.Load() {
		return nil
	}
	p, err := s.o.Gate.Provider(ctx)
	if err != nil {
		return err
	}
	if !p.ClientDocuments {
		return ErrNoClient
	}
	s.ready.Store(true)
	return nil
}
