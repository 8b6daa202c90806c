// Package telemetry sets up tracing for a process and holds every span and attribute name of the project.
//
// Each process has its own exporter: OTLP over gRPC, in batches of a second, never on the path of a
// response. Whether a trace is recorded is decided at its head and kept by everything below it, in every
// process; a caller's W3C traceparent is joined. Without an endpoint tracing is off and Start costs a few
// nanoseconds and no allocation; the same holds below an unsampled head.
//
// A collector that is down or slow costs spans, never a request: the queue is bounded and drops, the
// connection is made when the first batch leaves, and its faults are logged at most once a minute.
//
// Only this package and proto/sidecar know OpenTelemetry; gates, storage and alarms report through hooks
// instead. Everything here may be called from any goroutine. The provider lives where OpenTelemetry keeps
// it (otel.SetTracerProvider), so that a process calls Setup once, before it serves, and the returned
// shutdown once, after its last span ended.
package telemetry
