package binding

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tandem-do/tandem/proto/sidecar"
)

// Service is the binding of a Worker's entrypoint. It may be used from any goroutine. A service is found again for each
// call, so that one binding outlives any number of the Worker's restarts.
type Service struct {
	caller sidecar.Caller
	target sidecar.Target
}

// NewService returns the binding of a Worker's entrypoint, empty for the default one. Each event carries the props: JSON,
// a serialized value (V8 format), or nil.
func NewService(worker, entrypoint string, props []byte, caller sidecar.Caller) *Service {
	return &Service{caller: caller, target: sidecar.Target{Worker: worker, Entrypoint: entrypoint, Props: props}}
}

// Target is what the service's calls are for.
func (s *Service) Target() sidecar.Target { return s.target }

// Fetch sends a request to the entrypoint's fetch handler. Close the response's body. Errors are *sidecar.Error. Like
// wrangler: a Worker that does not run answers 503 with a text that names it.
func (s *Service) Fetch(ctx context.Context, r *http.Request) (*http.Response, error) {
	resp, err := s.caller.Fetch(ctx, s.target, r)
	if e, ok := errors.AsType[*sidecar.Error](err); ok && e.Reason == sidecar.ReasonNoSuchWorker {
		return &http.Response{
			Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"text/plain;charset=UTF-8"}},
			Body:   io.NopCloser(strings.NewReader(e.Message)), ContentLength: int64(len(e.Message)), Request: r,
		}, nil
	}
	return resp, err
}

// Call runs a method of the entrypoint with serialized arguments, or reads a property when they are nil. Errors are
// *sidecar.Error.
func (s *Service) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	return s.caller.Call(ctx, s.target, method, args)
}

// Invoke makes a call or reads a property, with stubs in its arguments and in its result, as sidecar.Stub's Invoke does.
func (s *Service) Invoke(ctx context.Context, in sidecar.Invocation) (sidecar.Value, error) {
	return sidecar.Invoke(ctx, s.caller, s.target, in)
}
