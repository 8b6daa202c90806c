package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
)

var (
	histories = flag.Int("histories", 0, "histories that TestHistories runs; 0 means 10,000, or 200 with -race or -short")
	firstSeed = flag.Uint64("seed", 1, "the first history's seed")
	shortest  = flag.Bool("shortest", true, "look for the shortest history that fails, and trace it")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	leaktest.VerifyTestMain(m)
}

// TestHistories runs random histories. See the package documentation for what they must not show.
func TestHistories(t *testing.T) {
	t.Parallel()
	count := *histories
	switch {
	case count > 0:
	case testing.Short() || raceEnabled:
		count = 200
	default:
		count = 10_000
	}
	var next, done, operations atomic.Int64
	began := time.Now()
	t.Run("workers", func(t *testing.T) {
		for i := range 2 * runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1) - 1; n < int64(count) && !t.Failed(); n = next.Add(1) - 1 {
					w := simulate(t, newPlan(*firstSeed+uint64(n)), false)
					done.Add(1)
					operations.Add(int64(w.operations))
					if w.fault != "" {
						next.Store(int64(count))
						report(t, w)
					}
				}
			})
		}
	})
	t.Logf("%d histories, %d calls, %.0f histories a second", done.Load(), operations.Load(),
		float64(done.Load())/time.Since(began).Seconds())
}

// simulate runs one history in a bubble.
func simulate(t *testing.T, p plan, tracing bool) (w *world) {
	defer func() {
		if v := recover(); v != nil { // the bubble's, which says that everything waits for ever
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failf("%v", v)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(p, tracing)
		w.run()
	})
	return w
}

// report fails the test with the shortest plan that still fails, and what happened in it.
func report(t *testing.T, w *world) {
	t.Helper()
	if !*shortest {
		t.Errorf("%s\nseed %d", w.fault, w.plan.seed)
		return
	}
	const again = 10
	failed := 0
	for range again {
		if simulate(t, w.plan, false).fault != "" {
			failed++
		}
	}
	short := shrink(t, w)
	var steps []string
	for _, s := range short.plan.steps {
		steps = append(steps, s.String())
	}
	t.Errorf("%s\nreproduce with: -run TestHistories -histories 1 -seed %d (%d of %d more runs failed)\n"+
		"shortest plan found:\n  %s\nwhich ends with: %s\n%s",
		w.fault, w.plan.seed, failed, again, strings.Join(steps, "\n  "), short.fault, strings.Join(short.trace, "\n"))
}

// shrink leaves out steps as long as the history fails without them.
func shrink(t *testing.T, w *world) *world {
	try := func(steps []step) *world {
		p := w.plan
		p.steps = steps
		for range 3 {
			if s := simulate(t, p, true); s.fault != "" {
				return s
			}
		}
		return nil
	}
	best := w
	if s := try(w.plan.steps); s != nil {
		best = s // with a trace
	}
	for size := len(best.plan.steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(best.plan.steps); {
			if s := try(slices.Delete(slices.Clone(best.plan.steps), from, from+size)); s != nil {
				best = s
			} else {
				from += size
			}
		}
	}
	return best
}
