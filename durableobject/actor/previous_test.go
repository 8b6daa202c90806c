package actor

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// G-5: what an object says rests on the commits of all its instances, also where the one before wrote nothing: it must
// not let go of the one before itself.
func TestOutputGateAfterSeveralInstances(t *testing.T) {
	t.Parallel()
	disk := &slowDisk{}
	h := handler{"increment": increment, "read": read}
	bubbleOn(t, errorfs.Wrap(vfs.NewMem(), disk), h, func(t *testing.T, w *world) {
		disk.hold()
		w.start("increment")
		for range 3 {
			w.named("o").Break(ReasonAborted, abortError(nil))
		}
		reader := w.start("read")
		if reader.ended() {
			t.Error("the fourth instance told of a write of the first that was not on disk")
		}
		if evicted, _ := w.named("o").Evict(0); evicted {
			t.Error("evicted while a commit was under way that the object rests on")
		}
		disk.release()
		<-reader.done
		want(t, reader.value, reader.err, "1")
	})
}
