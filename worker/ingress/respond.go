package ingress

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tandem-do/tandem/proto/props"
)

const (
	// bodyTimeout is how long a client may take for its body.
	bodyTimeout = 30 * time.Second
	// firstBodyBytes is the most that is made ready for a body before any of it has come.
	firstBodyBytes = 64 << 10
)

// ErrBodyTooLarge is returned by ReadBody.
var ErrBodyTooLarge = errors.New("body is too large")

// ReadBody reads a request's body, at most limit bytes of it. A client that takes longer than 30 s is cut off.
// Errors: ErrBodyTooLarge, after which the connection is closed, and those of the connection.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, ErrBodyTooLarge
	}
	// Not more than a little is made for a length that the client only says.
	body := make([]byte, 0, max(512, min(r.ContentLength+1, limit, firstBodyBytes)))
	reader := http.MaxBytesReader(w, r.Body, limit)
	for {
		n, err := reader.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			return finishBody(w, body, err)
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
	}
}

// finishBody ends ReadBody: at the body's end it lifts the deadline that the ingress has set.
func finishBody(w http.ResponseWriter, body []byte, err error) ([]byte, error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, io.EOF):
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, ErrBodyTooLarge
	}
	return nil, fmt.Errorf("read body: %w", err)
}

// WriteError answers with an error in the form of the request's path: JSON-RPC under /mcp, JSON elsewhere. The
// message is for the client.
func WriteError(w http.ResponseWriter, r *http.Request, status int, message string) {
	if r.URL.Path == "/mcp" || strings.HasPrefix(r.URL.Path, "/mcp/") {
		(&props.HTTPError{Status: status, Code: rpcCode(status), Message: message}).WriteTo(w)
		return
	}
	WriteJSON(w, status, map[string]string{"error": errorName(status), "message": message})
}

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal","message":"Internal server error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}

// rpcCode returns the JSON-RPC code that goes with a status under /mcp.
func rpcCode(status int) int {
	switch status {
	case http.StatusInternalServerError:
		return props.CodeInternal
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusServiceUnavailable, http.StatusUnauthorized:
		return props.CodeUnauthorized
	}
	return props.CodeTransport
}

// errorName returns the machine-readable name of a status: "not_found" for 404.
func errorName(status int) string {
	if status == http.StatusInternalServerError {
		return "internal"
	}
	return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
}
