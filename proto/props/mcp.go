package props

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The namespaces of the MCP application: unique keys <worker>-<Class>.
const (
	NamespaceSession   = "mcp-Session"
	NamespaceExecution = "mcp-Execution"
	NamespacePolicies  = "mcp-Policies"
)

// Identity is who makes a request, as the worker has authenticated it. It travels as props, so that no
// object ever reads a token or the directory.
type Identity struct {
	// AccountID is the token's subject.
	AccountID string `json:"accountId"`
	// OrganizationID names the organization the account acts for.
	OrganizationID string `json:"organizationId"`
	// OrganizationName is its display name.
	OrganizationName string `json:"organizationName,omitempty"`
	// Email is the account's address, if the directory has one.
	Email string `json:"email,omitempty"`
}

// Validate says what an identity lacks.
func (id Identity) Validate() error {
	if id.AccountID == "" || id.OrganizationID == "" {
		return errors.New("props: an identity needs an account and an organization")
	}
	return nil
}

// Encode returns the identity as props.
func (id Identity) Encode() []byte {
	b, err := json.Marshal(id)
	if err != nil {
		panic(fmt.Sprintf("props: identity of strings: %v", err)) // strings always marshal
	}
	return b
}

// DecodeIdentity reads what Encode wrote.
func DecodeIdentity(b []byte) (Identity, error) {
	var id Identity
	if len(b) == 0 {
		return id, errors.New("props: the event carries no identity")
	}
	if err := json.Unmarshal(b, &id); err != nil {
		return id, fmt.Errorf("props: identity: %w", err)
	}
	return id, id.Validate()
}

// Headers that the worker sets on a request to a session object. A client's own fields of these names are
// removed at the ingress.
const (
	// HeaderIntent says what the worker wants of the session object: one of the Intent values.
	HeaderIntent = "Tandem-Session-Intent"
	// HeaderResource is the absolute URL of the MCP endpoint as the client addressed it.
	HeaderResource = "Tandem-Resource"
	// HeaderElicitationMode is one of the Elicitation values.
	HeaderElicitationMode = "Tandem-Elicitation-Mode"
	// HeaderSessionID is MCP's session header.
	HeaderSessionID = "Mcp-Session-Id"
	// HeaderProtocolVersion is MCP's version header.
	HeaderProtocolVersion = "Mcp-Protocol-Version"
)

// What a worker wants of a session object.
const (
	// IntentCreate: an initialize; the object must be new.
	IntentCreate = "create"
	// IntentUse: any request of an existing session.
	IntentUse = "use"
	// IntentStateless: a request of protocol version 2026-07-28, which stands alone: the object must not
	// write.
	IntentStateless = "stateless"
)

// MethodSessionCheck is the method of a session object with which the worker asks whether the identity in the props may
// use the session, before it refuses a request for another reason. It takes nothing (null) and returns nothing; the
// verdict is an error whose Name is one of the SessionError values.
const MethodSessionCheck = "check"

// Names of the errors that MethodSessionCheck throws.
const (
	// SessionErrorNotFound: the session was never made.
	SessionErrorNotFound = "SessionNotFound"
	// SessionErrorEnded: it was ended by DELETE.
	SessionErrorEnded = "SessionEnded"
	// SessionErrorForbidden: it belongs to another account or organization.
	SessionErrorForbidden = "SessionForbidden"
)

// The errors that both halves answer alike.
var (
	// ErrSessionNotFound answers a session id that was never issued.
	ErrSessionNotFound = &HTTPError{Status: http.StatusNotFound, Code: CodeUnauthorized, Message: "Session not found"}
	// ErrSessionEnded answers every use of a session after its DELETE.
	ErrSessionEnded = &HTTPError{
		Status: http.StatusNotFound, Code: CodeUnauthorized, Message: "Session timed out, please reconnect",
	}
	// ErrSessionForbidden answers the use of another's session.
	ErrSessionForbidden = &HTTPError{
		Status: http.StatusForbidden, Code: CodeForbidden, Message: "This session belongs to another account or organization",
	}
	// ErrUnavailable answers while an object restarts or its host moves.
	ErrUnavailable = &HTTPError{
		Status: http.StatusServiceUnavailable, Code: CodeUnauthorized,
		Message: "The session is restarting, please try again", RetryAfter: 2 * time.Second,
	}
	// ErrInternal answers a defect; its detail is in the span only.
	ErrInternal = &HTTPError{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "Internal server error"}
)

// How a paused call asks for approval.
const (
	// ElicitationModel: the model calls the resume tool.
	ElicitationModel = "model"
	// ElicitationNative: the server elicits from the client.
	ElicitationNative = "native"
	// ElicitationBrowser: a person approves on a web page.
	ElicitationBrowser = "browser"
)

// JSON-RPC codes of the errors under /mcp.
const (
	CodeUnauthorized = -32001 // also: not found, unavailable, method not allowed
	CodeTransport    = -32000
	CodeForbidden    = -32003
	CodeParse        = -32700
	CodeInvalid      = -32600
	CodeInternal     = -32603
)

// HTTPError is an error under /mcp: an HTTP status with a JSON-RPC error as its body.
type HTTPError struct {
	// Status is the HTTP status.
	Status int
	// Code is the JSON-RPC code.
	Code int
	// Message is the text for the client.
	Message string
	// RetryAfter, if set, is sent as Retry-After, in whole seconds.
	RetryAfter time.Duration
	// ID is the ID, as JSON, of the request that the error answers; nil is sent as null.
	ID json.RawMessage
	// Data, if set, is the JSON-RPC error's data. It must marshal.
	Data any
}

// Error returns the message.
func (e *HTTPError) Error() string { return e.Message }

// WriteTo writes the error as the whole response. Never HTML, never an empty body.
func (e *HTTPError) WriteTo(w http.ResponseWriter) {
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	body, _ := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		Error   rpcError        `json:"error"`
		ID      json.RawMessage `json:"id"`
	}{"2.0", rpcError{e.Code, e.Message, e.Data}, e.ID})
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Access-Control-Allow-Origin", "*")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", fmt.Sprint(int(e.RetryAfter/time.Second)))
	}
	w.WriteHeader(e.Status)
	w.Write(body)
}
