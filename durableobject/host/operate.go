package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/admin"
	"github.com/tandem-do/tandem/durableobject/alarm"
	"github.com/tandem-do/tandem/durableobject/gate"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// evictPoll is how often an eviction that waits looks whether the object has come to rest.
const evictPoll = 5 * time.Millisecond

// operator is what the admin service sees of a host.
type operator struct{ host *Host }

var _ admin.Host = operator{}

// State implements admin.Host.
func (o operator) State() admin.HostState {
	return admin.HostState{Epoch: o.host.epoch.Load(), Draining: o.host.draining.Load()}
}

// Namespaces implements admin.Host.
func (o operator) Namespaces() []string { return o.host.classes.namespaces(false) }

// Actor implements admin.Host.
func (o operator) Actor(namespace string, id objectid.ID) (actor.Snapshot, bool) {
	e := o.find(namespace, id)
	if e == nil {
		return actor.Snapshot{}, false
	}
	return e.snapshot()
}

// entryActor returns the object's actor, or nil.
func (o operator) entryActor(namespace string, id objectid.ID) *actor.Actor {
	e := o.find(namespace, id)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.actor
}

// find returns the object's entry if there is one.
func (o operator) find(namespace string, id objectid.ID) *entry {
	c := o.host.classes.get(namespace)
	if c == nil {
		return nil
	}
	return o.host.table.find(tableKey{class: c, id: id})
}

// Evict implements admin.Host.
func (o operator) Evict(ctx context.Context, namespace string, id objectid.ID, wait time.Duration) error {
	e := o.find(namespace, id)
	if e == nil {
		return admin.ErrNotLive
	}
	if e.pardon() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		live, evicted := e.evict()
		switch {
		case evicted:
			return nil
		case !live:
			return admin.ErrNotLive
		case !sleep(ctx, evictPoll):
			return admin.ErrActive
		}
	}
}

// Abort implements admin.Host.
func (o operator) Abort(namespace string, id objectid.ID, message string) error {
	e := o.find(namespace, id)
	if e == nil {
		return admin.ErrNotLive
	}
	pardoned := e.pardon()
	a := o.entryActor(namespace, id)
	switch {
	case a != nil && a.Reason() == actor.NotBroken:
	case pardoned:
		return nil
	default:
		return admin.ErrNotLive
	}
	a.Break(actor.ReasonOperator, gate.Reset(errors.New(message)))
	return nil
}

// Replace implements admin.Host.
func (o operator) Replace(namespace string, id objectid.ID, message string, change func() error) (bool, error) {
	h := o.host
	h.running.enter() // so that a drain waits for it
	defer h.running.leave()
	if h.draining.Load() {
		return false, admin.ErrDraining
	}
	c := h.classes.get(namespace)
	if c == nil {
		return false, change() // no actor can be made
	}
	held := &sidecar.Error{
		Reason: sidecar.ReasonBroken, Name: "Error", Message: message, Reset: true, Retryable: true,
	}
	e, a, err := h.table.take(tableKey{class: c, id: id}, held)
	if err != nil {
		return false, err
	}
	defer e.release()
	live := a != nil && a.Reason() == actor.NotBroken
	if live {
		a.Break(actor.ReasonOperator, held) // its storage is closed then, and nothing more of it is written
	}
	if a != nil {
		if c := a.Last(); c != nil {
			<-c.Done() // the store's goroutine always gets there; the next actor knows nothing of this one
		}
	}
	return live, change()
}

// RunAlarm implements admin.Host.
func (o operator) RunAlarm(ctx context.Context, namespace string, id objectid.ID) (alarm.Outcome, error) {
	h := o.host
	switch {
	case h.classes.get(namespace) == nil:
		return 0, admin.ErrNoClass
	case h.draining.Load():
		return 0, admin.ErrDraining
	}
	outcome := make(chan alarm.Outcome, 1)
	defer h.awaited.await(namespace, id, outcome)()
	_, ok, err := h.store.HastenAlarm(ctx, namespace, id, h.store.Clock().Now())
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return alarm.Stale, nil
	}
	select {
	case got := <-outcome:
		return got, nil
	case <-h.lifetime.Done():
		return 0, admin.ErrDraining
	case <-ctx.Done():
		return 0, admin.ErrPending
	}
}

// find returns the entry of an object, or nil.
func (t *table) find(k tableKey) *entry {
	s := &t.shards[k.id[len(k.id)-1]%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[k]
}

// take takes the object from its actor, which it returns for the caller to break: until release, events get err.
func (t *table) take(k tableKey, err error) (*entry, *actor.Actor, error) {
	for {
		e := t.entry(k)
		if e == nil {
			return nil, nil, admin.ErrDraining
		}
		e.mu.Lock()
		switch {
		case e.gone:
			e.mu.Unlock()
			continue
		case e.held != nil:
			e.mu.Unlock()
			return nil, nil, admin.ErrBusy
		}
		a := e.actor
		e.held = err
		e.vacateLocked()
		e.mu.Unlock()
		return e, a, nil
	}
}

// release lets events in again.
func (e *entry) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = nil
}

// evict evicts the actor if nothing is under way in it. It says whether there was one.
func (e *entry) evict() (live, evicted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.actor == nil || e.gone || e.actor.Reason() != actor.NotBroken {
		return false, false
	}
	if evicted, _ = e.actor.Evict(0); evicted {
		e.vacateLocked()
	}
	return true, evicted
}

// vacateLocked leaves the entry without an actor, to expire: the check that is planned sees to it. mu is held.
func (e *entry) vacateLocked() {
	e.actor, e.named, e.evicted = nil, false, e.table.clock.Now()
}

// awaitedRuns tells operators how runs of alarms have ended. Its zero value is ready for use.
type awaitedRuns struct {
	mu    sync.Mutex // guards waits
	waits map[*awaitedRun]struct{}
}

// awaitedRun is one operator's wait for the next end of a run.
type awaitedRun struct {
	namespace string
	id        objectid.ID
	outcome   chan<- alarm.Outcome // has room for one
}

// await has the end of a run of the object's alarm sent to outcome until the func that it returns is called.
func (r *awaitedRuns) await(namespace string, id objectid.ID, outcome chan<- alarm.Outcome) func() {
	w := &awaitedRun{namespace, id, outcome}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits == nil {
		r.waits = map[*awaitedRun]struct{}{}
	}
	r.waits[w] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waits, w)
	}
}

// ended is told of every run by the scheduler.
func (r *awaitedRuns) ended(d storage.DueAlarm, outcome alarm.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.waits {
		if w.id == d.ID && w.namespace == d.Namespace {
			select {
			case w.outcome <- outcome:
			default:
			}
		}
	}
}
