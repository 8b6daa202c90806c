package traces

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Limits on what is kept of a span; what is beyond them is cut off.
const (
	maxNameBytes  = 512
	maxKeyBytes   = 256
	maxValueBytes = 8 << 10
	maxTags       = 128
	// maxTagBytes bounds a span's attributes together.
	maxTagBytes = 64 << 10
	// maxDepth bounds lists within lists.
	maxDepth = 8
)

// Tags that are made from a span's own fields; they are Jaeger's names.
const (
	tagKind   = "span.kind"
	tagStatus = "otel.status_description"
)

// kinds are the values of span.kind, by OTLP's number; an internal span has none.
var kinds = [...]string{2: "server", 3: "client", 4: "producer", 5: "consumer"}

// fromOTLP returns the spans of a request, and how many of them have ids that are none, with the first
// fault.
func fromOTLP(req *coltracepb.ExportTraceServiceRequest) (spans []span, rejected int64, fault string) {
	for _, rs := range req.GetResourceSpans() {
		service := "unknown_service"
		for _, kv := range rs.GetResource().GetAttributes() {
			if kv.GetKey() == "service.name" && kv.GetValue().GetStringValue() != "" {
				service = cut(kv.GetValue().GetStringValue(), maxNameBytes)
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, p := range ss.GetSpans() {
				s, err := convert(p, service)
				if err != nil {
					if rejected++; fault == "" {
						fault = err.Error()
					}
					continue
				}
				spans = append(spans, s)
			}
		}
	}
	return spans, rejected, fault
}

// convert turns one span into what is kept of it.
func convert(p *tracepb.Span, service string) (span, error) {
	s := span{
		start: p.GetStartTimeUnixNano(), end: p.GetEndTimeUnixNano(), service: service,
		failed: p.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, name: cut(p.GetName(), maxNameBytes),
	}
	if len(p.GetTraceId()) != len(s.trace) || traceID(p.GetTraceId()) == (traceID{}) {
		return span{}, fmt.Errorf("trace id of span %q is not 16 bytes, one of them not 0", s.name)
	}
	if len(p.GetSpanId()) != len(s.id) || spanID(p.GetSpanId()) == (spanID{}) {
		return span{}, fmt.Errorf("span id of span %q is not 8 bytes, one of them not 0", s.name)
	}
	if n := len(p.GetParentSpanId()); n != 0 && n != len(s.parent) {
		return span{}, fmt.Errorf("parent span id of span %q is not 8 bytes", s.name)
	}
	copy(s.trace[:], p.GetTraceId())
	copy(s.id[:], p.GetSpanId())
	copy(s.parent[:], p.GetParentSpanId())
	s.tags = tagsOf(p)
	return s, nil
}

// tagsOf returns a span's attributes as text, sorted by key.
func tagsOf(p *tracepb.Span) []tag {
	tags := make([]tag, 0, min(len(p.GetAttributes()), maxTags)+2)
	size := 0
	add := func(key, value string) {
		t := tag{cut(key, maxKeyBytes), cut(value, maxValueBytes)}
		if size += len(t.key) + len(t.value); len(tags) < maxTags && size <= maxTagBytes {
			tags = append(tags, t)
		}
	}
	if k := int(p.GetKind()); k >= 0 && k < len(kinds) && kinds[k] != "" {
		add(tagKind, kinds[k])
	}
	if m := p.GetStatus().GetMessage(); m != "" {
		add(tagStatus, m)
	}
	for _, kv := range p.GetAttributes() {
		if kv.GetKey() != "" {
			add(kv.GetKey(), valueText(kv.GetValue()))
		}
	}
	slices.SortStableFunc(tags, func(a, b tag) int { return strings.Compare(a.key, b.key) })
	return slices.CompactFunc(tags, func(a, b tag) bool { return a.key == b.key })
}

// valueText returns an attribute's value as text: lists and maps as JSON, bytes in base64.
func valueText(value *commonpb.AnyValue) string {
	switch v := value.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *commonpb.AnyValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
	case *commonpb.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *commonpb.AnyValue_ArrayValue, *commonpb.AnyValue_KvlistValue:
		if text, err := json.Marshal(plain(value, 0)); err == nil {
			return string(text)
		}
	}
	return ""
}

// plain turns a value into what encoding/json writes.
func plain(value *commonpb.AnyValue, depth int) any {
	if depth > maxDepth {
		return nil
	}
	switch v := value.GetValue().(type) {
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_ArrayValue:
		list := []any{}
		for _, e := range v.ArrayValue.GetValues() {
			list = append(list, plain(e, depth+1))
		}
		return list
	case *commonpb.AnyValue_KvlistValue:
		object := map[string]any{}
		for _, e := range v.KvlistValue.GetValues() {
			object[e.GetKey()] = plain(e.GetValue(), depth+1)
		}
		return object
	}
	return valueText(value)
}

// cut shortens s to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// mendJSONIDs puts right the ids of a request that was read from OTLP's JSON. There they are hexadecimal,
// while protobuf's JSON reading takes every bytes field for base64; hexadecimal text happens to be valid
// base64, so encoding the bytes again gives the text that was sent.
func mendJSONIDs(req *coltracepb.ExportTraceServiceRequest) {
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, p := range ss.GetSpans() {
				p.TraceId, p.SpanId = fromHex(p.GetTraceId()), fromHex(p.GetSpanId())
				p.ParentSpanId = fromHex(p.GetParentSpanId())
			}
		}
	}
}

// fromHex returns the bytes of an id, or the wrong ones (which convert refuses) when it was no hexadecimal.
func fromHex(misread []byte) []byte {
	id, err := hex.DecodeString(base64.StdEncoding.EncodeToString(misread))
	if err != nil {
		return misread
	}
	return id
}
