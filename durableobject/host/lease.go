package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
)

const (
	// routerTimeout bounds one call of the router.
	routerTimeout = 5 * time.Second
	// leaveTimeout bounds the last word to the router.
	leaveTimeout = 2 * time.Second
	// firstRetry and lastRetry bound the pause after a call of the router that failed; it doubles in between.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
	// leastLease is the shortest time to live of a lease that is believed; it is renewed after a third of it.
	leastLease = time.Second
)

// keepLease joins the router's membership and stays in it until ctx ends. It calls joined with each epoch that it is
// granted. While the router can't be reached it tries on, and calls go on under the last epoch. It fails only where
// trying on is of no use.
func (h *Host) keepLease(ctx context.Context, joined func(epoch uint64)) error {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	incarnation := hex.EncodeToString(b[:])
	var told chan<- struct{}
	for {
		r, err := h.join(ctx, incarnation)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if told != nil {
			close(told)
		}
		if err := h.store.SetEpoch(r.GetEpoch()); err != nil {
			return fmt.Errorf("epoch %d from the router, %d in the store: %w", r.GetEpoch(), h.store.Epoch(), err)
		}
		h.epoch.Store(r.GetEpoch())
		h.log.Info("host joined", "host", h.store.HostID(), "epoch", r.GetEpoch(), "address", h.address)
		joined(r.GetEpoch())
		told = h.renew(ctx, r.GetEpoch(), max(r.GetLeaseTtl().AsDuration(), leastLease))
		if ctx.Err() != nil {
			return nil
		}
		if told != nil {
			continue
		}
		h.log.Warn("host's lease has ended, joining again", "host", h.store.HostID(), "epoch", r.GetEpoch())
	}
}

// join asks the router for a lease until it grants one, ctx ends, or it says that the request is wrong.
func (h *Host) join(ctx context.Context, incarnation string) (*routerpb.JoinResponse, error) {
	req := &routerpb.JoinRequest{
		HostId: h.store.HostID(), Incarnation: incarnation, Address: h.address,
		Namespaces: h.classes.namespaces(true), KnownEpoch: h.store.Epoch(),
	}
	pause := firstRetry
	for first := true; ; first = false {
		one, cancel := context.WithTimeout(ctx, routerTimeout)
		r, err := h.members.Join(one, req)
		cancel()
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return nil, nil
		case status.Code(err) == codes.InvalidArgument:
			return nil, fmt.Errorf("join the router: %w", err)
		case first:
			h.log.Warn("router can't be reached, trying on", "err", err)
		}
		if !sleep(ctx, pause) {
			return nil, nil
		}
		pause = min(2*pause, lastRetry)
	}
}

// renew renews the lease until ctx ends or the router says that it has ended, or until the host has other classes: told is
// to be closed once the router knows them.
func (h *Host) renew(ctx context.Context, epoch uint64, ttl time.Duration) (told chan<- struct{}) {
	pause, away := ttl/3, false
	for {
		told, ok := h.pause(ctx, pause)
		if !ok || told != nil {
			return told
		}
		one, cancel := context.WithTimeout(ctx, routerTimeout)
		_, err := h.members.Renew(one, &routerpb.RenewRequest{HostId: h.store.HostID(), Epoch: epoch})
		cancel()
		pause = ttl / 3
		switch {
		case err == nil && away:
			h.log.Info("router is back", "host", h.store.HostID(), "epoch", epoch)
			away = false
		case err == nil || ctx.Err() != nil:
		case status.Code(err) == codes.NotFound:
			return nil
		default:
			if !away {
				h.log.Warn("router can't be reached, serving on", "epoch", epoch, "err", err)
			}
			away, pause = true, min(ttl/6, lastRetry)
		}
	}
}

// pause waits for d, and less when the host has other classes. It returns false if ctx ends first.
func (h *Host) pause(ctx context.Context, d time.Duration) (told chan<- struct{}, ok bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case told = <-h.rejoin:
		return told, true
	case <-t.C:
		return nil, true
	case <-ctx.Done():
		return nil, false
	}
}

// announceDrain tells the router that the host takes no new calls.
func (h *Host) announceDrain(ctx context.Context) {
	epoch := h.epoch.Load()
	if epoch == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	req := &routerpb.RenewRequest{HostId: h.store.HostID(), Epoch: epoch, Draining: true}
	if _, err := h.members.Renew(ctx, req); err != nil {
		h.log.Debug("announce drain", "err", err)
	}
}

// leave ends the lease.
func (h *Host) leave(ctx context.Context) {
	epoch := h.epoch.Load()
	if epoch == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if _, err := h.members.Leave(ctx, &routerpb.LeaveRequest{HostId: h.store.HostID(), Epoch: epoch}); err != nil {
		h.log.Debug("leave the router", "err", err) // the lease ends by itself
	}
}

// sleep waits for d; it returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
