package router_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

func (p *process) register(worker, incarnation, address string) {
	p.t.Helper()
	r, err := p.RegisterWorker(p.t.Context(), &routerpb.RegisterWorkerRequest{
		Worker: worker, Incarnation: incarnation, Address: address, Entrypoints: []string{"default"},
	})
	if err != nil || r.GetLeaseTtl().AsDuration() != 10*time.Second {
		p.t.Fatalf("register: %v, %v", r, err)
	}
}

// wantWorker checks where a Worker's processes are.
func (p *process) wantWorker(name string, addresses ...string) {
	p.t.Helper()
	r, err := p.FindWorker(p.t.Context(), &routerpb.FindWorkerRequest{Worker: name})
	var got []string
	for _, process := range r.GetProcesses() {
		got = append(got, process.GetAddress())
	}
	if err != nil || strings.Join(got, " ") != strings.Join(addresses, " ") {
		p.t.Errorf("find %s: %v, %v, want %v", name, got, err, addresses)
	}
}

// wantNoWorker checks that there is none, and whether asking again may help.
func (p *process) wantNoWorker(name string, again bool) {
	p.t.Helper()
	_, err := p.FindWorker(p.t.Context(), &routerpb.FindWorkerRequest{Worker: name})
	e, want := sidecar.FromError(err), sidecar.ReasonNoSuchWorker
	if again {
		want = sidecar.ReasonUnplaced
	}
	if e == nil || e.Reason != want || e.Retryable != again ||
		!strings.HasPrefix(e.Message, `Worker "`+name+`" not found. Make sure it is running`) {
		p.t.Errorf("find %s: %v, want %v", name, err, want)
	}
}

func TestWorkerRegistry(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		p.wantNoWorker("a", true) // the router has only just started
		synctest.Wait()
		time.Sleep(5 * time.Second)
		p.wantNoWorker("a", false)
		p.register("a", inc1, "unix:/a")
		p.register("a", inc2, "unix:/a2")
		p.wantWorker("a", "unix:/a", "unix:/a2")
		list, err := p.ListWorkers(t.Context(), &routerpb.ListWorkersRequest{})
		if err != nil || len(list.GetProcesses()) != 2 || list.GetProcesses()[1].GetIncarnation() != inc2 {
			t.Errorf("list: %v, %v", list, err)
		}
		for range 2 {
			if _, err := p.UnregisterWorker(t.Context(), &routerpb.UnregisterWorkerRequest{Worker: "a", Incarnation: inc2}); err != nil {
				t.Error(err)
			}
		}
		p.wantWorker("a", "unix:/a")
		for range 5 {
			time.Sleep(9 * time.Second)
			p.register("a", inc1, "unix:/a")
		}
		p.wantWorker("a", "unix:/a")
		time.Sleep(10 * time.Second)
		p.wantNoWorker("a", true) // it may come back at once
		time.Sleep(11 * time.Second)
		p.wantNoWorker("a", false)

		// A restarted router knows none, until those that run have renewed.
		p.register("a", inc1, "unix:/a")
		p.stop()
		p.start()
		p.wantNoWorker("a", true)
		p.register("a", inc1, "unix:/a")
		p.wantWorker("a", "unix:/a")
	})
}

func TestRefusesMalformedRegistrations(t *testing.T) {
	good := func() *routerpb.RegisterWorkerRequest {
		return &routerpb.RegisterWorkerRequest{Worker: "a", Incarnation: inc1, Address: "unix:/a"}
	}
	bubble(t, func(t *testing.T, p *process) {
		for want, change := range map[string]func(r *routerpb.RegisterWorkerRequest){
			"worker is empty":               func(r *routerpb.RegisterWorkerRequest) { r.Worker = "" },
			"worker has 256 bytes":          func(r *routerpb.RegisterWorkerRequest) { r.Worker = strings.Repeat("x", 256) },
			"worker holds a NUL byte":       func(r *routerpb.RegisterWorkerRequest) { r.Worker = "a\x00" },
			"incarnation must be":           func(r *routerpb.RegisterWorkerRequest) { r.Incarnation = "x" },
			"address is empty":              func(r *routerpb.RegisterWorkerRequest) { r.Address = "" },
			"entrypoints has 1001 entries":  func(r *routerpb.RegisterWorkerRequest) { r.Entrypoints = make([]string, 1001) },
			"entrypoints[1] has 0 bytes":    func(r *routerpb.RegisterWorkerRequest) { r.Entrypoints = []string{"x", ""} },
			"entrypoints[0] has 1025 bytes": func(r *routerpb.RegisterWorkerRequest) { r.Entrypoints = []string{strings.Repeat("x", 1025)} },
		} {
			r := good()
			change(r)
			_, err := p.RegisterWorker(t.Context(), r)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(status.Convert(err).Message(), want) {
				t.Errorf("got %v, want INVALID_ARGUMENT with %q", err, want)
			}
		}
		if _, err := p.FindWorker(t.Context(), &routerpb.FindWorkerRequest{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("find without a name: %v", err)
		}
		if _, err := p.UnregisterWorker(t.Context(), &routerpb.UnregisterWorkerRequest{Worker: "a"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("unregister without an incarnation: %v", err)
		}
	})
}

// With FollowHosts a namespace's objects are where the host is that serves it now.
func TestFollowHosts(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		epoch := p.join(hostA, inc1)
		p.wantLocated("a unix:/a 1")
		p.stop()
		p.follow = true
		p.start()
		p.join(hostB, inc1)
		p.wantLocated("a unix:/a 1") // it is alive, and serves
		if _, err := p.Leave(t.Context(), &routerpb.LeaveRequest{HostId: hostA, Epoch: epoch}); err != nil {
			t.Fatal(err)
		}
		p.wantLocated("b unix:/b 2")
		_, err := p.Join(t.Context(), &routerpb.JoinRequest{
			HostId: hostB, Incarnation: inc1, Address: "unix:/b", Namespaces: []string{"y-A"},
		})
		if err != nil {
			t.Fatal(err)
		}
		p.wantLocated("b unix:/b 2") // nobody else serves it: the host itself says what is wrong
		p.join(hostA, inc2)
		p.wantLocated("a unix:/a 3")
	})
}

// A host that another router has known gets an epoch above what that one granted.
func TestKnownEpoch(t *testing.T) {
	bubble(t, func(t *testing.T, p *process) {
		r, err := p.Join(t.Context(), &routerpb.JoinRequest{HostId: hostA, Incarnation: inc1, Address: "unix:/a", KnownEpoch: 50})
		if err != nil || r.GetEpoch() != 51 {
			t.Errorf("got epoch %d, %v, want 51", r.GetEpoch(), err)
		}
		if got := p.join(hostA, inc1); got != 51 {
			t.Errorf("same incarnation: epoch %d, want 51", got)
		}
		if got := p.join(hostB, inc1); got != 52 {
			t.Errorf("another host: epoch %d, want 52", got)
		}
	})
}
