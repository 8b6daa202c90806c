package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
)

// Bounds of the exporter.
const (
	scopeName       = "github.com/tandem-do/tandem"
	batchDelay      = time.Second
	queueSpans      = 8192
	batchSpans      = 512
	exportTimeout   = 5 * time.Second
	shutdownTimeout = 3 * time.Second
	errorLogEvery   = time.Minute
	maxAttributes   = 64
	maxValueBytes   = 4096
)

// DefaultTracesPerSecond is for Options.TracesPerSecond: few enough that tracing costs a busy process little, and more than
// anybody reads.
const DefaultTracesPerSecond = 500

// Options say how a process traces.
type Options struct {
	// Service is the process's service.name, such as "worker". Required with an endpoint.
	Service string
	// Endpoint is the OTLP/gRPC collector: "host:port", "http://host:port", "https://host:port" (TLS),
	// "unix:/path" or a path. Empty turns tracing off.
	Endpoint string
	// SampleRatio is the share of new traces that are recorded, above 0 and at most 1. Zero means 1.
	// A trace that a caller began keeps the caller's decision.
	SampleRatio float64
	// TracesPerSecond is how many new traces are recorded in a second at most, of those that the ratio takes: what is
	// recorded has all its spans then, however many requests come. Zero means any number.
	TracesPerSecond int
	// Version is the service.version; empty leaves it out.
	Version string
	// Log takes the exporter's faults, at most one a minute; nil discards them.
	Log *slog.Logger
}

// provider is the process's tracer provider: the SDK's with its one tracer looked up in advance.
type provider struct {
	embedded.TracerProvider
	sdk      *sdktrace.TracerProvider
	exporter sdktrace.SpanExporter
	tracer   trace.Tracer
	// server holds the start options of a span whose parent is in another process.
	server []trace.SpanStartOption
}

// Tracer implements trace.TracerProvider.
func (p *provider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return p.sdk.Tracer(name, opts...)
}

// Setup begins tracing for the process. It never connects by itself: a collector that is down costs spans
// only. The returned shutdown sends what is queued, for 3 s at most or as long as its context lasts, and
// turns tracing off; it is never nil unless err is not. Errors name the option that is wrong.
func Setup(ctx context.Context, o Options) (shutdown func(context.Context) error, err error) {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	if o.Endpoint == "" {
		return func(context.Context) error { return nil }, nil
	}
	return setup(ctx, o)
}

// setup is Setup with an endpoint; dial options are for tests over an in-memory network.
func setup(ctx context.Context, o Options, dial ...grpc.DialOption) (func(context.Context) error, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	target, creds, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	// Without WithConnectParams gRPC waits up to two minutes between attempts; a collector that came up
	// should be found sooner.
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithConnectParams(connectParams()),
	}, dial...)...)
	if err != nil {
		return nil, fmt.Errorf("telemetry endpoint %q: %w", o.Endpoint, err)
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithGRPCConn(conn),
		otlptracegrpc.WithTimeout(exportTimeout),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
			Enabled: true, InitialInterval: 250 * time.Millisecond, MaxInterval: time.Second,
			MaxElapsedTime: exportTimeout,
		}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("build trace exporter: %w", err), conn.Close())
	}
	otel.SetErrorHandler(errorLog(o.Log))
	p := newProvider(o, exporter)
	otel.SetTracerProvider(p)
	return p.shutdown(conn), nil
}

// validate reports every option that is out of range.
func (o Options) validate() error {
	var errs []error
	if o.Service == "" {
		errs = append(errs, errors.New("telemetry service is empty"))
	}
	if !(o.SampleRatio >= 0 && o.SampleRatio <= 1) {
		errs = append(errs, fmt.Errorf("telemetry sample ratio %v is not above 0 and at most 1", o.SampleRatio))
	}
	if o.TracesPerSecond < 0 {
		errs = append(errs, fmt.Errorf("telemetry traces per second %d are below 0", o.TracesPerSecond))
	}
	return errors.Join(errs...)
}

// newProvider builds the provider over exporter.
func newProvider(o Options, exporter sdktrace.SpanExporter) *provider {
	attrs := []attribute.KeyValue{attribute.String("service.name", o.Service)}
	if o.Version != "" {
		attrs = append(attrs, attribute.String("service.version", o.Version))
	}
	ratio := o.SampleRatio
	if ratio == 0 {
		ratio = 1
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeCountLimit = maxAttributes
	limits.AttributeValueLengthLimit = maxValueBytes
	sdk := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource.NewSchemaless(attrs...)),
		sdktrace.WithSampler(sdktrace.ParentBased(limited(sdktrace.TraceIDRatioBased(ratio), o.TracesPerSecond))),
		sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(batchDelay),
			sdktrace.WithMaxQueueSize(queueSpans), sdktrace.WithMaxExportBatchSize(batchSpans),
			sdktrace.WithExportTimeout(exportTimeout)),
	)
	return &provider{
		sdk: sdk, exporter: exporter, tracer: sdk.Tracer(scopeName),
		server: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)},
	}
}

// shutdown returns the function that flushes and turns tracing off. Its second and later calls return what
// the first returned.
func (p *provider) shutdown(conn *grpc.ClientConn) func(context.Context) error {
	var once sync.Once
	var result error
	return func(ctx context.Context) error {
		once.Do(func() {
			if otel.GetTracerProvider() == trace.TracerProvider(p) {
				otel.SetTracerProvider(noop.NewTracerProvider())
			}
			ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
			defer cancel()
			if err := p.sdk.Shutdown(ctx); err != nil {
				result = fmt.Errorf("flush spans: %w", err)
				// The batcher still tries; with its exporter stopped it gives up at once.
				_ = p.exporter.Shutdown(ctx)
			}
			result = errors.Join(result, conn.Close())
		})
		return result
	}
}

// errorLog returns OpenTelemetry's error handler: a warning, at most once a minute.
func errorLog(log *slog.Logger) otel.ErrorHandler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	sometimes := &rate.Sometimes{Interval: errorLogEvery}
	return otel.ErrorHandlerFunc(func(err error) {
		sometimes.Do(func() { log.Warn("trace export failed", "err", err) })
	})
}
