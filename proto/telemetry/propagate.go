package telemetry

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The headers of W3C trace context, in lower case as gRPC metadata wants them.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
)

// maxTracestateBytes is the length up to which the specification asks that a tracestate be carried.
const maxTracestateBytes = 512

// ExtractHTTP returns ctx with the trace context of a request's headers, so that the next span joins the
// caller's trace. Without a well-formed traceparent it returns ctx.
func ExtractHTTP(ctx context.Context, h http.Header) context.Context {
	return WithTraceparent(ctx, h.Get(HeaderTraceparent), h.Get(HeaderTracestate))
}

// InjectHTTP sets the headers of an outgoing request to ctx's trace context; without one it removes
// nothing and sets nothing.
func InjectHTTP(ctx context.Context, h http.Header) {
	parent, state := Traceparent(ctx)
	if parent == "" {
		return
	}
	h.Set(HeaderTraceparent, parent)
	if state != "" {
		h.Set(HeaderTracestate, state)
	} else {
		h.Del(HeaderTracestate)
	}
}

// WithTraceparent returns ctx with the trace context that another process sent. A traceparent that is
// empty or malformed gives ctx itself; a bad or overlong tracestate is dropped alone.
func WithTraceparent(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	if len(tracestate) > maxTracestateBytes {
		tracestate = ""
	}
	return propagation.TraceContext{}.Extract(ctx, pair{traceparent, tracestate})
}

// Traceparent returns ctx's trace context for another process: both empty when there is none. It holds
// whether or not the trace is sampled, so that everybody below keeps the head's decision.
func Traceparent(ctx context.Context) (traceparent, tracestate string) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return "", ""
	}
	flags := "-00"
	if sc.IsSampled() {
		flags = "-01"
	}
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + flags, sc.TraceState().String()
}

// TraceID returns the id of ctx's trace in hexadecimal, for a log line; empty when there is none.
func TraceID(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.HasTraceID() {
		return ""
	}
	return sc.TraceID().String()
}

// pair carries a traceparent and a tracestate to OpenTelemetry's parser.
type pair struct{ parent, state string }

var _ propagation.TextMapCarrier = pair{}

// Get implements propagation.TextMapCarrier.
func (p pair) Get(key string) string {
	switch key {
	case HeaderTraceparent:
		return p.parent
	case HeaderTracestate:
		return p.state
	}
	return ""
}

// Set implements propagation.TextMapCarrier; the pair is only read.
func (p pair) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (p pair) Keys() []string { return []string{HeaderTraceparent, HeaderTracestate} }
