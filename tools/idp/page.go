package idp

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/tandem-do/tandem/worker/directory"
)

//go:embed page
var pageFiles embed.FS

func parsePages() (*template.Template, error) {
	t, err := template.ParseFS(pageFiles, "page/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse pages: %w", err)
	}
	return t, nil
}

// page is what the pages show; each uses what it needs.
type page struct {
	Title string
	CSRF  string
	// Request is the authorization request that the form carries along, as a query.
	Request string
	// Email fills in the address; Fault says what was wrong with the last one.
	Email, Fault string
	Client       string
	// ClientID is the address of a client that is its own document, and Target where the answer goes.
	ClientID, Target string
	Organization     string
	Scopes           []string
	// Other is the address for using another account.
	Other string
	Text  string
}

// showSignIn shows the sign-in page.
func (s *server) showSignIn(w http.ResponseWriter, r *http.Request, req *request, fault string) {
	email := req.loginHint
	if fault != "" {
		email = r.PostFormValue("email")
	}
	status := http.StatusOK
	if fault != "" {
		status = http.StatusUnprocessableEntity
	}
	s.render(w, status, "signin.html", page{
		Title: "Sign in", CSRF: s.sessions.csrf(w, r), Request: req.raw, Client: req.client.displayName(),
		Email: email, Fault: fault,
	})
}

// signIn takes the sign-in page's form.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) {
	req, ok := s.readForm(w, r)
	if !ok {
		return
	}
	user, err := s.userOf(r.Context(), r.PostFormValue("email"))
	switch {
	case errors.Is(err, directory.ErrInvalid):
		s.showSignIn(w, r, req, "That is not an e-mail address. Something like ada@example.com will do.")
	case err != nil:
		s.log.Error("signing in failed", "err", err)
		s.showError(w, http.StatusServiceUnavailable, "The directory of users cannot be reached. Please try again.")
	default:
		s.sessions.signIn(w, r, user)
		setPageHeaders(w)
		w.Header().Set("Location", pathConsent+"?"+req.raw)
		w.WriteHeader(http.StatusSeeOther)
	}
}

// consent shows the consent page to somebody who has just signed in.
func (s *server) consent(w http.ResponseWriter, r *http.Request) {
	req, ok := s.readRequest(w, r, func() (url.Values, error) { return url.ParseQuery(r.URL.RawQuery) })
	if ok {
		s.showConsent(w, r, req)
	}
}

// showConsent shows the consent page, or the sign-in page to somebody who is not signed in.
func (s *server) showConsent(w http.ResponseWriter, r *http.Request, req *request) {
	user, ok := s.sessions.user(r)
	if !ok {
		s.showSignIn(w, r, req, "")
		return
	}
	other, err := url.ParseQuery(req.raw)
	if err != nil {
		s.showError(w, http.StatusBadRequest, "The authorization request could not be read.")
		return
	}
	other.Set("prompt", "select_account")
	p := page{
		Title: "Allow access", CSRF: s.sessions.csrf(w, r), Request: req.raw, Client: req.client.displayName(),
		Email: user.Email, Organization: user.OrganizationName, Target: displayTarget(req.redirectURI),
		Other: pathAuthorize + "?" + other.Encode(),
	}
	if isDocumentURL(req.client.ID) {
		p.ClientID = req.client.ID
	}
	for _, sc := range scopes {
		if hasScope(req.scope, sc.name) {
			p.Scopes = append(p.Scopes, sc.meaning)
		}
	}
	s.render(w, http.StatusOK, "consent.html", p)
}

// displayTarget is what a person is told of a redirect URI: its host, or an app's scheme.
func displayTarget(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host
	}
	return "an app on this computer (" + u.Scheme + ")"
}

// decide takes the consent page's form.
func (s *server) decide(w http.ResponseWriter, r *http.Request) {
	req, ok := s.readForm(w, r)
	if !ok {
		return
	}
	user, signedIn := s.sessions.user(r)
	switch r.PostFormValue("decision") {
	case "allow":
		if !signedIn {
			s.showSignIn(w, r, req, "")
			return
		}
		s.redirectCode(w, r, req, user)
	case "cancel":
		s.redirectError(w, r, req, &redirectError{"access_denied", "the user did not allow it"})
	default:
		s.showError(w, http.StatusBadRequest, "The form says neither Allow nor Cancel.")
	}
}

// readForm reads a form of ours and the authorization request that it carries, and answers one that is bad.
func (s *server) readForm(w http.ResponseWriter, r *http.Request) (*request, bool) {
	if err := r.ParseForm(); err != nil {
		s.showError(w, http.StatusBadRequest, "The form could not be read.")
		return nil, false
	}
	if !s.sessions.isGenuine(r) {
		s.showError(w, http.StatusForbidden, "This form is out of date. Go back to the application and start again.")
		return nil, false
	}
	return s.readRequest(w, r, func() (url.Values, error) { return url.ParseQuery(r.PostForm.Get("request")) })
}

// home says what this server is and who is signed in.
func (s *server) home(w http.ResponseWriter, r *http.Request) {
	p := page{Title: "Development sign-in"}
	if user, ok := s.sessions.user(r); ok {
		p.CSRF, p.Email, p.Organization = s.sessions.csrf(w, r), user.Email, user.OrganizationName
	}
	s.render(w, http.StatusOK, "home.html", p)
}

// signOut takes the form that signs out.
func (s *server) signOut(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || !s.sessions.isGenuine(r) {
		s.showError(w, http.StatusForbidden, "This form is out of date. Reload the page and try again.")
		return
	}
	s.sessions.signOut(w, r)
	s.render(w, http.StatusOK, "home.html", page{Title: "Signed out", Text: "You are signed out."})
}

// showError shows an error that no client can be told of.
func (s *server) showError(w http.ResponseWriter, status int, text string) {
	s.render(w, status, "error.html", page{Title: "That did not work", Text: text})
}

// render writes a page. It is built in full first, so that a fault gives an error and not half a page.
func (s *server) render(w http.ResponseWriter, status int, name string, p page) {
	setPageHeaders(w)
	var body bytes.Buffer
	if err := s.pages.ExecuteTemplate(&body, name, p); err != nil {
		s.log.Error("page failed", "err", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

// setPageHeaders forbids everything that the pages do not need. There is no form-action: browsers apply it to
// the redirect that follows a form, and that one goes to the client. The referrer is same-origin, since with
// none browsers would send our own forms with the origin "null".
func setPageHeaders(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func serveStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, pageFiles, "page/style.css")
}
