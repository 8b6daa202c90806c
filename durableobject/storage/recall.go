package storage

import "sync/atomic"

const (
	// maxRecalled is how many keys an object remembers; few enough to be looked through one by one.
	maxRecalled = 16
	// maxRecallBytes bounds the keys and values that one object remembers, maxRecalledBytes one of them.
	maxRecallBytes   = 8 << 10
	maxRecalledBytes = 2 << 10
)

// recall is what a live object remembers of its values on disk: those that it read or wrote last, and that there was
// none. It ends with the object. Pebble's own cache has blocks, in which every read has to search.
type recall struct {
	// used counts what all objects of the store remember, which most bounds.
	used *atomic.Int64
	most int64

	entries []recalled
	bytes   int
	// next is the entry whose place a new one takes.
	next int
}

type recalled struct {
	key string
	write
}

// get returns what is remembered of a key.
func (r *recall) get(key string) (w write, known bool) {
	for i := range r.entries {
		if r.entries[i].key == key {
			return r.entries[i].write, true
		}
	}
	return write{}, false
}

// set remembers what is on disk of a key, if there is room for it, and otherwise forgets the key.
func (r *recall) set(key string, w write) {
	r.forget(key)
	size := len(key) + len(w.value)
	if size > maxRecalledBytes {
		return
	}
	for len(r.entries) == maxRecalled || len(r.entries) > 0 && r.bytes+size > maxRecallBytes {
		r.next++
		r.remove(r.next % len(r.entries))
	}
	if r.used.Add(int64(size)) > r.most {
		r.used.Add(int64(-size))
		return
	}
	r.bytes += size
	r.entries = append(r.entries, recalled{key, w})
}

// forget drops what is remembered of a key.
func (r *recall) forget(key string) {
	for i := range r.entries {
		if r.entries[i].key == key {
			r.remove(i)
			return
		}
	}
}

func (r *recall) remove(i int) {
	size := len(r.entries[i].key) + len(r.entries[i].value)
	r.bytes -= size
	r.used.Add(int64(-size))
	last := len(r.entries) - 1
	r.entries[i] = r.entries[last]
	r.entries[last] = recalled{}
	r.entries = r.entries[:last]
}

// clear drops everything.
func (r *recall) clear() {
	r.used.Add(int64(-r.bytes))
	r.entries, r.bytes = nil, 0
}
