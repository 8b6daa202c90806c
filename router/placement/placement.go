// Package placement decides which host runs the objects of a slot.
//
// A slot is placed when it is first asked for, by rendezvous hashing among the hosts that are alive, do not
// drain and serve its namespace. It stays with that host for ever: a host's store is local to it, so
// another host would find the objects empty. While its host is away, the slot is unavailable.
//
// The decision is a pure function; who keeps it is lease's, who is alive membership's. It may be called
// from any goroutine.
package placement

import (
	"fmt"
	"hash/fnv"

	"github.com/tandem-do/tandem/router/membership"
)

// Slot is one slot of a namespace.
type Slot struct {
	Namespace string
	Number    uint32
}

// Host is a host as the decision sees it.
type Host struct {
	ID    string
	State membership.State
	// Serves is true when it serves the slot's namespace.
	Serves bool
}

// Unavailable says why no host can run a slot at present.
type Unavailable struct {
	Slot Slot
	// HostID is the host that the slot is placed on; empty when it is not placed.
	HostID string
	// State is that host's.
	State membership.State
}

// Error returns a text for operators and callers.
func (e *Unavailable) Error() string {
	if e.HostID == "" {
		return fmt.Sprintf("no live host serves namespace %q: make sure that its Worker is running", e.Slot.Namespace)
	}
	return fmt.Sprintf("host %s, which holds this object's storage, is %s", e.HostID, e.State)
}

// Current decides for a slot that is placed on host: whether it can run there now. The error is an
// *Unavailable.
func Current(slot Slot, host Host) error {
	if host.State == membership.Alive {
		return nil
	}
	return &Unavailable{Slot: slot, HostID: host.ID, State: host.State}
}

// First chooses the host for a slot that is not placed. The error is an *Unavailable. The order of hosts does
// not matter.
func First(slot Slot, hosts []Host) (hostID string, err error) {
	var best uint64
	for _, h := range hosts {
		if h.State != membership.Alive || !h.Serves {
			continue
		}
		score := weight(slot, h.ID)
		if hostID == "" || score > best || score == best && h.ID > hostID {
			hostID, best = h.ID, score
		}
	}
	if hostID == "" {
		return "", &Unavailable{Slot: slot}
	}
	return hostID, nil
}

// weight is the host's score for the slot: the highest one wins, so that each host gets its share and a new
// host takes from each other one alike.
func weight(slot Slot, hostID string) uint64 {
	h := fnv.New64a()
	// Writes to a hash never fail.
	h.Write([]byte(slot.Namespace))
	n := slot.Number
	h.Write([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	h.Write([]byte(hostID))
	return mix(h.Sum64())
}

// mix spreads a difference in the last bytes over the whole number (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
