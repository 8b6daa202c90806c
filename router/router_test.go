package router_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/router"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

var (
	hostA = strings.Repeat("a", 32)
	hostB = strings.Repeat("b", 32)
	inc1  = strings.Repeat("1", 32)
	inc2  = strings.Repeat("2", 32)
	ns    = objectid.NewNamespace("x-A")
	id    = ns.FromName("n")
)

// process is a router that can be stopped and started again on one directory.
type process struct {
	routerpb.RouterServiceClient
	t    *testing.T
	dir  string
	stop func()
	// follow is Options.FollowHosts of the next start.
	follow bool
}

func start(t *testing.T, dir string) *process {
	p := &process{t: t, dir: dir}
	p.start()
	return p
}

func (p *process) start() {
	l := bufconn.Listen(64 << 10)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	o := router.Options{Listener: l, Dir: p.dir, FollowHosts: p.follow}
	go func() { served <- router.Serve(ctx, o) }()
	conn, err := sidecar.Dial("passthrough:///router", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		p.t.Fatal(err)
	}
	p.RouterServiceClient = routerpb.NewRouterServiceClient(conn)
	p.stop = func() {
		cancel()
		if err := <-served; err != nil {
			p.t.Error(err)
		}
		if err := conn.Close(); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *process) join(host, incarnation string) uint64 {
	p.t.Helper()
	r, err := p.Join(p.t.Context(), &routerpb.JoinRequest{
		HostId: host, Incarnation: incarnation, Address: "unix:/" + host[:1], Namespaces: []string{"x-A"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if r.GetLeaseTtl().AsDuration() != 10*time.Second {
		p.t.Errorf("lease TTL %v", r.GetLeaseTtl().AsDuration())
	}
	return r.GetEpoch()
}

func (p *process) renew(host string, epoch uint64, draining bool) error {
	_, err := p.Renew(p.t.Context(), &routerpb.RenewRequest{HostId: host, Epoch: epoch, Draining: draining})
	return err
}

func (p *process) locate() (string, error) {
	r, err := p.Locate(p.t.Context(), &routerpb.LocateRequest{Namespace: "x-A", ObjectId: id[:]})
	if err != nil {
		return "", err
	}
	if r.GetSlot() != id.Slot() {
		p.t.Errorf("got slot %d, want %d", r.GetSlot(), id.Slot())
	}
	return fmt.Sprintf("%s %s %d", r.GetHostId()[:1], r.GetAddress(), r.GetEpoch()), nil
}

func (p *process) wantLocated(want string) {
	p.t.Helper()
	if got, err := p.locate(); err != nil || got != want {
		p.t.Errorf("locate: got %q, %v, want %q", got, err, want)
	}
}

func (p *process) wantUnplaced(text string) {
	p.t.Helper()
	_, err := p.locate()
	e := sidecar.FromError(err)
	if status.Code(err) != codes.Unavailable || e.Reason != sidecar.ReasonUnplaced || !e.Retryable ||
		!strings.Contains(e.Message, text) {
		p.t.Errorf("locate: got %v, want UNAVAILABLE with %q", err, text)
	}
}

// bubble runs a test against a router in a synctest bubble.
func bubble(t *testing.T, test func(t *testing.T, p *process)) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "router")
	synctest.Test(t, func(t *testing.T) {
		p := start(t, dir)
		defer func() { p.stop() }()
		test(t, p)
	})
}

func TestLeaseLifetime(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		p.wantUnplaced("no live host serves")
		epoch := p.join(hostA, inc1)
		p.wantLocated("a unix:/a 1")
		for range 5 {
			time.Sleep(9 * time.Second)
			if err := p.renew(hostA, epoch, false); err != nil {
				t.Fatal(err)
			}
		}
		p.wantLocated("a unix:/a 1")
		time.Sleep(10*time.Second - time.Millisecond)
		p.wantLocated("a unix:/a 1")
		time.Sleep(time.Millisecond)
		p.wantUnplaced("gone")
		if err := p.renew(hostA, epoch, false); status.Code(err) != codes.NotFound {
			t.Errorf("renew of an ended lease: %v, want NOT_FOUND", err)
		}
		// Another host is no substitute: the objects are on the first one.
		p.join(hostB, inc1)
		p.wantUnplaced("gone")
		if again := p.join(hostA, inc1); again != epoch {
			t.Errorf("same incarnation: epoch %d, want %d", again, epoch)
		}
		p.wantLocated("a unix:/a 1")
	})
}

func TestNewIncarnationSupersedes(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		first := p.join(hostA, inc1)
		p.wantLocated("a unix:/a 1")
		second := p.join(hostA, inc2)
		if second <= first {
			t.Errorf("epochs %d, then %d", first, second)
		}
		p.wantLocated("a unix:/a 2")
		if err := p.renew(hostA, first, false); status.Code(err) != codes.NotFound {
			t.Errorf("renew under the old epoch: %v, want NOT_FOUND", err)
		}
		// The old process's farewell does not end the new one's lease.
		if _, err := p.Leave(t.Context(), &routerpb.LeaveRequest{HostId: hostA, Epoch: first}); err != nil {
			t.Error(err)
		}
		p.wantLocated("a unix:/a 2")
	})
}

