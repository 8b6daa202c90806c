package retain_test

import (
	"testing"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/retain"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := retain.New[string, int](10)
	c.Add("a", 1, 4)
	c.Add("b", 2, 4)
	if _, ok := c.Get("a"); !ok {
		t.Error("a is gone")
	}
	c.Add("c", 3, 4) // b was used least recently
	if _, ok := c.Get("b"); ok || c.Weight() != 8 {
		t.Errorf("b is there, weight %d", c.Weight())
	}
	c.Add("a", 5, 1)
	if v, ok := c.Get("a"); !ok || v != 5 || c.Weight() != 5 {
		t.Errorf("a = %d, %v, weight %d", v, ok, c.Weight())
	}
	c.Add("a", 6, 11)
	if _, ok := c.Get("a"); ok || c.Weight() != 4 {
		t.Errorf("a value that is too heavy was kept, weight %d", c.Weight())
	}
	if v, ok := c.Take("c"); !ok || v != 3 || c.Weight() != 0 {
		t.Errorf("take = %d, %v, weight %d", v, ok, c.Weight())
	}
	if _, ok := c.Take("c"); ok {
		t.Error("taken twice")
	}
}
