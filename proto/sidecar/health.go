package sidecar

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	// healthPoll is the pause between two looks of WaitHealthy.
	healthPoll = 25 * time.Millisecond
	// healthTimeout bounds one look.
	healthTimeout = 2 * time.Second
)

// HealthCheck asks the server behind conn once whether it serves; nil means that it does. It gives up when
// ctx ends, and after two seconds.
func HealthCheck(ctx context.Context, conn grpc.ClientConnInterface) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	if r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("check health: the server says %s", r.GetStatus())
	}
	return nil
}

// WaitHealthy waits until the server behind conn serves. When ctx ends first, its error says what the last
// look found.
func WaitHealthy(ctx context.Context, conn grpc.ClientConnInterface) error {
	tick := time.NewTicker(healthPoll)
	defer tick.Stop()
	for {
		err := HealthCheck(ctx, conn)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the server serves: %w", err)
		case <-tick.C:
		}
	}
}
