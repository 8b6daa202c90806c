package idp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/tandem-do/tandem/tools/loopback"
)

// Bounds of fetching client-ID metadata documents.
const (
	documentTimeout  = 5 * time.Second
	maxDocumentBytes = 64 << 10
	documentLife     = 10 * time.Minute
	maxDocuments     = 256
)

// documents fetches and remembers client-ID metadata documents: a client whose id is the URL of its own
// metadata. Only addresses on the internet are asked for https, and only this machine for http, so that a
// page cannot make this server probe a private network.
type documents struct {
	http    *http.Client
	cache   *memory[*client]
	flights singleflight.Group
}

func newDocuments() *documents {
	dialer := &net.Dialer{Timeout: documentTimeout}
	fetch := func(control func(string, string, syscall.RawConn) error) *http.Transport {
		d := *dialer
		d.Control = control
		return &http.Transport{
			DialContext: d.DialContext, TLSHandshakeTimeout: documentTimeout, MaxIdleConns: 4,
			IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 32 << 10, DisableCompression: true,
		}
	}
	local, public := fetch(onlyTo(isLocal)), fetch(onlyTo(isPublic))
	return &documents{
		cache: newMemory[*client](maxDocuments, documentLife),
		http: &http.Client{
			Timeout:   documentTimeout,
			Transport: &byScheme{http: local, https: public},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
}

// close drops the connections that are kept open.
func (d *documents) close() { d.http.CloseIdleConnections() }

// byScheme sends http and https through transports with different rules.
type byScheme struct{ http, https *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b *byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return b.https.RoundTrip(r)
	}
	return b.http.RoundTrip(r)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach both.
func (b *byScheme) CloseIdleConnections() {
	b.http.CloseIdleConnections()
	b.https.CloseIdleConnections()
}

// onlyTo returns a dialer's control that refuses addresses other than allowed ones, after names are resolved.
func onlyTo(allowed func(netip.Addr) bool) func(string, string, syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(a.Addr().Unmap()) {
			return errors.New("the address is not allowed")
		}
		return nil
	}
}

func isLocal(a netip.Addr) bool { return a.IsLoopback() }

func isPublic(a netip.Addr) bool { return a.IsGlobalUnicast() && !a.IsPrivate() }

// isDocumentURL reports whether a client id is the URL of a document that we would fetch: https, or http on
// this machine; with a path, without user, fragment or dot segments.
func isDocumentURL(id string) bool {
	if len(id) > maxURIBytes {
		return false
	}
	u, err := url.Parse(id)
	if err != nil || !isHTTP(u) || u.Fragment != "" || strings.Contains(id, "#") || strings.Trim(u.Path, "/") == "" {
		return false
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return u.Scheme == "https" || loopback.IsHost(u.Hostname())
}

// client returns the client that the document at id describes. Those who ask at once share one fetch;
// failures are not remembered. Errors: *metadataError, with text for the user.
func (d *documents) client(ctx context.Context, id string) (*client, error) {
	if c, ok := d.cache.get(id); ok {
		return c, nil
	}
	// The fetch outlives the one who asked first; the HTTP client's timeout bounds it.
	shared := context.WithoutCancel(ctx)
	flight := d.flights.DoChan(id, func() (any, error) {
		c, err := d.fetch(shared, id)
		if err == nil {
			d.cache.add(id, c)
		}
		return c, err
	})
	select {
	case r := <-flight:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*client), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fetch reads and checks the document at id.
func (d *documents) fetch(ctx context.Context, id string) (*client, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, badMetadata("the client's metadata document has no good address")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, badMetadata("the client's metadata document could not be fetched")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, badMetadata("the client's metadata document was answered with status %d, not 200", resp.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || (kind != "application/json" && !strings.HasSuffix(kind, "+json")) {
		return nil, badMetadata("the client's metadata document is not served as JSON")
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentBytes+1))
	if err != nil {
		return nil, badMetadata("the client's metadata document could not be read")
	}
	if len(body) > maxDocumentBytes {
		return nil, badMetadata("the client's metadata document is over %d bytes", maxDocumentBytes)
	}
	return parseDocument(id, body)
}

// parseDocument checks a document that was found at id.
func parseDocument(id string, body []byte) (*client, error) {
	var doc struct {
		client
		Secret *json.RawMessage `json:"client_secret"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, badMetadata("the client's metadata document is not a JSON object of the right shape")
	}
	if doc.ID != id {
		return nil, badMetadata("the client_id in the client's metadata document is not the document's address")
	}
	if doc.Secret != nil || !(doc.TokenEndpointAuthMethod == "" || doc.TokenEndpointAuthMethod == "none") {
		return nil, badMetadata("the client's metadata document asks for a secret; only public clients are taken")
	}
	if err := doc.validate(); err != nil {
		return nil, fmt.Errorf("check metadata document: %w", err)
	}
	return &doc.client, nil
}
