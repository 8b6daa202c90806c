package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const (
	testTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	testSpan  = "00f067aa0ba902b7"
)

// server is a running trace store.
type server struct {
	http, grpc string
	client     *http.Client
}

// start runs a store until the test ends, or until stop.
func start(t *testing.T, o Options) (s *server, stop func()) {
	t.Helper()
	o.HTTP, o.GRPC = listen(t), listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, o) }()
	transport := &http.Transport{}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return &server{"http://" + o.HTTP.Addr().String(), o.GRPC.Addr().String(), &http.Client{Transport: transport}}, stop
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// do makes a request and returns its status and body.
func (s *server) do(t *testing.T, method, path string, body []byte, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.http+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if h := r.Header.Get("Host"); h != "" {
		r.Host = h
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// search returns the names of the spans that a search finds.
func (s *server) search(t *testing.T, params string) []string {
	t.Helper()
	code, body := s.do(t, http.MethodGet, "/api/spans/search?"+params, nil)
	var got struct{ Data []foundJSON }
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK {
		t.Fatalf("search %s: %d %s", params, code, body)
	}
	names := []string{}
	for _, f := range got.Data {
		names = append(names, f.Span.OperationName)
	}
	return names
}

// otlpSpan is a span of testTrace; id is its last byte, parent its parent's, 0 for none.
func otlpSpan(name string, id, parent byte, attrs ...string) *tracepb.Span {
	p := &tracepb.Span{
		TraceId: []byte("trace-0123456789"), SpanId: append(make([]byte, 7), id), Name: name,
		StartTimeUnixNano: 1_000_000_000 + uint64(id)*1000, EndTimeUnixNano: 1_002_500_000 + uint64(id)*1000,
		Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK},
	}
	if parent != 0 {
		p.ParentSpanId = append(make([]byte, 7), parent)
	}
	for i := 0; i < len(attrs); i += 2 {
		p.Attributes = append(p.Attributes, &commonpb.KeyValue{Key: attrs[i], Value: text(attrs[i+1])})
	}
	return p
}

func text(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func request(service string, spans ...*tracepb.Span) *coltracepb.ExportTraceServiceRequest {
	return &coltracepb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: text(service)}}},
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
	}}}
}

