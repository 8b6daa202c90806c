package mcp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/worker/ingress"
)

const (
	// maxBodyBytes bounds a request's body.
	maxBodyBytes = 4 << 20
	// statelessVersion is the first protocol version without sessions. Versions are dates and compare as text.
	statelessVersion = "2026-07-28"
)

// call is one request.
type call struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	span     telemetry.Span
	identity props.Identity
	body     []byte
	message  message
}

// plan is what is to be done with a request. Its zero value is nothing.
type plan struct {
	intent      string
	object      objectid.ID
	elicitation string
	// approvals is the approval page but for the id of a pause, with ElicitationBrowser and where a mode is chosen.
	approvals string
}

// fault is why a request is refused.
type fault struct {
	answer *props.HTTPError
	cause  error  // for the span, when the answer says less
	allow  string // the Allow header of a 405
}

// transportFault returns the fault of a request that breaks a rule of the transport.
func transportFault(status, code int, format string, args ...any) *fault {
	return &fault{answer: &props.HTTPError{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}}
}

// plan decides what is to be done, in the order that the package's doc gives.
func (c *call) plan(ctx context.Context) (plan, *fault) {
	id := c.r.Header.Get(props.HeaderSessionID)
	if id == "" {
		return c.planWithoutSession(ctx)
	}
	object, err := c.h.sessions.IDs().Parse(id)
	if err != nil || object.String() != id {
		return plan{}, &fault{answer: props.ErrSessionNotFound, cause: err}
	}
	p := plan{intent: props.IntentUse, object: object}
	f := c.checkSessionRequest(&p)
	if f == nil {
		return p, nil
	}
	if verdict := c.checkSession(ctx, object); verdict != nil {
		return plan{}, verdict
	}
	return plan{}, f
}

// checkSessionRequest applies the rules of the transport to a request with a session ID.
func (c *call) checkSessionRequest(p *plan) *fault {
	if f := c.checkVersion(); f != nil {
		return f
	}
	if c.version() >= statelessVersion {
		return transportFault(http.StatusBadRequest, props.CodeTransport,
			"Bad Request: protocol version %s has no sessions", c.version())
	}
	switch c.r.Method {
	case http.MethodGet:
		return c.checkAcceptsStream()
	case http.MethodDelete:
		return nil
	}
	if f := c.readMessage(&p.elicitation); f != nil {
		return f
	}
	if c.message.hasInitialize {
		return transportFault(http.StatusBadRequest, props.CodeInvalid, "Invalid Request: the session is initialized already")
	}
	return nil
}

// planWithoutSession decides on a request without a session ID: it begins a session or stands alone.
func (c *call) planWithoutSession(ctx context.Context) (plan, *fault) {
	if c.r.Method == http.MethodDelete {
		return plan{}, nil
	}
	if f := c.checkVersion(); f != nil {
		return plan{}, c.refuseVersion(f)
	}
	if c.r.Method == http.MethodGet {
		if c.version() >= statelessVersion {
			f := transportFault(http.StatusMethodNotAllowed, props.CodeUnauthorized,
				"Method not allowed: protocol version %s has no event stream", c.version())
			f.allow = "POST"
			return plan{}, f
		}
		return plan{}, transportFault(http.StatusBadRequest, props.CodeTransport,
			"Bad Request: Mcp-Session-Id header is required")
	}
	var p plan
	if f := c.readMessage(&p.elicitation); f != nil {
		return plan{}, f
	}
	m := &c.message
	switch {
	case c.version() >= statelessVersion, c.version() == "" && m.metaVersion >= statelessVersion:
		p.intent = props.IntentStateless
	case m.hasInitialize && m.batch:
		return plan{}, transportFault(http.StatusBadRequest, props.CodeInvalid,
			"Invalid Request: initialize must be the only message")
	case m.hasInitialize && m.id == "":
		return plan{}, transportFault(http.StatusBadRequest, props.CodeInvalid, "Invalid Request: initialize needs an id")
	case m.hasInitialize:
		p.intent = props.IntentCreate
		if p.elicitation == "" {
			p.elicitation = props.ElicitationModel
		}
	default:
		return plan{}, transportFault(http.StatusBadRequest, props.CodeTransport,
			"Bad Request: no session; send initialize first, or the Mcp-Session-Id header")
	}
	if p.elicitation == props.ElicitationBrowser && c.h.approvals != nil {
		var refusal *props.HTTPError
		if p.approvals, refusal = c.h.approvals(ctx); refusal != nil {
			return plan{}, &fault{answer: refusal}
		}
	}
	p.object = c.h.sessions.IDs().NewUnique()
	if p.intent == props.IntentCreate {
		c.span.SetString(telemetry.AttrMCPSessionID, p.object.String())
	}
	return p, nil
}

