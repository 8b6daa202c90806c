package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

const (
	// DrainTimeout is how long Serve lets calls finish once its context has ended.
	DrainTimeout = 10 * time.Second
	// minPingInterval is the shortest interval at which a client may ping; below it the server hangs up.
	minPingInterval = 5 * time.Second
	// maxStreams bounds the gRPC streams of one connection that are open at a time.
	maxStreams = 20_000
)

// ServerOptions say how NewServer builds a server.
type ServerOptions struct {
	// Reflection serves gRPC reflection, for development.
	Reflection bool
	// Log takes panics and the causes of internal errors; nil discards them.
	Log *slog.Logger
}

// Server is a gRPC server of this kit. Register services on it as on a *grpc.Server, then call Serve.
type Server struct {
	*grpc.Server
	// Health answers the health service; it says SERVING until the server drains.
	Health *health.Server

	log *slog.Logger
	// draining is closed when no new call is taken.
	draining chan struct{}
	// calls are the object calls that run, goroutines those that read Connect streams and run their calls.
	calls, goroutines sync.WaitGroup

	mu sync.Mutex // guards drained, and calls.Add against calls.Wait
	// drained is true once draining is closed.
	drained bool
}

// NewServer returns a gRPC server with health, keepalive and message limits. Its handlers' contexts
// continue the caller's trace, their errors go through ToStatus, and their panics become internal errors.
func NewServer(o ServerOptions) *Server {
	s := &Server{log: o.Log, draining: make(chan struct{}), Health: health.NewServer()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.Server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams), grpc.ForceServerCodecV2(newCodec()),
		grpc.StaticStreamWindowSize(streamWindowBytes), grpc.StaticConnWindowSize(connectionWindowBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(
			keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
		grpc.ChainUnaryInterceptor(s.interceptUnary),
		grpc.ChainStreamInterceptor(s.interceptStream),
	)
	healthpb.RegisterHealthServer(s.Server, s.Health)
	if o.Reflection {
		reflection.Register(s.Server)
	}
	return s
}

// Serve serves on l until ctx ends. It then says NOT_SERVING, refuses new object calls as draining, lets
// what runs finish for at most DrainTimeout, and ends the rest; it returns nil after that. It returns an
// error only when l fails. It closes l, and may be called once for a server.
func Serve(ctx context.Context, l net.Listener, s *Server) error {
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	var err error
	select {
	case err = <-failed:
		s.Drain()
		s.Stop()
	case <-ctx.Done():
		s.finish()
		err = <-failed
	}
	s.calls.Wait()
	s.goroutines.Wait()
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return nil
}

// Drain makes the server refuse new object calls with ReasonDraining and say NOT_SERVING, without ending
// anything that runs. Serve does so when its context ends; a host that leaves earlier calls it first.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained {
		return
	}
	s.drained = true
	close(s.draining)
	s.Health.Shutdown()
}

// finish ends the server: object calls first, since the bodies of their responses need new streams, then
// everything else.
func (s *Server) finish() {
	s.Drain()
	stop := time.AfterFunc(DrainTimeout, s.Stop)
	defer stop.Stop()
	s.calls.Wait()
	s.GracefulStop()
}

// begin counts one more object call, or reports false when the server drains.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drained {
		return false
	}
	s.calls.Add(1)
	return true
}
