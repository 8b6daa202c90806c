package host

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandem-do/tandem/durableobject/actor"
	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

const (
	// IdleTimeout is how long an actor lives after its last activity. Like workerd: 10 s.
	IdleTimeout = 10 * time.Second
	// ExpiryTimeout is how long the entry of an evicted object stays in the table after its last activity. Like
	// workerd: 70 s.
	ExpiryTimeout = 70 * time.Second

	shardCount = 64
	// minShrink is the number of entries of a shard that are worth giving back.
	minShrink = 64
)

// class is one class that the host runs.
type class struct {
	// namespace is its unique key, ids derives its IDs.
	namespace string
	ids       objectid.Namespace
	// worker is whose class it is.
	worker string
	// actors makes instances; a deployment changes it.
	actors atomic.Pointer[actor.Class]
}

// tableKey names one object of this host.
type tableKey struct {
	class *class
	id    objectid.ID
}

// table holds the entries of all objects that were active lately. It is in shards, so that calls for different objects
// rarely meet at one mutex.
type table struct {
	shared *actor.Shared
	memory *reclaimer
	clock  clock.Clock // by which objects live
	shards [shardCount]shard
}

type shard struct {
	// mu guards entries. It is taken before an entry's mu, never after.
	mu      sync.Mutex
	entries map[tableKey]*entry
	// peak is the most entries that the map has held: a map of Go keeps room for as many.
	peak int
	// checks says when which entries are to be looked at.
	checks agenda
	// closed is true once no entry may be made.
	closed bool
}

// entry is the place of one object in the table.
type entry struct {
	key   tableKey
	table *table
	shard *shard
	// at is when the entry is to be looked at, index its place in the shard's agenda. The shard's mu guards both.
	at    time.Time
	index int

	// mu guards all that follows.
	mu sync.Mutex
	// actor is the live one, or nil after an eviction; a broken one stays until the next event.
	actor *actor.Actor
	// named is true once the actor was told the object's name.
	named bool
	// evicted is when the actor was evicted; zero if there never was one.
	evicted time.Time
	// gone is true once the entry is no longer in the table.
	gone bool
	// held is what events get while an operator replaces the object's state, or nil; there is no actor then.
	held error
	// crashes are those of its actors, or nil.
	crashes *crashes
}

// target names the object of an event.
type target struct {
	id      objectid.ID
	name    string
	hasName bool
}

// actor returns the actor that takes the object's next event, making it if need be.
func (t *table) actor(c *class, o target) (*actor.Actor, error) {
	for {
		e := t.entry(tableKey{class: c, id: o.id})
		if e == nil {
			return nil, actor.ShutdownError()
		}
		a, again, err := e.live(t.shared, o)
		if again {
			e.checkSooner(IdleTimeout)
		}
		if a != nil || err != nil {
			return a, err
		}
		// The entry expired between the two steps.
	}
}

// entry returns the object's entry, making it if need be, or nil if the table is closed.
func (t *table) entry(k tableKey) *entry {
	s := &t.shards[k.id[len(k.id)-1]%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[k]
	if e == nil && !s.closed {
		if s.entries == nil {
			s.entries = map[tableKey]*entry{}
		}
		e = &entry{key: k, table: t, shard: s, index: noIndex}
		s.entries[k] = e
		s.peak = max(s.peak, len(s.entries))
		s.checkLater(e, IdleTimeout)
	}
	return e
}

// live returns the entry's actor, or nil if the entry has expired. It reports whether the entry waited for its expiry,
// so that it has to be looked at sooner again.
func (e *entry) live(shared *actor.Shared, o target) (a *actor.Actor, again bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil, false, nil
	}
	if e.held != nil {
		return nil, false, e.held
	}
	c := e.key.class
	if o.hasName && !e.named && c.ids.FromName(o.name) != o.id {
		return nil, false, &sidecar.Error{
			Reason: sidecar.ReasonInvalid, Name: "TypeError", Message: "The object's name does not give its ID.",
		}
	}
	if e.actor != nil && e.actor.Reason() == actor.NotBroken {
		if o.hasName && !e.named {
			e.actor.SetName(o.name)
			e.named = true
		}
		return e.actor, false, nil
	}
	if err := e.quarantinedLocked(); err != nil {
		return nil, false, err
	}
	again = e.actor == nil && !e.evicted.IsZero()
	var previous *storage.Commit
	if e.actor != nil {
		previous = e.actor.Last()
	}
	e.makeLocked(actor.Options{Shared: shared, Name: o.name, HasName: o.hasName, Previous: previous})
	return e.actor, again, nil
}

// makeLocked gives the entry a new actor, whose code is the class's present one. mu is held.
func (e *entry) makeLocked(o actor.Options) {
	c := e.key.class
	o.Class, o.Namespace, o.ID = *c.actors.Load(), c.namespace, e.key.id
	e.actor, e.named = actor.New(o), o.HasName
}

// checkLocked evicts the actor or removes the entry if it is time, and otherwise says after what time to look again.
// The agenda is not touched by events; the actor knows when it was last active. The shard's mu is held.
func (e *entry) checkLocked() (again time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.held != nil:
		return IdleTimeout
	case e.actor != nil:
		evicted, again := e.actor.Evict(IdleTimeout)
		if !evicted {
			return again
		}
		e.actor, e.evicted = nil, e.table.clock.Now()
		e.table.memory.count()
		return ExpiryTimeout - IdleTimeout
	case e.table.clock.Since(e.evicted) < ExpiryTimeout-IdleTimeout:
		// An actor came and went since the check was planned.
		return ExpiryTimeout - IdleTimeout - e.table.clock.Since(e.evicted)
	case e.crashes != nil && !e.crashes.over(e.table.clock.Now()):
		return ExpiryTimeout
	}
	e.gone = true
	e.shard.removeLocked(e.key)
	return 0
}

// removeLocked removes an entry, and moves the rest to a smaller map once few are left. mu is held.
func (s *shard) removeLocked(k tableKey) {
	delete(s.entries, k)
	if s.peak < minShrink || len(s.entries) > s.peak/4 {
		return
	}
	rest := make(map[tableKey]*entry, len(s.entries))
	maps.Copy(rest, s.entries)
	s.entries, s.peak = rest, len(rest)
}

// close breaks all actors and empties the table.
func (t *table) close(reason actor.BrokenReason, err error) {
	t.memory.close()
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		entries := s.entries
		s.entries, s.closed = nil, true
		s.checks.close()
		s.mu.Unlock()
		for _, e := range entries {
			e.mu.Lock()
			a := e.actor
			e.gone = true
			e.mu.Unlock()
			if a != nil {
				a.Break(reason, err)
			}
		}
	}
}

// size returns how many entries there are, and how many of them have an actor.
func (t *table) size() (entries, actors int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for _, e := range s.entries {
			entries++
			e.mu.Lock()
			if e.actor != nil {
				actors++
			}
			e.mu.Unlock()
		}
		s.mu.Unlock()
	}
	return entries, actors
}
