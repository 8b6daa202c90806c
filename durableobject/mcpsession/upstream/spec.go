package upstream

import (
	"context"

	"github.com/tandem-do/tandem/proto/props"
)

// Spec is what is known about a source. It prints without its secret.
type Spec struct {
	// Kind is props.SourceMCP or props.SourceOpenAPI.
	Kind string
	// URL is the MCP endpoint, or where the document is.
	URL string
	// BaseURL, if set, is where an OpenAPI source's operations are.
	BaseURL string
	// Document is an OpenAPI source's, DocumentURL where it came from: URL, or where that redirected to.
	Document    []byte
	DocumentURL string
	// Auth says how it authenticates.
	Auth props.SourceCredentials
	// Save, if set, is told of OAuth credentials that replace those of Auth, as JSON.
	Save func(secret string)
}

// String hides the secret.
func (s Spec) String() string { return "source of kind " + s.Kind }

// GoString hides the secret.
func (s Spec) GoString() string { return s.String() }

// Inspection is what a source has at one moment.
type Inspection struct {
	// Tools are its tools, at most MaxTools.
	Tools []Tool
	// Document is an OpenAPI source's, as it is now, DocumentURL where it came from, without its query; empty if it was given.
	Document    []byte
	DocumentURL string
	// Server is the origin that its operations go to; an OpenAPI source's.
	Server string
	// Note says what was left out, if something was.
	Note string
}

// Connector opens sources.
type Connector interface {
	// Connect opens a source. An OpenAPI source needs its document. Errors are *Error.
	Connect(ctx context.Context, s Spec) (Source, error)
	// Inspect asks a source what it has. It gets the document from the URL, if there is one. Errors are *Error.
	Inspect(ctx context.Context, s Spec) (Inspection, error)
}
