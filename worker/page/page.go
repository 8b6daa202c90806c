package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
)

//go:embed layout
var layout embed.FS

// Head is what the layout of every page needs.
type Head struct {
	// Title is the page's.
	Title string
	// Account is who is signed in, for people to read; empty for nobody.
	Account string
	// SignOut is where the form that signs out goes, CSRF its token; both are empty with Account.
	SignOut, CSRF string
	// Refresh, if positive, has the browser load the page anew after so many seconds.
	Refresh int
}

// Message is the value of the page "message".
type Message struct {
	Head
	// Text is what there is to say.
	Text string
	// Tone is "good", "bad" or empty.
	Tone string
	// Links are what a person may do next.
	Links []Link
}

// Link is a way on from a message.
type Link struct{ Text, URL string }

// Set are the templates of one package's pages.
type Set struct {
	templates *template.Template
	policy    string
}

// Parse parses the templates of files that match a pattern, beside the layout. Errors: those of the templates.
func Parse(files fs.FS, patterns ...string) (*Set, error) {
	style, err := layout.ReadFile("layout/style.css")
	if err != nil {
		return nil, fmt.Errorf("read style: %w", err)
	}
	t := template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
	})
	if t, err = t.ParseFS(layout, "layout/*.html"); err == nil && len(patterns) > 0 {
		t, err = t.ParseFS(files, patterns...)
	}
	if err != nil {
		return nil, fmt.Errorf("parse pages: %w", err)
	}
	sum := sha256.Sum256(style)
	return &Set{templates: t, policy: "default-src 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}, nil
}

// Write answers with the page that a template makes of a value. Errors are defects of the template; the client was
// answered then, too.
func (s *Set) Write(w http.ResponseWriter, status int, name string, value any) error {
	var body bytes.Buffer
	err := s.templates.ExecuteTemplate(&body, name, value)
	if err != nil {
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString("internal error")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", s.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	SetHeaders(h)
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // if the client has gone, nobody is there to tell
	return err
}

// SetHeaders sets what every answer to a browser carries, pages and redirects alike. The referrer stays within the
// worker; without any, browsers would send the worker's own forms with the origin "null".
func SetHeaders(h http.Header) {
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Redirect sends the browser to an address, without a body that repeats it.
func Redirect(w http.ResponseWriter, status int, address string) {
	SetHeaders(w.Header())
	w.Header().Set("Location", address)
	w.WriteHeader(status)
}
