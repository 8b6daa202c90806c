package storage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// cut is what power loss left of a disk, and the states of which one must be found there.
type cut struct {
	disk   *vfs.MemFS
	before map[string]state // as of the last commit that was done
	after  map[string]state // with the one that was under way
}

// Power fails at each commit point: as soon as a commit is under way, when any part of what was not synced may be on disk,
// and once it is done. Each time every object is as it was before that commit or after it, whole, and after it if it was
// done.
func TestCrashAtEachCommit(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	disk := vfs.NewCrashableMem()
	s := openTest(t, Options{FS: disk})
	names := []string{"a", "b", "c"}
	objects, now := map[string]*Object{}, map[string]state{}
	for _, name := range names {
		objects[name], now[name] = named(s, name), state{Values: map[string]string{}}
	}
	var cuts []cut
	for n := range 60 {
		name := names[rnd.IntN(len(names))]
		o, before := objects[name], maps.Clone(now)
		now[name] = change(t, o, now[name].clone(), rnd, n)
		c := o.Flush()
		if c == nil {
			continue // it deleted what was not there
		}
		clone := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
		cuts = append(cuts, cut{disk: clone, before: before, after: maps.Clone(now)})
		if err := c.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		cuts = append(cuts, cut{disk: disk.CrashClone(vfs.CrashCloneCfg{}), before: maps.Clone(now), after: maps.Clone(now)})
	}
	for i, c := range cuts {
		again, err := Open(Options{Dir: "/state", FS: c.disk, CacheBytes: 1 << 20})
		if err != nil {
			t.Fatalf("cut %d: %v", i, err)
		}
		for _, name := range names {
			got := stored(t, named(again, name))
			if !got.equal(c.before[name]) && !got.equal(c.after[name]) {
				t.Errorf("seed %d, cut %d: %s holds %v, want %v or %v", seed, i, name, got, c.before[name], c.after[name])
			}
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// change makes one turn's writes, and returns what the object holds then.
func change(t *testing.T, o *Object, s state, rnd *rand.Rand, n int) state {
	t.Helper()
	ctx := t.Context()
	if rnd.IntN(10) == 0 {
		if err := o.DeleteAll(ctx); err != nil {
			t.Fatal(err)
		}
		s = state{Values: map[string]string{}}
	}
	for i := range 1 + rnd.IntN(5) {
		key, value := fmt.Sprint(rnd.IntN(8)), fmt.Sprint(n, ".", i)
		if rnd.IntN(4) == 0 {
			if _, err := o.Delete(ctx, []string{key}, PutOptions{}); err != nil {
				t.Fatal(err)
			}
			delete(s.Values, key)
			continue
		}
		mustPut(t, o, key, value)
		s.Values[key] = value
	}
	if rnd.IntN(3) == 0 {
		at := time.UnixMilli(time.Now().UnixMilli()).Add(time.Hour)
		if err := o.SetAlarm(ctx, at, PutOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Alarm = at.UnixMilli()
	}
	return s
}

// stored returns what an object holds.
func stored(t *testing.T, o *Object) state {
	t.Helper()
	s := state{Values: map[string]string{}}
	entries, err := o.List(t.Context(), ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		s.Values[e.Key] = string(e.Value)
	}
	at, ok, err := o.Alarm(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		s.Alarm = at.UnixMilli()
	}
	return s
}
