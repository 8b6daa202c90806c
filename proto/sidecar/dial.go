package sidecar

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// keepaliveInterval and keepaliveTimeout: a peer that is silent this long is asked, and given up.
	keepaliveInterval = 10 * time.Second
	keepaliveTimeout  = 5 * time.Second
	// maxConnectBackoff is the longest pause between two attempts to connect, so that a peer that has
	// been restarted is found again within a second.
	maxConnectBackoff = time.Second
	// connectTimeout bounds one attempt to connect, and the opening of a Link's stream.
	connectTimeout = 5 * time.Second

	// MaxValueBytes is the most that the serialized arguments, or the value, of a method call may hold.
	// Like workerd: JS RPC messages of at most 32 MiB.
	MaxValueBytes = 32 << 20
	// maxMessageBytes is the largest gRPC message: a value, and what goes with it.
	maxMessageBytes = MaxValueBytes + 1<<20

	// Fixed flow-control windows spare the pings with which gRPC would otherwise estimate them, and bound
	// what a slow reader of one stream can have waiting.
	streamWindowBytes     = 512 << 10
	connectionWindowBytes = 4 << 20
)

// Dial returns a connection to a gRPC target, such as "unix:/path" or "host:port". It is lazy: the first
// call connects, and fails at once while the peer is away. Calls carry the trace of their context. Close
// the connection to end its goroutines. opts come after the kit's own.
func Dial(target string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	all := append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxConnectBackoff,
			},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveInterval, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes),
			grpc.ForceCodecV2(newCodec())),
		grpc.WithStaticStreamWindowSize(streamWindowBytes),
		grpc.WithStaticConnWindowSize(connectionWindowBytes),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
		grpc.WithChainUnaryInterceptor(traceUnaryCall),
		grpc.WithChainStreamInterceptor(traceStreamCall),
	}, opts...)
	conn, err := grpc.NewClient(target, all...)
	if err != nil {
		return nil, fmt.Errorf("dial %q: %w", target, err)
	}
	return conn, nil
}

func traceUnaryCall(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	return invoke(withOutgoingTrace(ctx), method, req, reply, cc, opts...)
}

func traceStreamCall(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return open(withOutgoingTrace(ctx), desc, cc, method, opts...)
}
