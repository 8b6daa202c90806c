package retain

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps values by key. Make it with New.
type Cache[K comparable, V any] struct {
	maxWeight int

	// mu guards the fields below.
	mu     sync.Mutex
	known  *simplelru.LRU[K, weighed[V]]
	weight int
}

type weighed[V any] struct {
	value  V
	weight int
}

// New returns an empty cache whose values weigh at most maxWeight together.
func New[K comparable, V any](maxWeight int) *Cache[K, V] {
	c := &Cache[K, V]{maxWeight: maxWeight}
	known, err := simplelru.NewLRU(math.MaxInt, func(_ K, w weighed[V]) { c.weight -= w.weight })
	if err != nil {
		panic(err) // for a size below one only
	}
	c.known = known
	return c
}

// Get returns the value of a key, and whether it is kept.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.known.Get(key)
	return w.value, ok
}

// Add keeps a value, unless it is heavier than all may be together. One that was kept under the key goes.
func (c *Cache[K, V]) Add(key K, value V, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(key)
	if weight > c.maxWeight {
		return
	}
	c.known.Add(key, weighed[V]{value, weight})
	for c.weight += weight; c.weight > c.maxWeight; {
		c.known.RemoveOldest()
	}
}

// Take removes a key and returns what was kept under it.
func (c *Cache[K, V]) Take(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.known.Peek(key)
	c.known.Remove(key)
	return w.value, ok
}

// Weight returns what all values weigh together.
func (c *Cache[K, V]) Weight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight
}
