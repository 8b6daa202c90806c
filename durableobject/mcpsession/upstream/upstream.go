package upstream

import (
	"context"
	"encoding/json"
	"fmt"
)

// Tool is one operation of a source.
type Tool struct {
	// Name is what the source calls it: an MCP tool's name, an OpenAPI operation's id.
	Name string `json:"name"`
	// Description is for people and models; at most MaxDescriptionBytes.
	Description string `json:"description,omitempty"`
	// InputSchema is the JSON Schema of the argument, an object's; OutputSchema that of the result, if the source tells.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// Limits of every source.
const (
	// MaxTools is how many tools one source may have.
	MaxTools = 2000
	// MaxSchemaBytes bounds one schema.
	MaxSchemaBytes = 64 << 10
	// MaxDescriptionBytes bounds one description; longer ones are cut.
	MaxDescriptionBytes = 8 << 10
	// MaxResultBytes bounds the result of one call.
	MaxResultBytes = 1 << 20
)

// Source is a connection to one upstream. Its methods may be called from several goroutines at once.
type Source interface {
	// Tools asks the source for its tools. Errors are *Error.
	Tools(ctx context.Context) ([]Tool, error)
	// Call calls one tool with a JSON object and returns JSON. Errors are *Error.
	Call(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error)
	// Close gives the connection up.
	Close() error
}

// Codes of Error.
const (
	// CodeUnavailable says that the source could not be reached or did not answer in time.
	CodeUnavailable = "source_unavailable"
	// CodeUnauthorized says that the source refused the credentials.
	CodeUnauthorized = "source_unauthorized"
	// CodeFailed says that the source answered with an error of its own.
	CodeFailed = "tool_failed"
	// CodeTooLarge says that the answer was larger than MaxResultBytes.
	CodeTooLarge = "result_too_large"
	// CodeRefused says that the source's address is not allowed.
	CodeRefused = "source_refused"
)

// Error is a failure of a source, worded for the program that called it. It holds no secret.
type Error struct {
	// Code is one of the codes above.
	Code string
	// Message says what happened and what to do.
	Message string
	// Details is what the source said, if it said something structured.
	Details json.RawMessage
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an Error.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
