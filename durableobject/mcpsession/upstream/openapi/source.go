package openapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

// MaxDocumentBytes bounds a document.
const MaxDocumentBytes = 4 << 20

// Options say how the described server is reached.
type Options struct {
	// HTTP does the requests, an egress client; required.
	HTTP *http.Client
	// BaseURL is the server's address, an absolute http or https URL without query. It overrides the document's servers.
	BaseURL string
	// DocumentURL is where the document came from; relative addresses of servers are relative to it. Optional.
	DocumentURL string
	// Auth are the credentials that each request carries. The zero value sends none.
	Auth Auth
	// Timeout bounds one call; default 60 s.
	Timeout time.Duration
}

// Skipped is an operation that became no tool.
type Skipped struct {
	// Operation is the operation's id, or its method and path.
	Operation string `json:"operation"`
	// Reason says why, for who adds the source.
	Reason string `json:"reason"`
}

// Source is a described server.
type Source struct {
	// server is the origin and path before the operations' own.
	server     *url.URL
	title      string
	tools      []upstream.Tool
	operations map[string]*operation
	skipped    []Skipped
	auth       Auth
	redactor   *redactor
	http       *http.Client
	timeout    time.Duration
}

var _ upstream.Source = (*Source)(nil)

// New reads a document. Its errors are the document's or the options' fault, worded for who adds the source; they hold no
// secret. A document with no operation that can be called is an error.
func New(document []byte, o Options) (*Source, error) {
	if o.HTTP == nil {
		return nil, errors.New("openapi: Options.HTTP is required")
	}
	if err := o.Auth.validate(); err != nil {
		return nil, err
	}
	root, err := parse(document)
	if err != nil {
		return nil, err
	}
	doc, err := newDocument(root)
	if err != nil {
		return nil, err
	}
	s := &Source{
		title: doc.title(), auth: o.Auth, redactor: newRedactor(o.Auth),
		http: o.HTTP, timeout: cmp.Or(o.Timeout, time.Minute),
	}
	if s.server, err = doc.server(o); err != nil {
		return nil, err
	}
	im := &importer{doc: doc, options: o, server: s.server, names: map[string]int{}}
	if err := im.run(); err != nil {
		return nil, err
	}
	s.tools, s.operations, s.skipped = im.tools, im.operations, im.skipped
	return s, nil
}

// Title is the document's title; may be empty.
func (s *Source) Title() string { return s.title }

// Server is the address that calls go to.
func (s *Source) Server() string { return s.server.String() }

// Skipped lists the operations that became no tool, in the document's order of paths.
func (s *Source) Skipped() []Skipped { return slices.Clone(s.skipped) }

// Tools returns the tools; it asks nobody.
func (s *Source) Tools(context.Context) ([]upstream.Tool, error) { return slices.Clone(s.tools), nil }

// Call does the request of one tool. The result is the body of a successful answer: as it is where that is JSON, {"text"}
// for text, {"base64","contentType"} for anything else, null for none. Errors are *upstream.Error; where the server
// answered, Details has its status and body.
func (s *Source) Call(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	op, ok := s.operations[tool]
	if !ok {
		return nil, upstream.Errorf(upstream.CodeFailed, "the source has no tool %.200q", tool)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, context.DeadlineExceeded)
	defer cancel()
	req, err := s.request(ctx, op, arguments)
	if err != nil {
		return nil, err
	}
	return s.exchange(req)
}

// Close closes nothing: the client belongs to the caller.
func (s *Source) Close() error { return nil }
