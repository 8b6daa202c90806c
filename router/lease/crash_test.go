package lease_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/router/lease"
)

// killer takes what is on the disk before a number of its writes: what a process leaves that is killed then.
type killer struct {
	disk *vfs.MemFS
	left int
	// found is what was taken; nil when there were fewer writes.
	found *vfs.MemFS
}

// MaybeError implements errorfs.Injector.
func (k *killer) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
		if k.left--; k.left == 0 {
			k.found = k.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
		}
	}
	return nil
}

// String implements errorfs.Injector.
func (*killer) String() string { return "killer" }

// A store whose process was killed at whatever moment of its first start is opened by the next one.
func TestKilledWhileMade(t *testing.T) {
	t.Parallel()
	open := func(fs vfs.FS) error {
		s, err := lease.Open(lease.Options{Dir: "dir", FS: fs})
		if err != nil {
			return err
		}
		return s.Close()
	}
	for n := 1; ; n++ {
		k := &killer{disk: vfs.NewCrashableMem(), left: n}
		if err := open(errorfs.Wrap(k.disk, k)); err != nil {
			t.Fatal(err)
		}
		if k.found == nil {
			return
		}
		if err := open(k.found); err != nil {
			t.Errorf("killed before write %d: %v", n, err)
		}
	}
}
