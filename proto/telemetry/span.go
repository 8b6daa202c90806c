package telemetry

import (
	"context"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// maxStatusBytes bounds an error's text on a span.
const maxStatusBytes = 1024

// Span is one timed operation. The zero Span, and every span of an unsampled trace, does nothing.
// Its methods may be called from any goroutine.
type Span struct {
	// span is nil unless the span is recorded.
	span trace.Span
}

// Start begins a span as a child of the one in ctx, if any. The returned context carries it; it is ctx
// itself when nothing is recorded, so that a caller's traceparent still reaches the next process.
// A span whose parent is in another process is marked as a server's.
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	sc := parent.SpanContext()
	if sc.IsValid() && !sc.IsSampled() {
		return ctx, Span{}
	}
	tracer, opts := tracerFor(parent, sc)
	if tracer == nil {
		return ctx, Span{}
	}
	ctx, span := tracer.Start(ctx, name, opts...)
	if !span.IsRecording() {
		return ctx, Span{}
	}
	return ctx, Span{span: span}
}

// tracerFor returns the tracer for a child of parent, nil when tracing is off. A recorded parent of this
// process gives its own provider's tracer, which is how a test records spans without a global provider.
func tracerFor(parent trace.Span, sc trace.SpanContext) (trace.Tracer, []trace.SpanStartOption) {
	p, _ := otel.GetTracerProvider().(*provider)
	if parent.IsRecording() {
		if tp := parent.TracerProvider(); p == nil || tp != trace.TracerProvider(p.sdk) {
			return tp.Tracer(scopeName), nil
		}
		return p.tracer, nil
	}
	if p == nil {
		return nil, nil
	}
	if sc.IsRemote() {
		return p.tracer, p.server
	}
	return p.tracer, nil
}

// SetString sets a text attribute, cut at 4 KiB. Bytes that are not UTF-8 are replaced.
func (s Span) SetString(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, strings.ToValidUTF8(value, "\uFFFD")))
	}
}

// SetInt sets a number attribute.
func (s Span) SetInt(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// SetBool sets a truth attribute.
func (s Span) SetBool(key string, value bool) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Bool(key, value))
	}
}

// Sampled reports whether the span is recorded, so that a caller can skip costly attributes.
func (s Span) Sampled() bool { return s.span != nil }

// End ends the span: status ok when err is nil, otherwise error with the error's text, cut at 1 KiB.
// Later calls do nothing.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, statusText(err))
	} else {
		s.span.SetStatus(codes.Ok, "")
	}
	s.span.End()
}

// statusText returns err's text as valid UTF-8 (OTLP refuses a whole batch otherwise) of bounded length.
func statusText(err error) string {
	text := err.Error()
	if len(text) > maxStatusBytes {
		cut := maxStatusBytes
		for cut > maxStatusBytes-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