// version returns the protocol version header; empty when there is none.
func (c *call) version() string { return c.r.Header.Get(props.HeaderProtocolVersion) }

// checkVersion refuses a protocol version that is not spoken here.
func (c *call) checkVersion() *fault {
	version := c.version()
	if version == "" {
		return nil
	}
	supported := mcp.SupportedProtocolVersions()
	if slices.Contains(supported, version) {
		return nil
	}
	return transportFault(http.StatusBadRequest, props.CodeTransport,
		"Bad Request: unsupported protocol version (supported: %s)", strings.Join(supported, ", "))
}

// refuseVersion returns the fault of a request whose version is not spoken here and that has no session. A request that
// stands alone says the version in its _meta too; it gets an error of its own, from which its client learns the
// versions. f answers any other.
func (c *call) refuseVersion(f *fault) *fault {
	var elicitation string
	if c.r.Method != http.MethodPost || c.readMessage(&elicitation) != nil || c.message.metaVersion == "" {
		return f
	}
	f.answer.Code, f.answer.ID = mcp.CodeUnsupportedProtocolVersion, c.message.rawID
	f.answer.Data = mcp.UnsupportedProtocolVersionData{
		Supported: mcp.SupportedProtocolVersions(), Requested: c.version(),
	}
	return f
}

// checkAcceptsStream refuses a GET that does not take an event stream.
func (c *call) checkAcceptsStream() *fault {
	if _, stream := accepts(c.r.Header.Values("Accept")); !stream {
		return transportFault(http.StatusNotAcceptable, props.CodeTransport,
			"Not Acceptable: client must accept text/event-stream")
	}
	return nil
}

// readMessage checks the headers of a POST, reads its body and its query.
func (c *call) readMessage(elicitation *string) *fault {
	if json, stream := accepts(c.r.Header.Values("Accept")); !json || !stream {
		return transportFault(http.StatusNotAcceptable, props.CodeTransport,
			"Not Acceptable: client must accept both application/json and text/event-stream")
	}
	if media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return transportFault(http.StatusUnsupportedMediaType, props.CodeTransport,
			"Unsupported Media Type: Content-Type must be application/json")
	}
	body, err := ingress.ReadBody(c.w, c.r, maxBodyBytes)
	if errors.Is(err, ingress.ErrBodyTooLarge) {
		return transportFault(http.StatusRequestEntityTooLarge, props.CodeTransport,
			"Payload Too Large: the body has more than %d bytes", maxBodyBytes)
	}
	if err != nil {
		f := transportFault(http.StatusBadRequest, props.CodeTransport, "Bad Request: the body ended early")
		f.cause = err
		return f
	}
	c.body = body
	// _meta names the version of a request that has neither a session nor, in its header, a version that is known.
	withParams := c.span.Sampled() || (c.r.Header.Get(props.HeaderSessionID) == "" &&
		!slices.Contains(mcp.SupportedProtocolVersions(), c.version()))
	if c.message, err = parseMessage(body, withParams); err != nil {
		f := transportFault(http.StatusBadRequest, props.CodeParse, "Parse error: the body is not JSON-RPC 2.0")
		f.cause = err
		return f
	}
	c.describeMessage()
	return c.readElicitation(elicitation)
}

// readElicitation reads elicitation_mode from the query.
func (c *call) readElicitation(mode *string) *fault {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	values, has := c.r.URL.Query()["elicitation_mode"]
	if !has {
		return nil
	}
	if len(values) == 1 {
		switch values[0] {
		case props.ElicitationModel, props.ElicitationNative, props.ElicitationBrowser:
			*mode = values[0]
			return nil
		}
	}
	return transportFault(http.StatusBadRequest, props.CodeInvalid,
		"Invalid Request: elicitation_mode must be one of %s, %s, %s",
		props.ElicitationModel, props.ElicitationNative, props.ElicitationBrowser)
}

// accepts reports which of the two media types the Accept headers take.
func accepts(values []string) (json, stream bool) {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				json, stream = true, true
			}
		}
	}
	return json, stream
}
