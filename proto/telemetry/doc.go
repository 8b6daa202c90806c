// Package telemetry sets up tracing for a process and holds every span and attribute name of the project.
//
// Each process has its own exporter: OTLP over gRPC, in batches of a second, never on the path of a
// response. Without an endpoint tracing is off and Start costs next to nothing. Only this package and
// proto/sidecar know OpenTelemetry; gates, storage and alarms report through hooks instead.
package telemetry
