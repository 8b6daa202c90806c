package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// collector keeps what it was sent.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer

	mu sync.Mutex
	// spans and service are what arrived; mu guards them.
	spans   []*tracepb.Span
	service string
}

func (c *collector) Export(
	_ context.Context, req *coltracepb.ExportTraceServiceRequest,
) (*coltracepb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		c.service = rs.GetResource().GetAttributes()[0].GetValue().GetStringValue()
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

func (c *collector) got() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans
}

// start serves c in memory and returns the dial option that reaches it.
func (c *collector) start(t *testing.T) grpc.DialOption {
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(s, c)
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-served })
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })
}

func TestExportsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		stop, err := setup(t.Context(), Options{Service: "worker", Endpoint: "unix:/memory"}, c.start(t))
		if err != nil {
			t.Fatal(err)
		}
		in := http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, "Tracestate": {"a=b"}}
		ctx, outer := Start(ExtractHTTP(t.Context(), in), SpanMCPRequest)
		outer.SetString(AttrMCPMethod, "bad\xffutf8")
		outer.SetInt(AttrHTTPStatus, 200)
		outer.SetBool(AttrMCPHasBearer, true)
		inner, innerSpan := Start(ctx, SpanGetOrganization)
		out := http.Header{}
		InjectHTTP(inner, out)
		innerSpan.End(errors.New(strings.Repeat("é", maxStatusBytes)))
		outer.End(nil)

		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		spans := c.got()
		if len(spans) != 2 {
			t.Fatalf("exported %d spans, want 2", len(spans))
		}
		child, parent := spans[0], spans[1]
		if parent.GetName() != SpanMCPRequest || parent.GetKind() != tracepb.Span_SPAN_KIND_SERVER ||
			parent.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_OK {
			t.Errorf("outer span is %v", parent)
		}
		if got := parent.GetAttributes()[0].GetValue().GetStringValue(); got != "bad\uFFFDutf8" {
			t.Errorf("text attribute %q", got)
		}
		if string(child.GetParentSpanId()) != string(parent.GetSpanId()) ||
			child.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR ||
			len(child.GetStatus().GetMessage()) != maxStatusBytes {
			t.Errorf("inner span is %v", child)
		}
		if got := out.Get(HeaderTraceparent); !strings.HasPrefix(got, "00-4bf92f3577b34da6a3ce929d0e0e4736-") ||
			!strings.HasSuffix(got, "-01") || out.Get(HeaderTracestate) != "a=b" {
			t.Errorf("injected %v", out)
		}
		if c.service != "worker" {
			t.Errorf("service.name %q", c.service)
		}
		if err := stop(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if _, s := Start(t.Context(), SpanExecute); s.Sampled() {
			t.Error("a span is recorded after shutdown")
		}
	})
}

func TestShutdownFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		stop, err := setup(t.Context(), Options{Service: "host", Endpoint: "unix:/memory"}, c.start(t))
		if err != nil {
			t.Fatal(err)
		}
		_, s := Start(t.Context(), SpanExecute)
		s.End(nil)
		if err := stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(c.got()); got != 1 {
			t.Errorf("exported %d spans, want 1", got)
		}
	})
}

// With no collector a request never waits, the log gets one line a minute, and shutdown ends in time.
func TestCollectorDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		stop, err := setup(t.Context(), Options{
			Service: "host", Endpoint: "unix:/memory", Log: slog.New(slog.NewTextHandler(&log, nil)),
		}, grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("refused")
		}))
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range queueSpans * 2 {
			_, s := Start(t.Context(), SpanExecute)
			s.End(nil)
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("spans waited %v for the collector", waited)
		}
		time.Sleep(40 * time.Second)
		synctest.Wait() // the exporter logs, maybe at this very moment
		if got := strings.Count(log.String(), "trace export failed"); got != 1 {
			t.Errorf("%d log lines in 40 s, want 1:\n%s", got, log.String())
		}
		_, s := Start(t.Context(), SpanExecute)
		s.End(nil)
		begin = time.Now()
		_ = stop(t.Context())
		if took := time.Since(begin); took > shutdownTimeout {
			t.Errorf("shutdown took %v", took)
		}
	})
}

// What is not recorded costs nothing: tracing off, and below an unsampled head.
func TestUnrecordedSpansAllocateNothing(t *testing.T) {
	plain := t.Context()
	unsampled := WithTraceparent(plain, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "")
	work := func(ctx context.Context) func() {
		fail := errors.New("x")
		return func() {
			ctx, s := Start(ctx, SpanExecute)
			s.SetString(AttrReason, "a")
			s.SetInt(AttrEpoch, 1)
			s.SetBool(AttrResumeJoined, true)
			_ = ExtractHTTP(ctx, nil)
			s.End(fail)
			if s.Sampled() {
				t.Error("recorded")
			}
		}
	}
	for name, ctx := range map[string]context.Context{"off": plain, "off, unsampled": unsampled} {
		if n := testing.AllocsPerRun(100, work(ctx)); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	stop, err := Setup(plain, Options{Service: "x", Endpoint: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop(plain) }()
	if n := testing.AllocsPerRun(100, work(unsampled)); n != 0 {
		t.Errorf("on, unsampled: %v allocations", n)
	}
}

func TestSampleRatio(t *testing.T) {
	c := &collector{}
	stop, err := setup(t.Context(), Options{Service: "x", Endpoint: "unix:/memory", SampleRatio: 0.25}, c.start(t))
	if err != nil {
		t.Fatal(err)
	}
	sampled := 0
	for range 1000 {
		ctx, root := Start(t.Context(), SpanMCPRequest)
		_, child := Start(ctx, SpanExecute)
		if root.Sampled() != child.Sampled() {
			t.Fatal("the head's decision was not kept")
		}
		if root.Sampled() {
			sampled++
		}
		child.End(nil)
		root.End(nil)
	}
	if sampled < 150 || sampled > 350 {
		t.Errorf("%d of 1000 traces sampled at 0.25", sampled)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(c.got()); got != 2*sampled {
		t.Errorf("exported %d spans, want %d", got, 2*sampled)
	}
}

// Of many requests at once only so many are recorded, each with all its spans.
func TestTracesPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sampler := limited(sdktrace.TraceIDRatioBased(1), 10)
		p := sdktrace.SamplingParameters{ParentContext: t.Context(), TraceID: trace.TraceID{1}}
		for second := range 3 {
			taken := 0
			for range 100 {
				if sampler.ShouldSample(p).Decision == sdktrace.RecordAndSample {
					taken++
				}
			}
			if taken != 10 {
				t.Errorf("second %d: %d traces are recorded, want 10", second, taken)
			}
			time.Sleep(time.Second)
		}
	})
}

