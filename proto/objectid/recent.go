package objectid

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// fewNames and manyNames are how many names a namespace remembers at most, of maxRecentBytes each: few until as many
	// have been derived.
	fewNames       = 256
	manyNames      = 4096
	maxRecentBytes = 256
)

// recent remembers IDs of names: a name that is called again and again is derived once. Each name has one place, which
// the next name with that place takes.
type recent struct {
	seed maphash.Seed
	// names is nil before the first name. A larger one that takes its place begins empty.
	names atomic.Pointer[[]atomic.Pointer[derived]]
	// derived counts the names that were put.
	derived atomic.Int64
}

type derived struct {
	name string
	id   ID
}

func newRecent() *recent { return &recent{seed: maphash.MakeSeed()} }

func (r *recent) place(names []atomic.Pointer[derived], name string) *atomic.Pointer[derived] {
	return &names[maphash.String(r.seed, name)%uint64(len(names))]
}

func (r *recent) get(name string) (ID, bool) {
	names := r.names.Load()
	if names == nil || len(name) > maxRecentBytes {
		return ID{}, false
	}
	if d := r.place(*names, name).Load(); d != nil && d.name == name {
		return d.id, true
	}
	return ID{}, false
}

func (r *recent) put(name string, id ID) {
	if len(name) > maxRecentBytes {
		return
	}
	names := r.names.Load()
	if n := r.derived.Add(1); names == nil || n > fewNames && len(*names) < manyNames {
		size := fewNames
		if n > fewNames {
			size = manyNames
		}
		larger := make([]atomic.Pointer[derived], size)
		r.names.CompareAndSwap(names, &larger)
		names = r.names.Load()
	}
	r.place(*names, name).Store(&derived{name, id})
}
