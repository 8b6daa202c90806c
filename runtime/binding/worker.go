package binding

import (
	"context"
	"fmt"
	"strings"
	"time"

	routerpb "github.com/tandem-do/tandem/proto/router/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
)

// retireTime is how long the link to a process stays that the router does not know any more: it may be draining.
const retireTime = sidecar.DrainTimeout + 5*time.Second

// findWorker asks the router where a Worker's processes are.
func (r *Router) findWorker(ctx context.Context, name string) (at *location, err error) {
	ctx, span := telemetry.Start(ctx, telemetry.SpanWorkerFind)
	span.SetString(telemetry.AttrWorker, name)
	defer func() { span.End(err) }()
	found, err := r.o.Client.FindWorker(ctx, &routerpb.FindWorkerRequest{Worker: name})
	if err != nil {
		return nil, sidecar.FromError(err)
	}
	at = &location{}
	at.turn.Store(r.first.Add(1) - 1) // one that does not answer is not the first again
	live := map[string]bool{}
	for _, p := range found.GetProcesses() {
		key := linkKey(name, p.GetAddress())
		caller, err := r.link(key, p.GetAddress())
		if err != nil {
			return nil, sidecar.FromError(fmt.Errorf("reach Worker %s: %w", name, err))
		}
		live[key] = true
		at.callers = append(at.callers, caller)
	}
	if len(at.callers) == 0 {
		return nil, sidecar.FromError(fmt.Errorf("the router knows no process of Worker %s, and does not say so", name))
	}
	r.retire(name, live)
	return at, nil
}

// linkKey is the key of the link to a Worker's process: host_ids have no colon.
func linkKey(worker, address string) string { return workerKey(worker) + address }

// workerKey begins the keys of a Worker's links.
func workerKey(worker string) string { return "worker:" + worker + "\x00" }

// retire closes a Worker's links to processes that are not live, after a while.
func (r *Router) retire(worker string, live map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for key, l := range r.links {
		if !strings.HasPrefix(key, workerKey(worker)) || live[key] {
			continue
		}
		delete(r.links, key)
		r.wg.Go(func() {
			timer := time.NewTimer(retireTime)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.closing:
			}
			l.close() //nolint:errcheck // its process has gone
		})
	}
}
