package host

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A wave of evictions is followed by one collection, a trickle by none.
func TestReclaimAfterManyEvictions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		r := &reclaimer{free: func() { freed.Add(1) }}
		for range reclaimAfter - 1 {
			r.count()
		}
		time.Sleep(time.Hour)
		if n := freed.Load(); n != 0 {
			t.Fatalf("freed %d times after %d evictions", n, reclaimAfter-1)
		}
		for range 3 * reclaimAfter {
			r.count()
		}
		time.Sleep(time.Hour)
		if n := freed.Load(); n != 1 {
			t.Errorf("freed %d times after a wave, want once", n)
		}
		for range reclaimAfter {
			r.count()
		}
		r.close()
		time.Sleep(time.Hour)
		if freed.Load() != 1 {
			t.Errorf("freed after close")
		}
	})
}