func TestDrainAndLeave(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		epoch := p.join(hostA, inc1)
		p.wantLocated("a unix:/a 1")
		if err := p.renew(hostA, epoch, true); err != nil {
			t.Fatal(err)
		}
		p.wantUnplaced("draining")
		for range 2 {
			if _, err := p.Leave(t.Context(), &routerpb.LeaveRequest{HostId: hostA, Epoch: epoch}); err != nil {
				t.Fatal(err)
			}
		}
		p.wantUnplaced("gone")
		r, err := p.ListMembers(t.Context(), &routerpb.ListMembersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		want := []*routerpb.Member{{
			HostId: hostA, Address: "unix:/a", Epoch: 1, State: routerpb.MemberState_MEMBER_STATE_GONE,
			Namespaces: []string{"x-A"},
		}}
		if diff := cmp.Diff(want, r.GetMembers(), protocmp.Transform()); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
	})
}

func TestRestartKeepsEpochsAndPlacements(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		epoch := p.join(hostA, inc1)
		p.wantLocated("a unix:/a 1")
		p.stop()
		p.start()
		// The lease goes on, since the host had nobody to renew with.
		p.wantLocated("a unix:/a 1")
		if err := p.renew(hostA, epoch, false); err != nil {
			t.Error(err)
		}
		p.join(hostB, inc1)
		p.stop()
		time.Sleep(time.Hour)
		p.start()
		p.wantLocated("a unix:/a 1")
		time.Sleep(11 * time.Second)
		p.wantUnplaced("gone")
		if got := p.join(hostA, inc2); got != 3 {
			t.Errorf("epoch %d, want 3", got)
		}
		if _, err := p.Leave(t.Context(), &routerpb.LeaveRequest{HostId: hostA, Epoch: 3}); err != nil {
			t.Fatal(err)
		}
		p.stop()
		p.start()
		p.wantUnplaced("gone") // it left, which is no loss of contact
	})
}

func TestManyFirstLookupsAgree(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		p.join(hostA, inc1)
		p.join(hostB, inc1)
		var wg sync.WaitGroup
		found := make([]string, 200)
		for i := range found {
			wg.Go(func() {
				var err error
				if found[i], err = p.locate(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, f := range found {
			if f != found[0] {
				t.Errorf("got %q and %q", f, found[0])
			}
		}
	})
}

func TestRefusesMalformedRequests(t *testing.T) {
	join := func(change func(r *routerpb.JoinRequest)) func(p *process) error {
		r := &routerpb.JoinRequest{HostId: hostA, Incarnation: inc1, Address: "unix:/a", Namespaces: []string{"x-A"}}
		change(r)
		return func(p *process) error {
			_, err := p.Join(p.t.Context(), r)
			return err
		}
	}
	locate := func(r *routerpb.LocateRequest) func(p *process) error {
		return func(p *process) error {
			_, err := p.Locate(p.t.Context(), r)
			return err
		}
	}
	tests := []struct {
		want string
		do   func(p *process) error
	}{
		{"host_id must be 32 lower-case hex digits", join(func(r *routerpb.JoinRequest) { r.HostId = "A" + hostA[1:] })},
		{"host_id must be", join(func(r *routerpb.JoinRequest) { r.HostId = "" })},
		{"incarnation must be", join(func(r *routerpb.JoinRequest) { r.Incarnation = "1" })},
		{"address is empty", join(func(r *routerpb.JoinRequest) { r.Address = "" })},
		{"address has 1025 bytes", join(func(r *routerpb.JoinRequest) { r.Address = strings.Repeat("x", 1025) })},
		{"known_epoch is", join(func(r *routerpb.JoinRequest) { r.KnownEpoch = 1<<62 + 1 })},
		{"namespaces has 1001 entries", join(func(r *routerpb.JoinRequest) { r.Namespaces = make([]string, 1001) })},
		{"namespaces[1] is empty", join(func(r *routerpb.JoinRequest) { r.Namespaces = []string{"x", ""} })},
		{"namespaces[0] has 513 bytes", join(func(r *routerpb.JoinRequest) { r.Namespaces[0] = strings.Repeat("x", 513) })},
		{"namespaces[0] holds a NUL", join(func(r *routerpb.JoinRequest) { r.Namespaces[0] = "a\x00b" })},
		{"namespace is empty", locate(&routerpb.LocateRequest{ObjectId: id[:]})},
		{"object_id has 31 bytes, want 32", locate(&routerpb.LocateRequest{Namespace: "x-A", ObjectId: id[1:]})},
		{"epoch is zero", func(p *process) error { return p.renew(hostA, 0, false) }},
		{"host_id must be", func(p *process) error { return p.renew("", 1, false) }},
		{"host_id must be", func(p *process) error {
			_, err := p.Leave(p.t.Context(), &routerpb.LeaveRequest{Epoch: 1})
			return err
		}},
	}
	bubble(t, func(t *testing.T, p *process) {
		for _, tt := range tests {
			err := tt.do(p)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(status.Convert(err).Message(), tt.want) {
				t.Errorf("got %v, want INVALID_ARGUMENT with %q", err, tt.want)
			}
		}
	})
}

func TestServeNamesABadDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := bufconn.Listen(1)
	running := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	first := bufconn.Listen(1 << 10)
	go func() { running <- router.Serve(ctx, router.Options{Listener: first, Dir: dir}) }()
	conn, err := sidecar.Dial("passthrough:///router", grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return first.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sidecar.WaitHealthy(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	err = router.Serve(t.Context(), router.Options{Listener: l, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second router on the directory: got %v", err)
	}
	cancel()
	if err := <-running; err != nil {
		t.Error(err)
	}
}
