package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
)

// acknowledged are the greatest counts that callers were told, by object.
type acknowledged struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
	// noted gets a value for each note.
	noted chan struct{}
}

func (a *acknowledged) note(object string, n int) {
	a.mu.Lock()
	a.counts[object] = max(a.counts[object], n)
	a.mu.Unlock()
	a.noted <- struct{}{}
}

func (a *acknowledged) snapshot() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := map[string]int{}
	for k, v := range a.counts {
		c[k] = v
	}
	return c
}

// The promise of the output gate, at the host's door: whatever left the host before a crash is on the disk after it.
// Callers count objects up, also through other objects, by reads, and with aborts in between; at random moments the
// disk is cloned as a crash would leave it, and every count that a caller has seen must be there.
func TestCrash(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewCrashableMem()
	c := &testClass{methods: methods{
		// The count of another object leaves this one with its own reply.
		"through": func(ctx context.Context, o *testObject, arg string) (string, error) {
			n, err := durableobject.Call[int](ctx, o.state.Namespace("w-Test").GetByName(arg), "increment", 1)
			return fmt.Sprint(n), err
		},
		"abort": func(ctx context.Context, o *testObject, _ string) (string, error) {
			if _, err := o.increment(ctx, 1000); err != nil {
				return "", err
			}
			o.state.Abort(nil)
			return "", nil
		},
	}}
	s := newStack(t, fs, c.classes())
	s.place()
	acked := &acknowledged{counts: map[string]int{}, noted: make(chan struct{})}
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 8 {
		own := rand.New(rand.NewPCG(seed, uint64(i)+2))
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.countUp(acked, own)
				}
			}
		})
	}
	var clones []*vfs.MemFS
	var seen []map[string]int
	for range 10 {
		for range 20 + rnd.IntN(20) {
			<-acked.noted
		}
		counts := acked.snapshot() // before the crash
		clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd}))
		seen = append(seen, counts)
	}
	close(stop)
	go func() {
		callers.Wait()
		close(acked.noted)
	}()
	for range acked.noted {
	}
	s.close()
	for i, clone := range clones {
		checkClone(t, clone, seen[i], c.classes())
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// countUp makes one call of a random kind and notes what it was told.
func (s *stack) countUp(acked *acknowledged, rnd *rand.Rand) {
	object := fmt.Sprintf("o%d", rnd.IntN(4))
	method, arg := "increment", any(1)
	through := false
	switch rnd.IntN(10) {
	case 0:
		method, arg = "read", nil
	case 1:
		method, arg = "abort", ""
	}
	if method == "increment" && rnd.IntN(3) == 0 {
		method, arg, through = "through", object, true
	}
	to := object
	if through {
		to = "relay"
	}
	args, err := v8value.MarshalArguments(arg)
	if err != nil {
		s.t.Error(err)
	}
	value, err := s.host.Call(s.t.Context(), s.target(to), method, args)
	var e *sidecar.Error
	if errors.As(err, &e) && e.Reset {
		return // an abort met it
	}
	if err != nil {
		s.t.Errorf("%s: %v", method, err)
		return
	}
	n := 0
	if through {
		var text string
		err = v8value.Unmarshal(value, &text)
		fmt.Sscan(text, &n)
	} else {
		err = v8value.Unmarshal(value, &n)
	}
	if err != nil {
		s.t.Error(err)
	}
	acked.note(object, n)
}

// checkClone opens a host on what a crash left and asks it for the counts.
func checkClone(t *testing.T, fs vfs.FS, want map[string]int, classes []durableobject.Class) {
	s := newStack(t, fs, classes)
	defer s.close()
	s.place()
	for object, least := range want {
		value, err := s.host.Call(t.Context(), s.target(object), "read", nullArguments(t))
		n := 0
		if err == nil {
			err = v8value.Unmarshal(value, &n)
		}
		if err != nil || n < least {
			t.Errorf("%s: after the crash %d, %v; a caller had seen %d", object, n, err, least)
		}
	}
}

func nullArguments(t *testing.T) []byte {
	args, err := v8value.MarshalArguments(nil)
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// textArguments are the arguments of a method that takes a text.
func textArguments(t *testing.T) []byte {
	t.Helper()
	args, err := v8value.MarshalArguments("")
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// A disk that gets full breaks the object that writes, with an error that says so; other objects go on, and so does
// this one when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	space := func(free uint64) {
		disk.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: 100 << 30, AvailBytes: free})
		time.Sleep(time.Second) // the last measurement is old then
	}
	synctest.Test(t, func(t *testing.T) {
		space(10 << 30)
		s := newStack(t, disk, (&testClass{}).classes())
		defer s.close()
		s.serve()
		want := func(object, method string, arg any, want int) {
			t.Helper()
			if n, err := durableobject.Call[int](t.Context(), s.stub(object), method, arg); err != nil || n != want {
				t.Errorf("%s of %s: got %d, %v, want %d", method, object, n, err, want)
			}
		}
		want("a", "increment", 1, 1)
		want("b", "increment", 1, 1)
		space(1 << 20)
		_, err := durableobject.Call[int](t.Context(), s.stub("a"), "increment", 1)
		wantReason(t, err, sidecar.ReasonStorage,
			"Durable Object storage is full: the write failed and caused object to be reset.")
		var e *sidecar.Error
		if !errors.As(err, &e) || !e.Reset || e.Remote {
			t.Errorf("got %+v, want it to be of a reset", e)
		}
		want("a", "read", nil, 1)
		want("b", "read", nil, 1)
		space(10 << 30)
		want("a", "increment", 1, 2)
		want("b", "increment", 1, 2)
	})
}

// A disk that fails ends the host: what was acknowledged is safe, everything else gets an error. Started again, the host
// has all objects as they were.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	wal := &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, onLog{}))}
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		s := newStack(t, errorfs.Wrap(disk, wal), (&testClass{}).classes())
		s.serve()
		for _, object := range []string{"a", "b"} {
			if _, err := durableobject.Call[int](t.Context(), s.stub(object), "increment", 1); err != nil {
				t.Error(err)
			}
		}
		wal.On()
		_, err := durableobject.Call[int](t.Context(), s.stub("a"), "increment", 1)
		wantReason(t, err, sidecar.ReasonStorage,
			"Internal error in Durable Object storage write caused object to be reset.")
		err = <-s.served // at once, without a grace
		if !errors.Is(err, storage.ErrBroken) {
			t.Errorf("serve: got %v", err)
		}
		s.served <- nil
		wal.Off()
		s.close()

		s = newStack(t, disk, (&testClass{}).classes())
		defer s.close()
		s.serve()
		for object, want := range map[string]int{"a": 2, "b": 2} {
			if n, err := durableobject.Call[int](t.Context(), s.stub(object), "increment", 1); err != nil || n != want {
				t.Errorf("%s after the restart: got %d, %v, want %d", object, n, err, want)
			}
		}
	})
}

// onLog matches operations on Pebble's log.
type onLog struct{}

func (onLog) Evaluate(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
func (onLog) String() string              { return "log" }
