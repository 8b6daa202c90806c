package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/proto/objectid"
)

// DeployGrace is how long objects may finish what is under way in them when their class gets other code. Calls for them
// wait meanwhile.
const DeployGrace = 2 * time.Second

// rejoinTimeout bounds the wait for the router to know the classes that have come or gone.
const rejoinTimeout = 5 * time.Second

// ErrDraining is returned by Deploy when the host takes no calls any more.
var ErrDraining = errors.New("the host is draining")

// classes are those of a host by their namespaces. Its zero value has none.
type classes struct {
	// byNamespace is replaced, never changed.
	byNamespace atomic.Pointer[map[string]*class]
}

// get returns the class of a namespace, or nil.
func (s *classes) get(namespace string) *class {
	if m := s.byNamespace.Load(); m != nil {
		return (*m)[namespace]
	}
	return nil
}

// namespaces are those that the host takes events for. Where aliases is set, those are among them that lead to a class of
// another key.
func (s *classes) namespaces(aliases bool) (list []string) {
	m := s.byNamespace.Load()
	if m == nil {
		return nil
	}
	for _, namespace := range slices.Sorted(maps.Keys(*m)) {
		if aliases || (*m)[namespace].namespace == namespace {
			list = append(list, namespace)
		}
	}
	return list
}

// set gives a Worker these classes and no others; those that stay keep their place in the table. It returns all that the
// Worker had, and whether namespaces have come or gone. It must not be called by two at once.
func (s *classes) set(worker string, list []durableobject.Class) (had map[*class]bool, other bool) {
	next := map[string]*class{}
	had = map[*class]bool{}
	if m := s.byNamespace.Load(); m != nil {
		maps.Copy(next, *m)
	}
	for key, c := range next {
		if c.worker == worker {
			had[c] = true
			delete(next, key)
		}
	}
	aliases := map[string]*class{}
	for _, one := range list {
		alias := worker + "-" + one.Name
		key := cmp.Or(one.Key, alias)
		c := s.get(key)
		if c == nil || c.namespace != key {
			c = &class{namespace: key, worker: worker, ids: objectid.NewNamespace(key)}
		}
		actors := one.ActorClass()
		c.actors.Store(&actors)
		next[key], aliases[alias] = c, c
	}
	for alias, c := range aliases {
		if next[alias] == nil {
			next[alias] = c
		}
	}
	if m := s.byNamespace.Load(); m == nil || !maps.Equal(*m, next) {
		other = true
	}
	s.byNamespace.Store(&next)
	return had, other
}

// Deploy has the Worker's classes run other code. What comes for an object from here on is run by the new one. An object
// that has nothing to do loses its instance unnoticed. One that has finishes it, for DeployGrace at most, while what comes
// for it waits; after that it is reset as Cloudflare does, with actor.UpdatedError. Storage stays as it is. A class that is
// not in the list is not there any more, though its objects' storage is.
//
// It returns when no instance of the earlier code is live, so that its engine may be closed. It fails, and changes
// nothing, if a class is wrong or the host drains.
func (h *Host) Deploy(ctx context.Context, list []durableobject.Class) error {
	return h.DeployWorker(ctx, h.worker, list)
}

// DeployWorker is Deploy for one of several Workers; objects of the others are left alone.
func (h *Host) DeployWorker(ctx context.Context, worker string, list []durableobject.Class) error {
	for _, c := range list {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	h.deploying.Lock()
	defer h.deploying.Unlock()
	if h.draining.Load() {
		return ErrDraining
	}
	h.running.enter() // so that a drain waits for it
	defer h.running.leave()
	had, other := h.classes.set(worker, list)
	old := h.table.retire(had)
	if other {
		h.tellNamespaces(ctx)
	}
	grace, cancel := context.WithTimeout(ctx, DeployGrace)
	defer cancel()
	var reset int
	for _, a := range old {
		select {
		case <-a.Retire():
		case <-grace.Done():
			if a.Reason() == actor.NotBroken {
				a.Break(actor.ReasonUpdated, actor.UpdatedError())
				reset++
			}
		}
	}
	h.log.Info("objects have other code", "worker", worker, "active", len(old), "reset", reset)
	return nil
}

// tellNamespaces has the router know the host's namespaces. It gives up when that takes long: it is done as soon as may be.
func (h *Host) tellNamespaces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	told := make(chan struct{})
	select {
	case h.rejoin <- told:
	case <-ctx.Done():
		return
	}
	select {
	case <-told:
	case <-ctx.Done():
	}
}

// retire evicts the idle actors of classes, and gives the others successors, for which events wait. It returns those that
// have not ended yet.
func (t *table) retire(of map[*class]bool) (old []*actor.Actor) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		var entries []*entry
		for k, e := range s.entries {
			if of[k.class] {
				entries = append(entries, e)
			}
		}
		s.mu.Unlock()
		for _, e := range entries {
			if a := e.retire(t.shared); a != nil {
				old = append(old, a)
			}
		}
	}
	return old
}

// retire retires the entry's actor. It returns it if it has not ended yet.
func (e *entry) retire(shared *actor.Shared) *actor.Actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.actor
	e.crashes = nil // its new code may be better
	if a == nil || e.gone || a.Reason() != actor.NotBroken {
		return nil
	}
	if evicted, _ := a.Evict(0); evicted {
		e.vacateLocked()
		return nil
	}
	ended := a.Retire()
	e.makeLocked(actor.Options{Shared: shared, Before: a})
	select {
	case <-ended:
		return nil
	default:
		return a
	}
}
