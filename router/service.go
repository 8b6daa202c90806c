package router

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/router/lease"
	"github.com/tandem-do/tandem/router/membership"
	"github.com/tandem-do/tandem/router/placement"
)

// service implements the RPCs of router/v1: it checks requests, and has the ledger do the rest.
type service struct {
	routerpb.UnimplementedRouterServiceServer
	ledger *ledger
}

// Join implements routerpb.RouterServiceServer.
func (s *service) Join(ctx context.Context, r *routerpb.JoinRequest) (*routerpb.JoinResponse, error) {
	if err := validateJoin(r); err != nil {
		return nil, err
	}
	var granted lease.Record
	var refused error
	err := s.ledger.do(ctx, func(now time.Time) {
		granted, refused = s.ledger.join(now, lease.Record{
			HostID: r.GetHostId(), Incarnation: r.GetIncarnation(), Address: r.GetAddress(),
			Namespaces: r.GetNamespaces(), Epoch: r.GetKnownEpoch(),
		})
	})
	if err != nil {
		return nil, err
	}
	if errors.Is(refused, lease.ErrFull) {
		return nil, status.Error(codes.ResourceExhausted, refused.Error())
	}
	if refused != nil {
		return nil, refused
	}
	return &routerpb.JoinResponse{Epoch: granted.Epoch, LeaseTtl: durationpb.New(membership.TTL)}, nil
}

// Renew implements routerpb.RouterServiceServer.
func (s *service) Renew(ctx context.Context, r *routerpb.RenewRequest) (*routerpb.RenewResponse, error) {
	if err := validateLease(r.GetHostId(), r.GetEpoch()); err != nil {
		return nil, err
	}
	var refused error
	err := s.ledger.do(ctx, func(now time.Time) {
		refused = s.ledger.renew(now, r.GetHostId(), r.GetEpoch(), r.GetDraining())
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, status.Error(codes.NotFound, refused.Error())
	}
	return &routerpb.RenewResponse{}, nil
}

// Leave implements routerpb.RouterServiceServer.
func (s *service) Leave(ctx context.Context, r *routerpb.LeaveRequest) (*routerpb.LeaveResponse, error) {
	if err := validateLease(r.GetHostId(), r.GetEpoch()); err != nil {
		return nil, err
	}
	err := s.ledger.do(ctx, func(time.Time) { s.ledger.leave(r.GetHostId(), r.GetEpoch()) })
	if err != nil {
		return nil, err
	}
	return &routerpb.LeaveResponse{}, nil
}

// Locate implements routerpb.RouterServiceServer.
func (s *service) Locate(ctx context.Context, r *routerpb.LocateRequest) (*routerpb.LocateResponse, error) {
	if err := validateLocate(r); err != nil {
		return nil, err
	}
	slot := placement.Slot{Namespace: r.GetNamespace(), Number: objectid.ID(r.GetObjectId()).Slot()}
	var found lease.Record
	var refused error
	err := s.ledger.do(ctx, func(time.Time) { found, refused = s.ledger.locate(slot) })
	if err != nil {
		return nil, err
	}
	if u, ok := errors.AsType[*placement.Unavailable](refused); ok {
		return nil, &sidecar.Error{Reason: sidecar.ReasonUnplaced, Message: u.Error(), Retryable: true}
	}
	if refused != nil {
		return nil, refused
	}
	return &routerpb.LocateResponse{
		Slot: slot.Number, HostId: found.HostID, Address: found.Address, Epoch: found.Epoch,
	}, nil
}

// ListMembers implements routerpb.RouterServiceServer.
func (s *service) ListMembers(ctx context.Context, _ *routerpb.ListMembersRequest) (
	*routerpb.ListMembersResponse, error,
) {
	var members []*routerpb.Member
	err := s.ledger.do(ctx, func(time.Time) {
		for _, rec := range s.ledger.list() {
			members = append(members, &routerpb.Member{
				HostId: rec.HostID, Address: rec.Address, Epoch: rec.Epoch,
				State: toState(s.ledger.members.State(rec.HostID)), Namespaces: rec.Namespaces,
			})
		}
	})
	if err != nil {
		return nil, err
	}
	return &routerpb.ListMembersResponse{Members: members}, nil
}

func toState(s membership.State) routerpb.MemberState {
	switch s {
	case membership.Alive:
		return routerpb.MemberState_MEMBER_STATE_ALIVE
	case membership.Draining:
		return routerpb.MemberState_MEMBER_STATE_DRAINING
	default:
		return routerpb.MemberState_MEMBER_STATE_GONE
	}
}
