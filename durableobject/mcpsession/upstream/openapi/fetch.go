package openapi

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/egress"
)

// Document is a document as it was fetched.
type Document struct {
	Content []byte
	// URL is where it was in the end, after redirects: Options.DocumentURL.
	URL string
}

// Fetch gets a document of at most MaxDocumentBytes. The client bounds the wait. Errors are *upstream.Error and do not hold
// the address, whose query may be secret.
func Fetch(ctx context.Context, client *http.Client, address string) (Document, error) {
	if u, err := url.Parse(address); err != nil || !u.IsAbs() {
		return Document{}, upstream.Errorf(upstream.CodeFailed, "the document's address is not an absolute URL")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Document{}, upstream.Errorf(upstream.CodeFailed, "the document's address is not an absolute URL")
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(req)
	if err != nil {
		return Document{}, egress.Error(err)
	}
	defer func() { _ = resp.Body.Close() }() // what was wanted of it was read
	if resp.StatusCode != http.StatusOK {
		code := upstream.CodeFailed
		if resp.StatusCode == http.StatusUnauthorized {
			code = upstream.CodeUnauthorized
		}
		return Document{}, upstream.Errorf(code, "the document's address answered with status %d", resp.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, MaxDocumentBytes+1))
	if err != nil {
		return Document{}, egress.Error(err)
	}
	if len(content) > MaxDocumentBytes {
		return Document{}, upstream.Errorf(upstream.CodeTooLarge, "the document is larger than %d MiB", MaxDocumentBytes>>20)
	}
	return Document{Content: content, URL: resp.Request.URL.String()}, nil
}
