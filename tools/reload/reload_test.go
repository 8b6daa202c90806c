package reload

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	deploypb "github.com/tandem-do/tandem/proto/deploy/v1"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// router is a router that knows a host that drains, one that does not, and two workers.
type router struct {
	routerpb.UnimplementedRouterServiceServer
	none bool
}

func (r router) ListMembers(context.Context, *routerpb.ListMembersRequest) (*routerpb.ListMembersResponse, error) {
	if r.none {
		return &routerpb.ListMembersResponse{}, nil
	}
	return &routerpb.ListMembersResponse{Members: []*routerpb.Member{
		{Address: "draining", State: routerpb.MemberState_MEMBER_STATE_DRAINING},
		{Address: "host", State: routerpb.MemberState_MEMBER_STATE_ALIVE},
		{Address: "mcp", State: routerpb.MemberState_MEMBER_STATE_ALIVE},
	}}, nil
}

func (r router) ListWorkers(context.Context, *routerpb.ListWorkersRequest) (*routerpb.ListWorkersResponse, error) {
	if r.none {
		return &routerpb.ListWorkersResponse{}, nil
	}
	return &routerpb.ListWorkersResponse{Processes: []*routerpb.WorkerProcess{
		{Worker: "api", Address: "worker1"}, {Worker: "api", Address: "worker2"},
	}}, nil
}

// deployed is a process that answers with an outcome, or runs no bundle.
type deployed struct {
	deploypb.UnimplementedDeployServiceServer
	answer *deploypb.DeployResponse
	err    error
}

func (d deployed) Deploy(context.Context, *deploypb.DeployRequest) (*deploypb.DeployResponse, error) {
	if d.answer == nil && d.err == nil {
		return nil, status.Error(codes.Unimplemented, "no such service")
	}
	return d.answer, d.err
}

// network serves processes by their addresses.
type network map[string]*bufconn.Listener

func (n network) serve(t *testing.T, address string, register func(*sidecar.Server)) {
	l, server := bufconn.Listen(1<<16), sidecar.NewServer(sidecar.ServerOptions{})
	n[address] = l
	register(server)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- sidecar.Serve(ctx, l, server) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (n network) dial(address string) (*grpc.ClientConn, error) {
	return sidecar.Dial("passthrough:///"+address, grpc.WithContextDialer(
		func(ctx context.Context, to string) (net.Conn, error) {
			if l := n[to]; l != nil {
				return l.DialContext(ctx)
			}
			return nil, errors.New("nobody listens")
		}))
}

func outcome(o *deploypb.Outcome) deployed {
	o.Worker = "api"
	return deployed{answer: &deploypb.DeployResponse{Outcomes: []*deploypb.Outcome{o}}}
}

func TestRun(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	good := outcome(&deploypb.Outcome{Hash: b, PreviousHash: a, Changed: true})
	for _, tc := range []struct {
		name    string
		none    bool
		workers [2]deployed
		err     error
		want    string
	}{
		{"all", false, [2]deployed{good, outcome(&deploypb.Outcome{Hash: b, PreviousHash: b, Changed: true})}, nil,
			"durableobject  host  api  bbbbbbbbbbbb runs, before it aaaaaaaaaaaa\n" +
				"worker  worker1  api  bbbbbbbbbbbb runs, before it aaaaaaaaaaaa\n" +
				"worker  worker2  api  bbbbbbbbbbbb runs with other secrets\n"},
		{"refused", false, [2]deployed{
			outcome(&deploypb.Outcome{Hash: a, PreviousHash: a, Refused: "does not start"}),
			outcome(&deploypb.Outcome{Hash: b, PreviousHash: b}),
		}, ErrRefused,
			"durableobject  host  api  bbbbbbbbbbbb runs, before it aaaaaaaaaaaa\n" +
				"worker  worker1  api  refused, aaaaaaaaaaaa goes on: does not start\n" +
				"worker  worker2  api  bbbbbbbbbbbb runs already\n"},
		{"no answer", false, [2]deployed{good, {err: status.Error(codes.Unavailable, "ending")}}, ErrRefused,
			"durableobject  host  api  bbbbbbbbbbbb runs, before it aaaaaaaaaaaa\n" +
				"worker  worker1  api  bbbbbbbbbbbb runs, before it aaaaaaaaaaaa\n" +
				"worker  worker2    no answer: ending\n"},
		{"nobody", true, [2]deployed{}, ErrNone, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			n := network{}
			n.serve(t, "router", func(s *sidecar.Server) { routerpb.RegisterRouterServiceServer(s, router{none: tc.none}) })
			for address, d := range map[string]deployed{
				"draining": {err: errors.New("it was asked")}, "host": good, "mcp": {},
				"worker1": tc.workers[0], "worker2": tc.workers[1],
			} {
				n.serve(t, address, func(s *sidecar.Server) { deploypb.RegisterDeployServiceServer(s, d) })
			}
			conn, err := n.dial("router")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var out strings.Builder
			err = Run(t.Context(), Options{Router: conn, Dial: n.dial, Out: &out})
			if !errors.Is(err, tc.err) || out.String() != tc.want {
				t.Errorf("got %v and\n%s", err, out.String())
			}
		})
	}
}
