// Package reload is `tandem reload`: it has every process that a router knows read its bundles again, the object hosts
// before the Workers, and says what became of each.
//
// Hosts come first so that a new Worker finds the methods that it calls. In between, for less than a second as a rule, old
// Workers call new objects.
//
// Run asks one process after the other, each for two minutes at most, on the caller's goroutine.
package reload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	deploypb "github.com/tandem-do/tandem/proto/deploy/v1"
	routerpb "github.com/tandem-do/tandem/proto/router/v1"
)

const (
	// askTimeout bounds a question to the router, processTimeout one process's answer.
	askTimeout     = 10 * time.Second
	processTimeout = 2*time.Minute + 10*time.Second
)

var (
	// ErrRefused is returned when a process goes on with what it had, or did not answer.
	ErrRefused = errors.New("not every process runs what is in its files, see above")
	// ErrNone is returned when the router knows no process that runs a bundle.
	ErrNone = errors.New("the router knows no process that runs a bundle")
)

// Options say whom to ask.
type Options struct {
	// Router is the connection to the router process. Required.
	Router *grpc.ClientConn
	// Dial connects to a process. Required.
	Dial func(target string) (*grpc.ClientConn, error)
	// Out takes a line for each bundle of each process. Required.
	Out io.Writer
}

// process is one process to ask.
type process struct{ kind, address string }

// Run asks all processes. Errors: of asking the router, ErrNone, ErrRefused.
func Run(ctx context.Context, o Options) error {
	list, err := processes(ctx, routerpb.NewRouterServiceClient(o.Router))
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	asked, failed := 0, false
	for _, p := range list {
		r, err := deploy(ctx, o, p.address)
		switch {
		case status.Code(err) == codes.Unimplemented:
			continue // it runs no bundle
		case err != nil:
			asked++
			failed = true
			fmt.Fprintf(w, "%s\t%s\t\tno answer: %s\n", p.kind, p.address, status.Convert(err).Message())
		}
		for _, one := range r.GetOutcomes() {
			asked++
			failed = failed || one.GetRefused() != ""
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.kind, p.address, one.GetWorker(), say(one))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	switch {
	case asked == 0:
		return ErrNone
	case failed:
		return ErrRefused
	}
	return nil
}

// processes returns hosts, then Workers.
func processes(ctx context.Context, router routerpb.RouterServiceClient) (list []process, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	hosts, err := router.ListMembers(ctx, &routerpb.ListMembersRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the router for hosts: %s", status.Convert(err).Message())
	}
	for _, m := range hosts.GetMembers() {
		if m.GetState() == routerpb.MemberState_MEMBER_STATE_ALIVE {
			list = append(list, process{"durableobject", m.GetAddress()})
		}
	}
	workers, err := router.ListWorkers(ctx, &routerpb.ListWorkersRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the router for Workers: %s", status.Convert(err).Message())
	}
	for _, p := range workers.GetProcesses() {
		list = append(list, process{"worker", p.GetAddress()})
	}
	return list, nil
}

// deploy asks one process.
func deploy(ctx context.Context, o Options, address string) (*deploypb.DeployResponse, error) {
	conn, err := o.Dial(address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	return deploypb.NewDeployServiceClient(conn).Deploy(ctx, &deploypb.DeployRequest{})
}

// say words an outcome.
func say(o *deploypb.Outcome) string {
	switch {
	case o.GetRefused() != "":
		return "refused, " + short(o.GetHash()) + " goes on: " + o.GetRefused()
	case !o.GetChanged():
		return short(o.GetHash()) + " runs already"
	case o.GetHash() == o.GetPreviousHash():
		return short(o.GetHash()) + " runs with other secrets"
	}
	return short(o.GetHash()) + " runs, before it " + short(o.GetPreviousHash())
}

func short(hash string) string { return hash[:min(len(hash), 12)] }
