package traces

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // exporters may compress
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxRequestBytes bounds an export, before and after decompression.
const maxRequestBytes = 16 << 20

// The content types of OTLP/HTTP.
const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

// collector is OTLP's trace service over the store.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer
	store *store
}

// newGRPC returns the OTLP/gRPC server, with health.
func newGRPC(s *store) *grpc.Server {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequestBytes), grpc.ConnectionTimeout(10*time.Second), grpc.MaxConcurrentStreams(64),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: 10 * time.Second, PermitWithoutStream: true,
		}),
	)
	coltracepb.RegisterTraceServiceServer(g, &collector{store: s})
	healthpb.RegisterHealthServer(g, health.NewServer())
	return g
}

// Export implements OTLP's TraceService. It may be repeated: a span that is there is replaced.
func (c *collector) Export(
	_ context.Context, req *coltracepb.ExportTraceServiceRequest,
) (*coltracepb.ExportTraceServiceResponse, error) {
	return c.store.export(req)
}

// export keeps the spans of a request. Those with bad ids are counted in the reply; the others are kept.
func (s *store) export(req *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	spans, rejected, fault := fromOTLP(req)
	if len(spans) > 0 {
		if err := s.add(spans); err != nil {
			s.log.Error("keeping spans failed", "err", err)
			return nil, status.Error(codes.Unavailable, "the trace store could not keep the spans")
		}
	}
	resp := &coltracepb.ExportTraceServiceResponse{}
	if rejected > 0 {
		resp.PartialSuccess = &coltracepb.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: fault}
	}
	return resp, nil
}

// serveOTLP is OTLP/HTTP: POST /v1/traces, protobuf or JSON, plain or gzip. Replies and errors have the
// encoding of the request, as the protocol wants.
func (a *api) serveOTLP(w http.ResponseWriter, r *http.Request) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (kind != typeProtobuf && kind != typeJSON) {
		http.Error(w, "the content type must be "+typeProtobuf+" or "+typeJSON, http.StatusUnsupportedMediaType)
		return
	}
	body, code, err := readBody(w, r)
	if err != nil {
		writeOTLP(w, kind, code, status.New(codes.InvalidArgument, err.Error()).Proto())
		return
	}
	req := &coltracepb.ExportTraceServiceRequest{}
	if kind == typeJSON {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, req)
		mendJSONIDs(req)
	} else {
		err = proto.Unmarshal(body, req)
	}
	if err != nil {
		text := "the body is not an OTLP trace export request"
		writeOTLP(w, kind, http.StatusBadRequest, status.New(codes.InvalidArgument, text).Proto())
		return
	}
	resp, err := a.store.export(req)
	if err != nil {
		writeOTLP(w, kind, http.StatusServiceUnavailable, status.Convert(err).Proto())
		return
	}
	writeOTLP(w, kind, http.StatusOK, resp)
}

// readBody returns a request's body, decompressed, or the HTTP status of what is wrong with it.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, int, error) {
	var in io.Reader = http.MaxBytesReader(w, r.Body, maxRequestBytes)
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, http.StatusBadRequest, errors.New("the body is not gzip")
		}
		in = zip
	default:
		return nil, http.StatusUnsupportedMediaType, errors.New("the content encoding must be gzip or identity")
	}
	body, err := io.ReadAll(io.LimitReader(in, maxRequestBytes+1))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) || len(body) > maxRequestBytes {
		return nil, http.StatusRequestEntityTooLarge, errors.New("the body is over 16 MiB")
	}
	if err != nil {
		return nil, http.StatusBadRequest, errors.New("the body ended early or is damaged")
	}
	return body, 0, nil
}

// writeOTLP writes m in the encoding of kind.
func writeOTLP(w http.ResponseWriter, kind string, code int, m proto.Message) {
	var body []byte
	var err error
	if kind == typeJSON {
		body, err = protojson.Marshal(m)
	} else {
		body, err = proto.Marshal(m)
	}
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
