package deploy

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	deploypb "github.com/tandem-do/tandem/proto/deploy/v1"
)

// service is a deployer as a gRPC service.
type service struct {
	deploypb.UnimplementedDeployServiceServer
	deployer *Deployer
}

var _ deploypb.DeployServiceServer = (*service)(nil)

// Register serves a deployer's service.
func Register(r grpc.ServiceRegistrar, d *Deployer) {
	deploypb.RegisterDeployServiceServer(r, &service{deployer: d})
}

// Deploy implements deploypb.DeployServiceServer.
func (s *service) Deploy(ctx context.Context, _ *deploypb.DeployRequest) (*deploypb.DeployResponse, error) {
	r, err := s.deployer.Deploy(ctx)
	switch {
	case errors.Is(err, ErrEnding):
		return nil, status.Error(codes.Unavailable, err.Error())
	case err != nil && ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &deploypb.DeployResponse{
		Worker: r.Running.Bundle.Manifest().Name, Hash: r.Running.Bundle.Hash(), PreviousHash: r.Previous, Changed: r.Changed,
	}, nil
}
