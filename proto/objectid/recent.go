package objectid

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// recentNames is how many names a namespace remembers at most, of maxRecentBytes each.
	recentNames    = 256
	maxRecentBytes = 256
)

// recent remembers IDs of names: a name that is called again and again is derived once. Each name has one place, which
// the next name with that place takes.
type recent struct {
	seed  maphash.Seed
	names [recentNames]atomic.Pointer[derived]
}

type derived struct {
	name string
	id   ID
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed()} }

func (r *recent) place(name string) *atomic.Pointer[derived] {
	return &r.names[maphash.String(r.seed, name)%recentNames]
}

func (r *recent) get(name string) (ID, bool) {
	if len(name) > maxRecentBytes {
		return ID{}, false
	}
	if d := r.place(name).Load(); d != nil && d.name == name {
		return d.id, true
	}
	return ID{}, false
}

func (r *recent) put(name string, id ID) {
	if len(name) <= maxRecentBytes {
		r.place(name).Store(&derived{name, id})
	}
}
