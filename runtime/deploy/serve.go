package deploy

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	deploypb "github.com/tandem-do/tandem/proto/deploy/v1"
)

// service is the deployers of a process as a gRPC service.
type service struct {
	deploypb.UnimplementedDeployServiceServer
	deployers []*Deployer
}

var _ deploypb.DeployServiceServer = (*service)(nil)

// Register serves the deployment service of a process.
func Register(r grpc.ServiceRegistrar, deployers ...*Deployer) {
	deploypb.RegisterDeployServiceServer(r, &service{deployers: deployers})
}

// Deploy implements deploypb.DeployServiceServer.
func (s *service) Deploy(ctx context.Context, _ *deploypb.DeployRequest) (*deploypb.DeployResponse, error) {
	out := &deploypb.DeployResponse{}
	for _, d := range s.deployers {
		r, err := d.Deploy(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		o := &deploypb.Outcome{
			Worker: r.Running.Bundle.Manifest().Name, Hash: r.Running.Bundle.Hash(), PreviousHash: r.Previous, Changed: r.Changed,
		}
		if err != nil {
			o.Refused = err.Error()
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out, nil
}
