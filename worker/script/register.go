package script

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
)

const (
	// registerTimeout bounds one call of the router, and how long the health check waits for the first one.
	registerTimeout = 2 * time.Second
	// firstRegisterRetry and lastRegisterRetry bound the pause after one that failed; it doubles in between.
	firstRegisterRetry = 50 * time.Millisecond
	lastRegisterRetry  = 2 * time.Second
	// leastLease is the shortest lease that is believed; it is renewed after a third of it.
	leastLease = time.Second
)

// registration is the process's place in the router's registry of Workers.
type registration struct {
	versions *versions
	log      *slog.Logger
	router   routerpb.RouterServiceClient
	request  *routerpb.RegisterWorkerRequest
	// away is true while the router does not answer.
	away bool
}

func newRegistration(v *versions, router routerpb.RouterServiceClient, address string) *registration {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return &registration{versions: v, log: v.options.Log, router: router, request: &routerpb.RegisterWorkerRequest{
		Worker: v.options.Bundle.Manifest().Name, Incarnation: hex.EncodeToString(b[:]), Address: address,
	}}
}

// register registers the process, or renews its lease, and returns when to do so again. It returns zero when the router
// says that it is of no use.
func (r *registration) register(ctx context.Context, pause time.Duration, o ...grpc.CallOption) (next time.Duration) {
	one, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	r.request.Entrypoints = r.versions.current.Load().o.Bundle.Manifest().Exports
	granted, err := r.router.RegisterWorker(one, r.request, o...)
	log := r.log
	switch {
	case err == nil:
		if r.away {
			log.Info("router is back", "worker", r.request.GetWorker())
		}
		r.away = false
		return max(granted.GetLeaseTtl().AsDuration(), leastLease) / 3
	case status.Code(err) == codes.InvalidArgument || status.Code(err) == codes.Unimplemented:
		log.Error("the router does not register this Worker: service bindings of others do not reach it", "err", err)
		return 0
	case !r.away && ctx.Err() == nil:
		log.Warn("router can't be reached, trying on", "err", err)
	}
	r.away = true
	return min(max(2*pause, firstRegisterRetry), lastRegisterRetry)
}

// keep keeps the process registered until ctx ends. The first registration was made, and the next is due after pause, or
// with a token in again.
func (r *registration) keep(ctx context.Context, pause time.Duration, again <-chan struct{}) {
	for pause > 0 {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-again:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if r.away {
			pause = r.register(ctx, pause)
		} else {
			pause = r.register(ctx, 0)
		}
	}
}

// end takes the process out of the registry, so that no more calls come.
func (r *registration) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	_, err := r.router.UnregisterWorker(ctx, &routerpb.UnregisterWorkerRequest{
		Worker: r.request.GetWorker(), Incarnation: r.request.GetIncarnation(),
	})
	if err != nil {
		r.log.Debug("leave the registry", "err", err) // the lease ends by itself
	}
}
