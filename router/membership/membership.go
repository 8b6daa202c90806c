// Package membership says which hosts are alive, draining or gone, by when they last renewed their lease.
//
//	           Join                    Renew(draining)
//	unknown ─────────► ALIVE ◄───────────────────────► DRAINING
//	                    ▲ │                               │
//	               Join │ │ TTL without Renew, or Leave   │
//	                    │ ▼                               │
//	                   GONE ◄─────────────────────────────┘
//
// It is a pure state machine: the time comes with each call, and nothing is read or written elsewhere. What
// a host is (its address, its namespaces, its epoch) is lease's to remember. A Table belongs to one
// goroutine.
package membership

import (
	"errors"
	"slices"
	"time"
)

// TTL is how long a host counts as alive after it joined or renewed.
const TTL = 10 * time.Second

// ErrNotMember is returned by Renew when the lease has ended or belongs to another epoch.
var ErrNotMember = errors.New("the lease has ended or was superseded")

// State is what is known of a host.
type State int

// The states. The zero State is that of a host which never joined.
const (
	Unknown State = iota
	Alive
	Draining
	Gone
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"unknown", "alive", "draining", "gone"}[s]
}

// member is one host.
type member struct {
	epoch   uint64
	state   State
	expires time.Time
}

// Table is the membership.
type Table struct{ members map[string]*member }

// New returns a table without members.
func New() *Table { return &Table{members: map[string]*member{}} }

// Join makes a host alive under an epoch, in the place of whatever it was.
func (t *Table) Join(now time.Time, hostID string, epoch uint64) {
	t.members[hostID] = &member{epoch: epoch, state: Alive, expires: now.Add(TTL)}
}

// Renew extends a lease from now on. It returns ErrNotMember when there is none to extend.
func (t *Table) Renew(now time.Time, hostID string, epoch uint64, draining bool) error {
	t.Expire(now)
	m := t.members[hostID]
	if m == nil || m.state == Gone || m.epoch != epoch {
		return ErrNotMember
	}
	m.expires = now.Add(TTL)
	m.state = Alive
	if draining {
		m.state = Draining
	}
	return nil
}

// Leave ends a lease; one under another epoch is left alone. It reports whether a lease has ended by it.
func (t *Table) Leave(hostID string, epoch uint64) bool {
	m := t.members[hostID]
	if m == nil || m.epoch != epoch || m.state == Gone {
		return false
	}
	m.state = Gone
	return true
}

// AddGone makes a host known that is not alive.
func (t *Table) AddGone(hostID string, epoch uint64) {
	t.members[hostID] = &member{epoch: epoch, state: Gone}
}

// Expire ends the leases that are due at now, and returns their hosts in order.
func (t *Table) Expire(now time.Time) (gone []string) {
	for id, m := range t.members {
		if m.state != Gone && !now.Before(m.expires) {
			m.state = Gone
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	return gone
}

// State returns what was known of a host after the last Expire.
func (t *Table) State(hostID string) State {
	if m := t.members[hostID]; m != nil {
		return m.state
	}
	return Unknown
}
