package idp

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory[int](2, time.Minute)
		m.add("a", 1)
		time.Sleep(time.Minute)
		if v, ok := m.get("a"); !ok || v != 1 {
			t.Errorf("after its life: %d, %v", v, ok)
		}
		time.Sleep(1)
		if _, ok := m.get("a"); ok || m.entries.Len() != 0 {
			t.Error("kept beyond its life")
		}
		for _, name := range []string{"b", "c", "d"} {
			m.add(name, 1)
		}
		m.remove("d")
		if _, ok := m.get("b"); ok || m.entries.Len() != 1 {
			t.Error("kept too many")
		}
	})
}
