package sidecar

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
)

// interceptUnary continues the trace, maps errors and recovers panics of one unary call.
func (s *Server) interceptUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (
	reply any, err error,
) {
	ctx = withIncomingTrace(ctx)
	defer func() {
		if v := recover(); v != nil {
			reply, err = nil, panicError(v)
		}
		err = s.outcome(ctx, err)
	}()
	return h(ctx, req)
}

// interceptStream does the same for a stream.
func (s *Server) interceptStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	h grpc.StreamHandler,
) (err error) {
	ctx := withIncomingTrace(stream.Context())
	if ctx != stream.Context() {
		stream = &tracedStream{ServerStream: stream, ctx: ctx}
	}
	defer func() {
		if v := recover(); v != nil {
			err = panicError(v)
		}
		err = s.outcome(ctx, err)
	}()
	return h(srv, stream)
}

// tracedStream is a stream whose context continues the caller's trace.
type tracedStream struct {
	grpc.ServerStream
	ctx context.Context // the stream's own lifetime
}

// Context returns the stream's context.
func (s *tracedStream) Context() context.Context { return s.ctx }

// outcome returns what a handler's error is on the wire, having logged the cause of an internal one.
func (s *Server) outcome(ctx context.Context, err error) error {
	err = ToStatus(err)
	if e, ok := err.(*Error); ok { //nolint:errorlint // ToStatus returns it bare
		LogInternal(ctx, s.log, e)
	}
	return err
}

// panicError says what a recovered panic was, for the log only.
func panicError(v any) error {
	return internalError(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
}
