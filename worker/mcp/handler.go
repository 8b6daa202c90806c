package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
)

// Options say how the endpoint works.
type Options struct {
	// Gate authenticates.
	Gate *auth.Gate
	// Sessions is the namespace of the session objects.
	Sessions *binding.Namespace
	// Approvals returns the address of the approval page but for the id of a pause, or why there is none, for the client.
	// Nil: there is none.
	Approvals func(context.Context) (string, *props.HTTPError)
	// Log takes defects; nil discards them.
	Log *slog.Logger
}

// Handler is the endpoint.
type Handler struct {
	gate     *auth.Gate
	sessions *binding.Namespace
	// approvals is Options.Approvals.
	approvals func(context.Context) (string, *props.HTTPError)
	// lifetime is the process's, from the start to the drain.
	lifetime context.Context
	log      *slog.Logger
	// pieces holds *[]byte of pieceBytes.
	pieces sync.Pool
}

// New returns the endpoint. The lifetime is the worker's, which ends when it drains: with it end the event streams
// that are open for no request, so that their clients connect elsewhere.
func New(lifetime context.Context, o Options) *Handler {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Handler{
		gate: o.Gate, sessions: o.Sessions, approvals: o.Approvals, lifetime: lifetime, log: log,
		pieces: sync.Pool{New: func() any { b := make([]byte, pieceBytes); return &b }},
	}
}

// The values of the CORS headers: any page may call, since a bearer token is no ambient authority.
const (
	allowMethods  = "GET, POST, DELETE, OPTIONS"
	allowHeaders  = "content-type, authorization, mcp-session-id, accept, mcp-protocol-version"
	exposeHeaders = "mcp-session-id, WWW-Authenticate"
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Expose-Headers", exposeHeaders)
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	case http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", allowMethods)
		header.Set("Access-Control-Allow-Headers", allowHeaders)
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		header.Set("Allow", allowMethods)
		(&props.HTTPError{
			Status: http.StatusMethodNotAllowed, Code: props.CodeUnauthorized, Message: "Method not allowed",
		}).WriteTo(w)
		return
	}
	ctx, span := telemetry.Start(r.Context(), telemetry.SpanMCPRequest)
	c := &call{h: h, w: w, r: r.WithContext(ctx), span: span}
	ended := false
	defer func() {
		if !ended { // the handler panicked, perhaps to abort the response
			span.End(errAborted)
		}
	}()
	err := c.serve(ctx)
	ended = true
	span.End(err)
}

// serve handles the request of c and returns the error for its span, nil when the client was served.
func (c *call) serve(ctx context.Context) error {
	c.describeRequest()
	v := c.h.gate.Identify(ctx, c.r.Header)
	c.describeVerdict(v)
	if refusal := v.HTTPError(); refusal != nil {
		if refusal.Status == http.StatusUnauthorized {
			c.h.gate.Challenge(c.w, c.r, v)
		}
		refusal.WriteTo(c.w)
		if v.Err != nil {
			return v.Err
		}
		return refusal
	}
	c.identity = v.Identity
	plan, fault := c.plan(ctx)
	if fault != nil {
		return c.refuse(fault)
	}
	if plan.intent == "" {
		c.w.WriteHeader(http.StatusOK) // a DELETE of no session
		return nil
	}
	return c.forward(ctx, plan)
}

// refuse answers with a fault. The cause, if the fault has one, is for the span alone.
func (c *call) refuse(f *fault) error {
	if gone := c.gone(); gone != nil {
		return gone
	}
	if f.allow != "" {
		c.w.Header().Set("Allow", f.allow)
	}
	f.answer.WriteTo(c.w)
	if f.answer.Status == http.StatusInternalServerError {
		c.h.log.ErrorContext(c.r.Context(), "mcp request failed", "err", f.cause)
	}
	if f.cause != nil {
		return f.cause
	}
	return f.answer
}