func TestExportThenFind(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	bad := otlpSpan("bad", 9, 0)
	bad.SpanId = []byte{1}
	resp, err := coltracepb.NewTraceServiceClient(conn).Export(t.Context(), request("worker", otlpSpan("over-grpc", 1,
		0), bad))
	if err != nil {
		t.Fatal(err)
	}
	if p := resp.GetPartialSuccess(); p.GetRejectedSpans() != 1 || !strings.Contains(p.GetErrorMessage(),
		`span id of span "bad"`) {
		t.Errorf("partial success %v", p)
	}
	if got := s.search(t, "operation=over-grpc"); len(got) != 1 {
		t.Errorf("found %v", got)
	}

	raw, err := proto.Marshal(request("worker", otlpSpan("over-http", 2, 1)))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, werr := zip.Write(raw)
	if err := errors.Join(werr, zip.Close()); err != nil {
		t.Fatal(err)
	}
	if code, body := s.do(t, http.MethodPost, "/v1/traces", zipped.Bytes(),
		"Content-Type", typeProtobuf, "Content-Encoding", "gzip"); code != 200 || body != "" {
		t.Errorf("protobuf export: %d %q", code, body)
	}
	if got := s.search(t, "operation=over-http"); len(got) != 1 {
		t.Errorf("found %v", got)
	}

	doc := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"durableobject"}}]},
		"scopeSpans":[{"spans":[{"name":"over-json",
		"traceId":"` + strings.ToUpper(testTrace) + `","spanId":"` + testSpan + `",
		"parentSpanId":"b7ad6b7169203331","kind":2,"startTimeUnixNano":"1000000000","endTimeUnixNano":"1001500000",
		"status":{"code":2,"message":"no"},"someday":1,"attributes":[{"key":"s","value":{"stringValue":"x"}},
		{"key":"i","value":{"intValue":"7"}},{"key":"d","value":{"doubleValue":0.5}},{"key":"b","value":{"boolValue":true}},
		{"key":"l","value":{"arrayValue":{"values":[{"stringValue":"a"},{"intValue":1}]}}}]}]}]}]}`
	if code, body := s.do(t, http.MethodPost, "/v1/traces", []byte(doc), "Content-Type", typeJSON); code != 200 ||
		body != "{}" {
		t.Errorf("json export: %d %q", code, body)
	}
	_, body := s.do(t, http.MethodGet, "/api/spans/search?traceId="+testTrace, nil)
	want := `{"data":[{"traceId":"` + testTrace + `","rootOperationName":"over-json","span":{"spanId":"` + testSpan +
		`","parentSpanId":"b7ad6b7169203331","operationName":"over-json","serviceName":"durableobject","status":"error",` +
		`"durationMs":1.5,"tags":{"b":"true","d":"0.5","i":"7","l":"[\"a\",1]","otel.status_description":"no","s":"x",` +
		`"span.kind":"server"}}}]}` + "\n"
	if d := cmp.Diff(want, body); d != "" {
		t.Error(d)
	}
	if _, body := s.do(t, http.MethodGet, "/api/spans/search?operation=nothing", nil); body != `{"data":[]}`+"\n" {
		t.Errorf("nothing found: %s", body)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	// The root arrives last, as it ends last.
	for _, req := range []*coltracepb.ExportTraceServiceRequest{
		request("durableobject", otlpSpan("load", 3, 2, "source", "props"), otlpSpan("execute", 2, 1, "source", "stored")),
		request("worker", otlpSpan("http.server POST", 1, 0, "source", "props", "n", "1")),
	} {
		raw, err := proto.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		s.do(t, http.MethodPost, "/v1/traces", raw, "Content-Type", typeProtobuf)
	}
	id := "traceId=74726163652d30313233343536373839"
	for _, tt := range []struct {
		params string
		want   []string
	}{
		{"", []string{"http.server POST", "execute", "load"}},
		{"limit=2&lookback=1h", []string{"http.server POST", "execute"}},
		{"operation=execute", []string{"execute"}},
		{"operation=exec", []string{}},
		{"service=worker", []string{"http.server POST"}},
		{"attr.source=props", []string{"http.server POST", "load"}},
		{"attr.source=props&attr.n=1", []string{"http.server POST"}},
		{"attr.source=", []string{}},
		{id, []string{"http.server POST", "execute", "load"}},
		{id + "&limit=1&attr.source=props", []string{"http.server POST"}},
		{"traceId=" + testTrace, []string{}},
	} {
		if d := cmp.Diff(tt.want, s.search(t, tt.params)); d != "" {
			t.Errorf("%s: %s", tt.params, d)
		}
	}
	_, body := s.do(t, http.MethodGet, "/api/spans/search?operation=load", nil)
	if !strings.Contains(body, `"rootOperationName":"http.server POST"`) {
		t.Errorf("root not named: %s", body)
	}
	_, body = s.do(t, http.MethodGet, "/api/traces/74726163652d30313233343536373839", nil)
	var got struct{ Data traceJSON }
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Data.Spans) != 3 ||
		got.Data.Spans[0].OperationName != "http.server POST" || got.Data.Spans[2].OperationName != "load" ||
		got.Data.Spans[0].StartTime != "1970-01-01T00:00:01.000001Z" {
		t.Errorf("trace: %s", body)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	const typ = "Content-Type"
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, werr := zip.Write(make([]byte, maxRequestBytes+1))
	if err := errors.Join(werr, zip.Close()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		code                     int
		want                     string
	}{
		{"limit 0", "GET", "/api/spans/search?limit=0", "", nil, 400,
			"parameter limit must be a whole number from 1 to 1000"},
		{"limit 1001", "GET", "/api/spans/search?limit=1001", "", nil, 400, "parameter limit must be"},
		{"lookback", "GET", "/api/spans/search?lookback=soon", "", nil, 400,
			"parameter lookback must be a duration from 1ms to 168h"},
		{"lookback too far", "GET", "/api/spans/search?lookback=169h", "", nil, 400, `"parameter":"lookback"`},
		{"trace id", "GET", "/api/spans/search?traceId=xyz", "", nil, 400, "parameter traceId must be 32 hexadecimal digits"},
		{"zero trace id", "GET", "/api/traces/" + strings.Repeat("0", 32), "", nil, 400, `"parameter":"traceId"`},
		{"unknown parameter", "GET", "/api/spans/search?limt=1", "", nil, 400, "parameter limt must be one of"},
		{"twice", "GET", "/api/spans/search?limit=1&limit=2", "", nil, 400, "parameter limit must be given once"},
		{"empty key", "GET", "/api/spans/search?attr.=2", "", nil, 400, "named with a key"},
		{"encoding", "GET", "/api/spans/search?a=%zz", "", nil, 400, "percent-encoded"},
		{"unknown trace", "GET", "/api/traces/" + testTrace, "", nil, 404, "trace_not_found"},
		{"unknown page", "GET", "/traces/" + testTrace, "", nil, 404, "No span of this trace is kept."},
		{"bad page", "GET", "/traces/<b>", "", nil, 400, "parameter traceId"},
		{"foreign host", "GET", "/api/spans/search", "", []string{"Host", "rebind.example"}, 403, "forbidden_host"},
		{"text", "POST", "/v1/traces", "{}", []string{typ, "text/plain"}, 415, "content type must be"},
		{"no json", "POST", "/v1/traces", "{", []string{typ, typeJSON}, 400, "not an OTLP trace export request"},
		{"no protobuf", "POST", "/v1/traces", "\x0a\xff", []string{typ, typeProtobuf}, 400, "not an OTLP"},
		{"no gzip", "POST", "/v1/traces", "{}", []string{typ, typeJSON, "Content-Encoding", "gzip"}, 400, "not gzip"},
		{"brotli", "POST", "/v1/traces", "{}", []string{typ, typeJSON, "Content-Encoding", "br"}, 415, "gzip or identity"},
		{"bomb", "POST", "/v1/traces", bomb.String(), []string{typ, typeJSON, "Content-Encoding", "gzip"}, 413,
			"over 16 MiB"},
		{"method", "DELETE", "/v1/traces", "", nil, 405, ""},
		{"health", "GET", "/healthz", "", nil, 200, `{"status":"ok"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, body := s.do(t, tt.method, tt.path, []byte(tt.body), tt.header...)
			if code != tt.code || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s, want %d with %q", code, body, tt.code, tt.want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{Links: [][2]string{{"MCP <endpoint>", "http://127.0.0.1:8787/mcp"}, {"bad",
		"javascript:alert(1)"}}})
	if _, body := s.do(t, http.MethodGet, "/", nil); !strings.Contains(body, "No span has arrived yet") {
		t.Errorf("empty index: %s", body)
	}
	failed := otlpSpan("<script>alert(1)</script>", 2, 1, "<k>", "<v>")
	failed.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	raw, err := proto.Marshal(request("wor&ker", otlpSpan("root", 1, 0), failed))
	if err != nil {
		t.Fatal(err)
	}
	s.do(t, http.MethodPost, "/v1/traces", raw, "Content-Type", typeProtobuf)
	for path, wants := range map[string][]string{
		"/": {
			`<a href="/traces/74726163652d30313233343536373839">root</a>`, "wor&amp;ker", "2.5 ms",
			`<span class="status error">error</span>`, "MCP &lt;endpoint&gt;", `href="http://127.0.0.1:8787/mcp"`,
			"for 24 h and up to 256 MiB",
		},
		"/traces/74726163652d30313233343536373839": {
			"&lt;script&gt;", "<dt>&lt;k&gt;</dt><dd>&lt;v&gt;</dd>", `class="name d1"`, "<h1>root</h1>",
		},
		"/style.css": {"prefers-color-scheme: dark"},
	} {
		code, body := s.do(t, http.MethodGet, path, nil)
		for _, want := range wants {
			if code != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: %d without %q:\n%s", path, code, want, body)
			}
		}
		if strings.Contains(body, "<script>") || strings.Contains(body, "javascript:") {
			t.Errorf("%s: not escaped:\n%s", path, body)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	t.Parallel()
	err := Serve(t.Context(), Options{MaxAge: 1, MaxBytes: 1})
	want := "traces: a listener is missing\ntraces: max age 1ns is under 1s\ntraces: max bytes 1 is under 65536"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
