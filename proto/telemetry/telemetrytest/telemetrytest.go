// Package telemetrytest records spans for tests of other packages, without a collector and without a
// global provider: what runs under Record's context is recorded, in that test alone. A call that crosses
// gRPC or HTTP leaves the context and so the recording; such tests set up an exporter of their own.
package telemetrytest

import (
	"context"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Span is one ended span.
type Span struct {
	// Name and Parent are the span's and its parent's names; Parent is empty directly under the test.
	Name, Parent string
	// Status is "ok", "error" or "unset"; Error is an error's text.
	Status, Error string
	// Attributes are the attributes, as text.
	Attributes map[string]string
}

// Recorder holds the spans of one test.
type Recorder struct {
	// spans is the SDK's own recorder.
	spans *tracetest.SpanRecorder
	// root is the id of the span that Record put into the context.
	root string
}

// Record returns a context under which every span is recorded. The test's cleanup ends the recording.
func Record(t testing.TB) (context.Context, *Recorder) {
	rec := tracetest.NewSpanRecorder()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec))
	ctx, root := tp.Tracer("test").Start(t.Context(), t.Name())
	t.Cleanup(func() { root.End() })
	return ctx, &Recorder{spans: rec, root: root.SpanContext().SpanID().String()}
}

// Ended returns the spans that ended so far, in that order.
func (r *Recorder) Ended() []Span {
	names := map[string]string{}
	for _, s := range r.spans.Started() {
		if id := s.SpanContext().SpanID().String(); id != r.root {
			names[id] = s.Name()
		}
	}
	var out []Span
	for _, s := range r.spans.Ended() {
		if s.SpanContext().SpanID().String() == r.root {
			continue
		}
		attrs := map[string]string{}
		for _, kv := range s.Attributes() {
			attrs[string(kv.Key)] = kv.Value.String()
		}
		out = append(out, Span{
			Name: s.Name(), Parent: names[s.Parent().SpanID().String()],
			Status: strings.ToLower(s.Status().Code.String()), Error: s.Status().Description, Attributes: attrs,
		})
	}
	return out
}
