package host

import (
	"testing"
	"testing/synctest"
	"time"
)

// A wave of evictions is followed by one collection, a trickle by none.
func TestReclaimAfterManyEvictions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		r := &reclaimer{free: func() { freed++ }}
		for range reclaimAfter - 1 {
			r.count()
		}
		time.Sleep(time.Hour)
		if freed != 0 {
			t.Fatalf("freed %d times after %d evictions", freed, reclaimAfter-1)
		}
		for range 3 * reclaimAfter {
			r.count()
		}
		time.Sleep(time.Hour)
		if freed != 1 {
			t.Errorf("freed %d times after a wave, want once", freed)
		}
		for range reclaimAfter {
			r.count()
		}
		r.close()
		time.Sleep(time.Hour)
		if freed != 1 {
			t.Errorf("freed after close")
		}
	})
}
