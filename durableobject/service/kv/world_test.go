package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/host"
	"github.com/tandem-do/tandem/durableobject/service/kv"
	"github.com/tandem-do/tandem/durableobject/storage"
	protokv "github.com/tandem-do/tandem/proto/kv"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	kvbinding "github.com/tandem-do/tandem/runtime/binding/kv"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// world is an object host with the class, on a disk in memory.
type world struct {
	t      testing.TB
	fs     *vfs.MemFS
	router *grpc.ClientConn
	store  *storage.Store
	host   *host.Host
}

// in runs a test in a bubble, with a world.
func in(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fs: vfs.NewCrashableMem()}
		w.start()
		defer w.stop()
		fn(t, w)
	})
}

func (w *world) start() {
	store, err := storage.Open(storage.Options{Dir: "store", FS: w.fs})
	if err != nil {
		w.t.Fatal(err)
	}
	router, err := sidecar.Dial("127.0.0.1:1") // lazy: nobody calls it
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := host.New(host.Options{
		Worker: "test", Router: router, Services: []durableobject.Class{kv.Class()},
	}, store)
	if err != nil {
		w.t.Fatal(err)
	}
	w.router, w.store, w.host = router, store, h
}

func (w *world) stop() {
	if err := errors.Join(w.host.Drain(context.Background()), w.store.Close(), w.router.Close()); err != nil {
		w.t.Error(err)
	}
}

// restart has the host end and begin again on the same disk.
func (w *world) restart() {
	w.stop()
	w.start()
}

// crash has the machine end, with what was not synced lost, and the host begin again.
func (w *world) crash() {
	left := w.fs.CrashClone(vfs.CrashCloneCfg{})
	w.stop()
	w.fs = left
	w.start()
}

func (w *world) classes() *binding.Namespace {
	return binding.NewNamespace(protokv.UniqueKey, w.host.Local())
}

func (w *world) namespace(id string) *kvbinding.Namespace {
	return kvbinding.New(kvbinding.Options{Shards: w.classes(), ID: id, Binding: "KV"})
}

// stored returns how many keys, of all kinds, and alarms the shards of all namespaces have on disk.
func (w *world) stored() (keys, alarms int) {
	w.t.Helper()
	all, err := w.store.Summaries(w.t.Context(), protokv.UniqueKey, nil, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range all {
		keys += s.Keys
		if s.Alarm != nil {
			alarms++
		}
	}
	return keys, alarms
}

// show words what the one object that there is has stored, as `tandem objects` does.
func (w *world) show() string {
	w.t.Helper()
	var lines []string
	all, err := w.store.Summaries(w.t.Context(), protokv.UniqueKey, nil, 0, 1000)
	if err != nil || len(all) != 1 {
		w.t.Fatal(err, len(all))
	}
	err = w.store.Scan(w.t.Context(), protokv.UniqueKey, all[0].ID, "", nil, func(key, value []byte) (bool, error) {
		v, err := v8value.Decode(value)
		text, _ := v8value.Text(v, 1000)
		lines = append(lines, fmt.Sprintf("%s %s: %s", all[0].Name, key, text))
		return true, err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// pass lets the bubble's time pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }
