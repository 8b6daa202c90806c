package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

const (
	// maxErrorBytes bounds the body of an answer that is an error.
	maxErrorBytes = 64 << 10
	// maxAsides bounds the requests at once that nobody waits for.
	maxAsides = 16
)

// errBusy says that too many such requests are under way.
var errBusy = errors.New("too many requests at once")

// meter is the HTTP transport under the SDK's: it keeps requests on the endpoint's origin, adds the headers, bounds what
// is read, and notes how the server answers. It keeps an answer that is no use from breaking the session, which others
// share.
type meter struct {
	base     http.RoundTripper
	endpoint *url.URL
	header   http.Header
	oauth    bool         // the SDK answers challenges
	stood    atomic.Int64 // how often the current session's standing stream was opened again
	asides   atomic.Int64 // requests under way that nobody waits for
}

// RoundTrip sends a request.
func (m *meter) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != m.endpoint.Scheme || req.URL.Host != m.endpoint.Host {
		closeBody(req)
		return nil, upstream.Errorf(upstream.CodeRefused,
			"the source redirects to %s://%s; if that is right, add it by that address", req.URL.Scheme, req.URL.Host)
	}
	if len(m.header) > 0 {
		req = req.Clone(req.Context())
		for name, values := range m.header {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	x := exchangeOf(req.Context())
	if req.Method == http.MethodGet && (x == nil || req.Header.Get("Last-Event-Id") == "") {
		return m.stand(req, x)
	}
	if x == nil {
		return m.aside(req)
	}
	x.sending()
	resp, err := m.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return m.answer(req, resp, x)
}

// aside sends what nobody waits for: answers to the server's requests, cancellations, the end of a session. A server that
// asks faster than it takes answers gets only some, since each is a connection.
func (m *meter) aside(req *http.Request) (*http.Response, error) {
	defer m.asides.Add(-1)
	if m.asides.Add(1) > maxAsides && req.Method == http.MethodPost {
		closeBody(req)
		return nil, errBusy
	}
	resp, err := m.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return bounded(resp), nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// answer notes an answer, and returns what of it the SDK shall see.
func (m *meter) answer(req *http.Request, resp *http.Response, x *exchange) (*http.Response, error) {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = ""
	}
	unauthorized := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	lost := resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != ""
	x.answered(resp.StatusCode, mediaType, lost)
	if unauthorized {
		x.challenged(resp.StatusCode, strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
	}
	switch {
	case lost:
		// A body would hide from the SDK that it is the session which is missing.
		_ = resp.Body.Close()
		resp.Body, resp.ContentLength = http.NoBody, 0
		return resp, nil
	case resp.StatusCode >= 400:
		return m.refusal(req, resp, x)
	case mediaType == "application/json":
		return whole(resp, x)
	default:
		resp.Body = &metered{resp.Body, x}
		return resp, nil
	}
}

// refusal handles the status codes of errors.
func (m *meter) refusal(req *http.Request, resp *http.Response, x *exchange) (*http.Response, error) {
	unauthorized := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if req.Method != http.MethodPost || unauthorized && m.oauth {
		return bounded(resp), nil
	}
	defer resp.Body.Close()
	if x.outcome().mediaType == "application/json" && !unauthorized {
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
		var message struct{ Error json.RawMessage }
		if err == nil && json.Unmarshal(data, &message) == nil && message.Error != nil {
			resp.Body = io.NopCloser(bytes.NewReader(data))
			return resp, nil
		}
	}
	// The SDK would take it for the end of the session.
	x.answered(resp.StatusCode, "", false)
	return nil, fmt.Errorf("status %d", resp.StatusCode)
}

// bounded cuts the body of an answer that is not a result.
func bounded(resp *http.Response) *http.Response {
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxErrorBytes), resp.Body}
	return resp
}

// whole reads a JSON answer to its end, so that one that is too large fails its own call only.
func whole(resp *http.Response, x *exchange) (*http.Response, error) {
	body := resp.Body
	data, err := io.ReadAll(&metered{body, x})
	_ = body.Close()
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// metered is a body that counts what is read of it.
type metered struct {
	io.ReadCloser
	x *exchange
}

// Read reads, unless that is more than the exchange may.
func (b *metered) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && !b.x.room(n) {
		return 0, errTooLarge
	}
	return n, err
}
