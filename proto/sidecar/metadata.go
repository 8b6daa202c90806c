package sidecar

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// The keys under which a trace travels: gRPC metadata of calls that have a stream of their own. What goes
// with a call on the multiplexed stream (epoch, trace, props) has fields in durableobject/v1's Call.
const (
	keyTraceparent = "traceparent"
	keyTracestate  = "tracestate"
)

// HeaderCF is where a request between scripts has its cf, as JSON, among its header fields. It is no name that a field of
// HTTP can have, so that no client and no script can set it; nobody may send it to the world.
const HeaderCF = ":cf"

// traceFields are the two W3C Trace Context fields; it is the carrier that the propagator fills.
type traceFields struct{ parent, state string }

var _ propagation.TextMapCarrier = (*traceFields)(nil)

// Get implements propagation.TextMapCarrier.
func (f *traceFields) Get(key string) string {
	switch key {
	case keyTraceparent:
		return f.parent
	case keyTracestate:
		return f.state
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (f *traceFields) Set(key, value string) {
	switch key {
	case keyTraceparent:
		f.parent = value
	case keyTracestate:
		f.state = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (f *traceFields) Keys() []string { return []string{keyTraceparent, keyTracestate} }

// traceOf returns the fields of the span in ctx, empty when there is none.
func traceOf(ctx context.Context) traceFields {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return traceFields{}
	}
	f := &traceFields{}
	propagation.TraceContext{}.Inject(ctx, f)
	return *f
}

// into returns ctx as a continuation of the trace; malformed fields begin none.
func (f traceFields) into(ctx context.Context) context.Context {
	if f.parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, &f)
}

func withOutgoingTrace(ctx context.Context) context.Context {
	f := traceOf(ctx)
	if f.parent == "" {
		return ctx
	}
	if f.state == "" {
		return metadata.AppendToOutgoingContext(ctx, keyTraceparent, f.parent)
	}
	return metadata.AppendToOutgoingContext(ctx, keyTraceparent, f.parent, keyTracestate, f.state)
}

func withIncomingTrace(ctx context.Context) context.Context {
	var f traceFields
	if v := metadata.ValueFromIncomingContext(ctx, keyTraceparent); len(v) == 1 {
		f.parent = v[0]
	}
	if v := metadata.ValueFromIncomingContext(ctx, keyTracestate); len(v) == 1 {
		f.state = v[0]
	}
	return f.into(ctx)
}
