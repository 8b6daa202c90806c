package dev

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Waits of a health check.
const (
	probeTimeout = 5 * time.Second
	probeEvery   = 10 * time.Millisecond
	// lookEvery is the pause between looks whether a socket is there, which cost less.
	lookEvery = 2 * time.Millisecond
)

// grpcHealth returns a check that waits until the gRPC health service on a unix socket says SERVING.
func grpcHealth(socket string) func(context.Context) error {
	target := "unix:" + socket
	return func(ctx context.Context) error {
		if err := poll(ctx, lookEvery, func(context.Context) error {
			_, err := os.Stat(socket)
			return err
		}); err != nil {
			return err
		}
		conn, err := grpc.NewClient(target,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: probeEvery, Multiplier: 1.2, MaxDelay: 100 * time.Millisecond},
				MinConnectTimeout: probeTimeout,
			}))
		if err != nil {
			return fmt.Errorf("health check of %s: %w", target, err)
		}
		defer conn.Close()
		client := grpc_health_v1.NewHealthClient(conn)
		return probe(ctx, func(ctx context.Context) error {
			r, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
			if err == nil && r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
				err = fmt.Errorf("it says %s", r.Status)
			}
			return err
		})
	}
}

// httpHealth returns a check that waits until GET of an address answers 200.
func httpHealth(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		transport := &http.Transport{DisableKeepAlives: true}
		client := &http.Client{Transport: transport}
		return probe(ctx, func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return err
			}
			res, err := client.Do(r)
			if err != nil {
				return err
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				return fmt.Errorf("GET %s answers %s", r.URL.Path, res.Status)
			}
			return nil
		})
	}
}

// probe calls check until it succeeds. When ctx ends first, its error holds the last one of check.
func probe(ctx context.Context, check func(context.Context) error) error {
	return poll(ctx, probeEvery, check)
}

func poll(ctx context.Context, every time.Duration, check func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			return check(ctx)
		}()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