// A client that has decided is followed, whatever the ratio says.
func TestParentDecides(t *testing.T) {
	c := &collector{}
	stop, err := setup(t.Context(), Options{Service: "x", Endpoint: "unix:/memory", SampleRatio: 1e-9}, c.start(t))
	if err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]bool{"01": true, "00": false} {
		in := http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-" + flags}}
		_, s := Start(ExtractHTTP(t.Context(), in), SpanMCPRequest)
		if s.Sampled() != want {
			t.Errorf("flags %s: sampled %v", flags, s.Sampled())
		}
		s.End(nil)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spans := c.got(); len(spans) != 1 || spans[0].GetName() != SpanMCPRequest {
		t.Errorf("exported %v", spans)
	}
}

func TestSetupOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"no service", Options{Endpoint: "127.0.0.1:1"}, "telemetry service is empty"},
		{"ratio above 1", Options{Service: "x", Endpoint: "127.0.0.1:1", SampleRatio: 1.5},
			"telemetry sample ratio 1.5 is not above 0 and at most 1"},
		{"no port", Options{Service: "x", Endpoint: "localhost"},
			`telemetry endpoint "localhost" is not host:port, a URL or a unix socket's path`},
		{"path", Options{Service: "x", Endpoint: "http://h:1/v1/traces"},
			`telemetry endpoint "http://h:1/v1/traces" is not an http or https URL of a host and port`},
		{"scheme", Options{Service: "x", Endpoint: "ftp://h:1"},
			`telemetry endpoint "ftp://h:1": scheme is not http or https`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Setup(t.Context(), tt.o)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if stop, err := Setup(t.Context(), Options{}); err != nil || stop(t.Context()) != nil {
		t.Errorf("tracing off: %v", err)
	}
}

func TestParseEndpoint(t *testing.T) {
	got := map[string]string{}
	for _, e := range []string{
		"127.0.0.1:4317", "http://localhost:4317", "https://c.example", "unix:/a/b", "unix:///a/b", "unix:a", "/a/b",
	} {
		target, creds, err := parseEndpoint(e)
		if err != nil {
			t.Fatal(err)
		}
		got[e] = target + " " + creds.Info().SecurityProtocol
	}
	want := map[string]string{
		"127.0.0.1:4317": "dns:///127.0.0.1:4317 insecure", "http://localhost:4317": "dns:///localhost:4317 insecure",
		"https://c.example": "dns:///c.example:443 tls", "unix:/a/b": "unix:/a/b insecure",
		"unix:///a/b": "unix:/a/b insecure", "unix:a": "unix:a insecure", "/a/b": "unix:/a/b insecure",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTraceparent(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, tt := range []struct{ name, parent, state, wantParent, wantState string }{
		{"good", good, "a=b,c=d", good, "a=b,c=d"},
		{"unsampled", good[:53] + "00", "", good[:53] + "00", ""},
		{"newer version", "cc" + good[2:] + "-what", "", good, ""},
		{"malformed", "00-zz-00-01", "", "", ""},
		{"zero id", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "", "", ""},
		{"bad state", good, "=;", good, ""},
		{"long state", good, "a=" + strings.Repeat("b", maxTracestateBytes), good, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := WithTraceparent(t.Context(), tt.parent, tt.state)
			parent, state := Traceparent(ctx)
			if parent != tt.wantParent || state != tt.wantState {
				t.Errorf("got %q %q, want %q %q", parent, state, tt.wantParent, tt.wantState)
			}
			if want := tt.wantParent != ""; want != (TraceID(ctx) != "") {
				t.Errorf("trace id %q", TraceID(ctx))
			}
		})
	}
}

// An attribute longer than the limit is cut by the SDK, and the global provider is what others see.
func TestLimits(t *testing.T) {
	c := &collector{}
	stop, err := setup(t.Context(), Options{Service: "x", Endpoint: "unix:/memory"}, c.start(t))
	if err != nil {
		t.Fatal(err)
	}
	_, s := otel.GetTracerProvider().Tracer("other").Start(t.Context(), "a", trace.WithNewRoot())
	Span{span: s}.SetString("k", strings.Repeat("v", maxValueBytes+1))
	s.End()
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var v *commonpb.AnyValue
	if spans := c.got(); len(spans) == 1 {
		v = spans[0].GetAttributes()[0].GetValue()
	}
	if got := len(v.GetStringValue()); got != maxValueBytes {
		t.Errorf("value of %d bytes, want %d", got, maxValueBytes)
	}
}
