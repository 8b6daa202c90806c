package idp

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// memory keeps values by name for a time, the latest used of them. It starts no goroutine: what is too old
// is dropped when it is asked for. Its methods may be called from any goroutine.
type memory[V any] struct {
	life    time.Duration
	entries *lru.Cache[string, remembered[V]]
}

type remembered[V any] struct {
	value V
	until time.Time
}

// newMemory returns a memory for at most size values.
func newMemory[V any](size int, life time.Duration) *memory[V] {
	entries, err := lru.New[string, remembered[V]](size)
	if err != nil {
		panic("idp: memory of a fixed size: " + err.Error())
	}
	return &memory[V]{life, entries}
}

// get returns the value kept under name.
func (m *memory[V]) get(name string) (V, bool) {
	e, ok := m.entries.Get(name)
	if ok && time.Now().After(e.until) {
		m.entries.Remove(name)
		ok = false
	}
	if !ok {
		var none V
		return none, false
	}
	return e.value, true
}

func (m *memory[V]) add(name string, value V) {
	m.entries.Add(name, remembered[V]{value, time.Now().Add(m.life)})
}

func (m *memory[V]) remove(name string) { m.entries.Remove(name) }
