package pool

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTakeIdle holds that a program gets the child that became idle last, but none that may not be ready yet while there
// is another.
func TestTakeIdle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		idle []time.Duration // for how long each has been, in the order of their becoming so
		want int
	}{
		{"the only one", []time.Duration{0}, 0},
		{"the last one", []time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour}, 2},
		{"the last one that is ready", []time.Duration{2 * time.Hour, time.Hour, 0, 0}, 1},
		{"none is ready: the first one", []time.Duration{0, 0, 0}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &Pool{}
				for _, d := range tc.idle {
					p.idle = append(p.idle, &child{idleSince: time.Now().Add(-d)})
				}
				want := p.idle[tc.want]
				if got := p.takeIdleLocked(); got != want || len(p.idle) != len(tc.idle)-1 {
					t.Errorf("got the one that is idle since %v, want %v", got.idleSince, want.idleSince)
				}
			})
		})
	}
}
