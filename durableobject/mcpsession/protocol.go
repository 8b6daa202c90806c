package mcpsession

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/proto/props"
)

// maxBodyBytes bounds a request's body.
const maxBodyBytes = 4 << 20

const methodInitialize = "initialize"

// errOnce answers an initialize that is not the first message of a new session.
var errOnce = &props.HTTPError{
	Status: http.StatusBadRequest, Code: props.CodeInvalid,
	Message: "Invalid Request: a session is initialized once, by a single request without a session id",
}

// inspected is what a session must know of a POST before the SDK sees it.
type inspected struct {
	// body is the whole body.
	body []byte
	// initialize is true when a message is an initialize, batch when the body is an array.
	initialize, batch bool
	// calls are the JSON-RPC ids of the calls, in a form that can be compared.
	calls []string
	// method, id and params are those of a single message; id is nil for a notification or a response.
	method     string
	id, params json.RawMessage
}

// inspect reads and parses a POST's body. Errors are *props.HTTPError, but for a body that could not be read.
func inspect(r *http.Request) (*inspected, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if len(body) > maxBodyBytes {
		return nil, &props.HTTPError{
			Status: http.StatusRequestEntityTooLarge, Code: props.CodeTransport,
			Message: fmt.Sprintf("Payload Too Large: a request may have at most %d bytes", maxBodyBytes),
		}
	}
	type message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	in := &inspected{body: body, batch: bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))}
	messages := make([]message, 1)
	if in.batch {
		err = json.Unmarshal(body, &messages)
	} else {
		err = json.Unmarshal(body, &messages[0])
		in.method, in.params = messages[0].Method, messages[0].Params
	}
	if err != nil {
		return nil, &props.HTTPError{
			Status: http.StatusBadRequest, Code: props.CodeParse, Message: "Parse error: the body is not JSON-RPC",
		}
	}
	for _, m := range messages {
		in.initialize = in.initialize || m.Method == methodInitialize
		if m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" {
			in.calls = append(in.calls, rpcID(m.ID))
			if !in.batch {
				in.id = m.ID
			}
		}
	}
	return in, nil
}

// rpcID returns a JSON-RPC id in a form in which equal ids are equal.
func rpcID(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return fmt.Sprintf("%T:%v", v, v)
}

// rawRPCID returns the JSON of an id in the form of rpcID.
func rawRPCID(id string) string {
	kind, value, _ := strings.Cut(id, ":")
	if kind == "string" {
		return quoteJSON(value)
	}
	return value
}

// answeredID returns the id of the call that a message answers, in the form of rpcID. It reads no more of the message
// than its head: the SDK writes the members in the order jsonrpc, id, then method or result or error.
func answeredID(message []byte) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(message))
	var head [6]json.Token // { "jsonrpc" "2.0" "id" ID KEY
	for i := range head {
		t, err := d.Token()
		if err != nil {
			return "", false
		}
		head[i] = t
	}
	if head[3] != "id" || (head[5] != "result" && head[5] != "error") {
		return "", false
	}
	return fmt.Sprintf("%T:%v", head[4], head[4]), true
}

// versions has, for each protocol version that the SDK knows, a context that tells the SDK of it. The SDK reads the
// version of a request from a context key that only its own HTTP handler sets, and that handler keeps its sessions to
// itself; so each context is one that the handler made.
type versions map[string]context.Context

func newVersions() versions {
	v := versions{}
	for _, version := range mcp.SupportedProtocolVersions() {
		var last context.Context
		h := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
			last = r.Context()
			return nil
		}, nil)
		r := &http.Request{Method: http.MethodPost, Header: http.Header{}, Body: http.NoBody}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set(props.HeaderProtocolVersion, version)
		h.ServeHTTP(discard{}, r)
		v[version] = last
	}
	return v
}

// with returns ctx with the protocol version of a request's header; without the header ctx itself. Its error is a
// *props.HTTPError.
func (v versions) with(ctx context.Context, header string) (context.Context, error) {
	if header == "" {
		return ctx, nil
	}
	version, ok := v[header]
	if !ok {
		known := make([]string, 0, len(v))
		for k := range v {
			known = append(known, k)
		}
		slices.Sort(known)
		return nil, &props.HTTPError{
			Status: http.StatusBadRequest, Code: props.CodeTransport,
			Message: "Bad Request: Unsupported protocol version (supported versions: " + strings.Join(known, ", ") + ")",
		}
	}
	return versioned{ctx, version}, nil
}

// versioned is a context with the values of another one before its own.
type versioned struct {
	context.Context
	version context.Context
}

// Value implements context.Context.
func (v versioned) Value(key any) any {
	if value := v.version.Value(key); value != nil {
		return value
	}
	return v.Context.Value(key)
}

// discard is a response that nobody reads.
type discard struct{}

// Header implements http.ResponseWriter.
func (discard) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (discard) WriteHeader(int) {}
