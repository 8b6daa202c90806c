package isolate

import (
	"testing"
	"testing/synctest"
	"time"
)

// What passes while the machine stands still is neither the turn's time nor its grace; what passes tick by tick is.
func TestWatchSparesWhatStoodStill(t *testing.T) {
	t.Parallel()
	program := compileModule(t, `export {};`)
	synctest.Test(t, func(t *testing.T) {
		i, err := New(t.Context(), program, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		w := &i.watch
		stand := func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.base = w.base.Add(-time.Minute)
		}
		w.begin(3*maxGap, nil)
		stand()
		w.look()
		stand()
		if used, fired := w.end(); used != 2*maxGap || fired != nil {
			t.Errorf("it used %v and was interrupted by %v", used, fired)
		}

		w.begin(3*maxGap, nil)
		stand()
		time.Sleep(2*maxGap - watchTick)
		if w.stopping.Load() {
			t.Error("it was interrupted before its time")
		}
		time.Sleep(3 * watchTick)
		if !w.stopping.Load() {
			t.Error("it was not interrupted")
		}
		stand()
		w.look()
		select {
		case <-i.Condemned():
			t.Error("it had no time to stop")
		default:
		}
		if used, fired := w.end(); used < 3*maxGap || used > 5*maxGap || fired == nil {
			t.Errorf("it used %v and was interrupted by %v", used, fired)
		}
	})
}
