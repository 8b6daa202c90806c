package traces

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	want := span{
		trace: traceID{1, 15: 2}, id: spanID{3}, parent: spanID{4}, start: 5, end: 1 << 63, failed: true,
		name: "name", service: strings.Repeat("s", 300), tags: []tag{{"a", ""}, {"b", "é"}},
	}
	record := appendRecord(nil, &want)
	v := view{tags: make([]tagView, 7)}
	if err := v.decode(record); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, v.span(), cmp.AllowUnexported(span{}, tag{})); d != "" {
		t.Error(d)
	}
	for n := range record {
		if v.decode(record[:n]) == nil {
			t.Errorf("a record cut at %d of %d was taken", n, len(record))
		}
	}
	if v.decode(append(record, 0)) == nil {
		t.Error("a record with a byte too many was taken")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(appendRecord(nil, &span{name: "a", tags: []tag{{"k", "v"}}}))
	f.Add(bytes.Repeat([]byte{0xff}, 80))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v view
		if v.decode(b) != nil {
			return
		}
		s := v.span()
		var again view
		if err := again.decode(appendRecord(nil, &s)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, again.span(), cmp.AllowUnexported(span{}, tag{})); d != "" {
			t.Error(d)
		}
	})
}

func FuzzOTLPJSON(f *testing.F) {
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"` + testTrace + `","spanId":"` + testSpan +
		`"}]}]}]}`))
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"AA==","attributes":[{"key":"a"}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		req := &coltracepb.ExportTraceServiceRequest{}
		if protojson.Unmarshal(b, req) != nil {
			return
		}
		mendJSONIDs(req)
		checkLimits(t, req)
	})
}

func FuzzOTLPProtobuf(f *testing.F) {
	raw, err := proto.Marshal(request("x", otlpSpan("a", 1, 2, "k", "v")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, b []byte) {
		req := &coltracepb.ExportTraceServiceRequest{}
		if proto.Unmarshal(b, req) == nil {
			checkLimits(t, req)
		}
	})
}

// checkLimits converts req and reports a span that is beyond a limit.
func checkLimits(t *testing.T, req *coltracepb.ExportTraceServiceRequest) {
	spans, _, _ := fromOTLP(req)
	for _, s := range spans {
		size := 0
		for _, g := range s.tags {
			size += len(g.key) + len(g.value)
		}
		// A byte that is no UTF-8 becomes three.
		if len(s.name) > 3*maxNameBytes || len(s.tags) > maxTags || size > maxTagBytes {
			t.Errorf("span of %d name bytes, %d tags, %d tag bytes", len(s.name), len(s.tags), size)
		}
		if s.trace == (traceID{}) || s.id == (spanID{}) {
			t.Error("a zero id was taken")
		}
	}
}

func TestLimitsOfASpan(t *testing.T) {
	t.Parallel()
	p := otlpSpan(strings.Repeat("é", maxNameBytes), 1, 0, "dup", "1", "dup", "2", "long", strings.Repeat("x",
		maxValueBytes+1))
	for range 500 {
		p.Attributes = append(p.Attributes, &commonpb.KeyValue{Key: "n" + strings.Repeat("k", len(p.Attributes)),
			Value: text("v")})
	}
	deep := text("bottom")
	for range 50 {
		deep = &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
			ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{deep}},
		}}
	}
	p.Attributes[0].Value = deep
	req := request("x", p)
	checkLimits(t, req)
	spans, rejected, _ := fromOTLP(req)
	if rejected != 0 || len(spans) != 1 {
		t.Fatalf("%d spans, %d rejected", len(spans), rejected)
	}
	got := map[string]string{}
	for _, g := range spans[0].tags {
		got[g.key] = g.value
	}
	if len(spans[0].name) != maxNameBytes || len(got["long"]) != maxValueBytes || got["dup"] != "[[[[[[[[[null]]]]]]]]]" {
		t.Errorf("name %d, long %d, dup %s", len(spans[0].name), len(got["long"]), got["dup"])
	}
}
