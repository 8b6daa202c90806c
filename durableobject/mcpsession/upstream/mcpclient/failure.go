package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
)

var (
	// Causes that end an operation's context.
	errTimeout  = errors.New("timeout")
	errClosed   = errors.New("closed")
	errTooLarge = errors.New("too large")

	// errPanic stands for a panic in the SDK.
	errPanic = errors.New("panic")
)

// Limits of what errors quote from a server.
const (
	maxMessageBytes = 4 << 10
	maxDetailsBytes = 16 << 10
)

// failure words an error of the SDK's for whoever uses the source. It quotes nothing but what the server itself has said
// to the program: errors of the transport may hold addresses.
func (c *client) failure(ctx context.Context, op operation, x *exchange, err error) *upstream.Error {
	seen := x.outcome()
	var known *upstream.Error
	var wire *jsonrpc.Error
	switch {
	case seen.tooLarge:
		return upstream.Errorf(upstream.CodeTooLarge, "%s: the source's answer is larger than %d bytes", op.name, op.limit)
	case errors.As(err, &known):
		return known
	case errors.Is(err, errPanic):
		return upstream.Errorf(upstream.CodeFailed, "%s: the source's answer is not valid", op.name)
	case ctx.Err() != nil:
		return c.ended(ctx, op, seen)
	case seen.refusal != 0:
		return Unauthorized(seen.refusal, seen.challenge)
	case seen.status == http.StatusTooManyRequests:
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the source asks for fewer requests (status 429)", op.name)
	case seen.status >= http.StatusInternalServerError:
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the source answered with status %d%s",
			op.name, seen.status, op.doubt(seen))
	case seen.lost:
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the source has lost the session", op.name)
	case seen.answeredJSON() && errors.As(err, &wire):
		return wireError(op, wire)
	case seen.status >= http.StatusBadRequest:
		return upstream.Errorf(upstream.CodeFailed, "%s: the source answered with status %d; is this an MCP endpoint?",
			op.name, seen.status)
	case seen.status == http.StatusOK && seen.mediaType != "application/json" && seen.mediaType != "text/event-stream":
		return upstream.Errorf(upstream.CodeFailed, "%s: the source answered with %q; is this an MCP endpoint?",
			op.name, clip(seen.mediaType, maxNameBytes))
	case seen.status != 0:
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the source's answer broke off or could not be read%s",
			op.name, op.doubt(seen))
	default:
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the source could not be reached%s", op.name, op.doubt(seen))
	}
}

// ended words the end of an operation's context.
func (c *client) ended(ctx context.Context, op operation, seen outcome) *upstream.Error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the source did not answer within %s%s",
			op.name, op.timeout, op.doubt(seen))
	case errors.Is(cause, errClosed):
		return upstream.Errorf(upstream.CodeUnavailable, "%s: the connection to the source was closed%s",
			op.name, op.doubt(seen))
	default:
		return upstream.Errorf(upstream.CodeUnavailable, "%s: given up before the source answered%s",
			op.name, op.doubt(seen))
	}
}

// doubt says that a call may have run, if it may.
func (o operation) doubt(seen outcome) string {
	if o.repeatable || !seen.accepted {
		return ""
	}
	return "; the tool may or may not have run"
}

// wireError is the error that the server itself answered with.
func wireError(op operation, wire *jsonrpc.Error) *upstream.Error {
	e := upstream.Errorf(upstream.CodeFailed, "%s: the source answered with error %d: %s",
		op.name, wire.Code, clip(wire.Message, maxMessageBytes))
	if len(wire.Data) <= maxDetailsBytes && json.Valid(wire.Data) {
		e.Details = wire.Data
	}
	return e
}
