package router

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/router/lease"
	"github.com/tandem-do/tandem/router/membership"
	"github.com/tandem-do/tandem/router/placement"
	"github.com/tandem-do/tandem/router/registry"
)

const (
	// maxWaiting is how many operations may wait for the ledger; more wait with their callers.
	maxWaiting = 1024
	// expiryInterval is the pause between two looks for leases that have ended.
	expiryInterval = time.Second
)

// ledger owns all state of the router. Its run goroutine alone touches what is below ops.
type ledger struct {
	ops     chan operation
	stopped chan struct{} // closed when run has returned
	log     *slog.Logger

	store   *lease.Store
	members *membership.Table
	// serves are the namespaces of each host.
	serves map[string]map[string]struct{}
	// workers are the Workers' processes. They are known since after the ledger was made, at started.
	workers *registry.Table
	started time.Time
	// follow is Options.FollowHosts.
	follow bool
}

// operation is one RPC's part in the ledger.
type operation struct {
	// run reads and changes the state.
	run func(now time.Time)
	// done takes the outcome of the commit, once.
	done chan error
}

// newLedger returns a ledger over what the store remembers. A host that has not left counts as alive from now
// on, for one TTL: it had no way to renew while the router was away.
func newLedger(store *lease.Store, log *slog.Logger) *ledger {
	l := &ledger{
		ops: make(chan operation, maxWaiting), stopped: make(chan struct{}), log: log,
		store: store, members: membership.New(), serves: map[string]map[string]struct{}{},
		workers: registry.New(), started: time.Now(),
	}
	now := l.started
	for rec := range store.Leases {
		l.setNamespaces(rec)
		if rec.Ended {
			l.members.AddGone(rec.HostID, rec.Epoch)
		} else {
			l.members.Join(now, rec.HostID, rec.Epoch)
		}
	}
	return l
}

func (l *ledger) setNamespaces(rec lease.Record) {
	set := make(map[string]struct{}, len(rec.Namespaces))
	for _, ns := range rec.Namespaces {
		set[ns] = struct{}{}
	}
	l.serves[rec.HostID] = set
}

// run runs operations until stop is closed, or until a commit fails.
func (l *ledger) run(stop <-chan struct{}) error {
	defer close(l.stopped)
	tick := time.NewTicker(expiryInterval)
	defer tick.Stop()
	var batch []operation
	for {
		batch = batch[:0]
		select {
		case op := <-l.ops:
			batch = append(batch, op)
		case now := <-tick.C:
			l.expire(now)
			continue
		case <-stop:
			return nil
		}
		for len(l.ops) > 0 {
			batch = append(batch, <-l.ops)
		}
		now := time.Now()
		l.expire(now)
		for _, op := range batch {
			op.run(now)
		}
		err := l.store.Commit()
		for _, op := range batch {
			op.done <- err
		}
		if err != nil {
			return err
		}
	}
}

// do has the ledger run f, and returns when what it did is on disk.
func (l *ledger) do(ctx context.Context, f func(now time.Time)) error {
	op := operation{run: f, done: make(chan error, 1)}
	select {
	case l.ops <- op:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stopped:
		return errStopping()
	}
	select {
	case err := <-op.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stopped:
		return errStopping()
	}
}

func errStopping() error {
	return &sidecar.Error{Reason: sidecar.ReasonDraining, Retryable: true, Message: "The router is stopping."}
}

func (l *ledger) expire(now time.Time) {
	for _, id := range l.members.Expire(now) {
		l.log.Warn("lease ended", "host", id)
	}
	for _, p := range l.workers.Expire(now) {
		l.log.Warn("worker's registration ended", "worker", p.Worker, "address", p.Address)
	}
}

// join grants a lease.
func (l *ledger) join(now time.Time, rec lease.Record) (lease.Record, error) {
	rec, err := l.store.Grant(rec)
	if err != nil {
		return lease.Record{}, err
	}
	l.members.Join(now, rec.HostID, rec.Epoch)
	l.setNamespaces(rec)
	l.log.Info("member joined", "host", rec.HostID, "epoch", rec.Epoch, "address", rec.Address)
	return rec, nil
}

// renew extends a lease.
func (l *ledger) renew(now time.Time, hostID string, epoch uint64, draining bool) error {
	before := l.members.State(hostID)
	if err := l.members.Renew(now, hostID, epoch, draining); err != nil {
		return err
	}
	if after := l.members.State(hostID); after != before {
		l.log.Info("member changed", "host", hostID, "epoch", epoch, "state", after.String())
	}
	return nil
}

// leave ends a lease.
func (l *ledger) leave(hostID string, epoch uint64) {
	l.store.End(hostID, epoch)
	if l.members.Leave(hostID, epoch) {
		l.log.Info("member left", "host", hostID, "epoch", epoch)
	}
}

// locate returns the lease of the slot's host, having placed the slot if it was not.
func (l *ledger) locate(slot placement.Slot) (lease.Record, error) {
	hostID, placed := l.store.Placement(slot)
	var err error
	if placed {
		host := l.host(hostID, slot.Namespace)
		err = placement.Current(slot, host)
		if l.follow && (err != nil || !host.Serves) {
			if other, e := placement.First(slot, l.candidates(slot.Namespace)); e == nil {
				l.store.Move(slot, other)
				hostID, err = other, nil
			}
		}
	} else if hostID, err = placement.First(slot, l.candidates(slot.Namespace)); err == nil {
		l.store.Place(slot, hostID)
	}
	if err != nil {
		return lease.Record{}, err
	}
	rec, ok := l.store.Lease(hostID)
	if !ok {
		return lease.Record{}, fmt.Errorf("slot %d of %q is placed on host %s, which has no lease",
			slot.Number, slot.Namespace, hostID)
	}
	return rec, nil
}

// host is a host as placement sees it.
func (l *ledger) host(id, namespace string) placement.Host {
	_, serves := l.serves[id][namespace]
	return placement.Host{ID: id, State: l.members.State(id), Serves: serves}
}

func (l *ledger) candidates(namespace string) []placement.Host {
	hosts := make([]placement.Host, 0, len(l.serves))
	for id := range l.serves {
		hosts = append(hosts, l.host(id, namespace))
	}
	return hosts
}

// list returns every lease by host ID.
func (l *ledger) list() []lease.Record {
	return slices.SortedFunc(l.store.Leases, func(a, b lease.Record) int {
		if a.HostID < b.HostID {
			return -1
		}
		return 1
	})
}
