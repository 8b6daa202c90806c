package actor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const testNamespace = "test-Object"

// handler is the code of a test's class: one function for each method name.
type handler map[string]func(ctx context.Context, o *object, arg string) (string, error)

// object is an instance of a test's class.
type object struct {
	world *world
	state *State
	// serial counts the instances that a world has made, from 1.
	serial int
}

// get and put keep a number in storage.
func (o *object) get(ctx context.Context, key string) (int, error) {
	b, ok, err := o.state.Storage().Get(ctx, key, storage.GetOptions{})
	if err != nil || !ok {
		return 0, err
	}
	return strconv.Atoi(string(b))
}

func (o *object) put(ctx context.Context, key string, n int) error {
	return o.state.Storage().Put(ctx, []storage.Entry{{Key: key, Value: []byte(strconv.Itoa(n))}}, storage.PutOptions{})
}

// stub calls a method of the object with this name.
func (o *object) stub(ctx context.Context, name, method string) (string, error) {
	b, err := o.state.Namespace(testNamespace).GetByName(name).Call(ctx, method, nil)
	return string(b), err
}

func (o *object) Call(ctx context.Context, method string, args []byte) ([]byte, error) {
	f := o.world.handler[method]
	if f == nil {
		return nil, fmt.Errorf("no method %q", method)
	}
	v, err := f(ctx, o, string(args))
	return []byte(v), err
}

func (o *object) Fetch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	return o.world.fetch(ctx, o, w, r)
}

func (o *object) Alarm(ctx context.Context, a AlarmInfo) error { return o.world.alarm(ctx, o, a) }

// world is a small host: a store, and an actor for each name, made anew when one is not live.
type world struct {
	t       *testing.T
	store   *storage.Store
	shared  *Shared
	handler handler
	// fetch, alarm and create are optional.
	fetch  func(context.Context, *object, http.ResponseWriter, *http.Request) error
	alarm  func(context.Context, *object, AlarmInfo) error
	create func(context.Context, *object) error
	end    context.CancelFunc
	log    bytes.Buffer

	mu     sync.Mutex // guards all below
	actors map[objectid.ID]*Actor
	made   int
	// broken are the reasons that the hook was told.
	broken []BrokenReason
	// background is how many functions of WaitUntil run.
	background int
}

// bubble runs a test with a world in a synctest bubble.
func bubble(t *testing.T, h handler, run func(t *testing.T, w *world)) {
	bubbleOn(t, vfs.NewMem(), h, run)
}

func bubbleOn(t *testing.T, fs vfs.FS, h handler, run func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fs, h)
		run(t, w)
		w.close()
	})
}

func newWorld(t *testing.T, fs vfs.FS, h handler) *world {
	store, err := storage.Open(storage.Options{Dir: "store", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: store, handler: h, actors: map[objectid.ID]*Actor{}}
	ctx, cancel := context.WithCancel(context.Background())
	w.end = cancel
	w.shared = &Shared{
		Store: store, Caller: w, Lifetime: ctx, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Hooks: Hooks{
			Broken: func(_ *Actor, r BrokenReason, _ error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.broken = append(w.broken, r)
			},
			Background: func() func() {
				w.count(1)
				return func() { w.count(-1) }
			},
		},
	}
	return w
}

// reasons returns the reasons for which actors broke so far.
func (w *world) reasons() []BrokenReason {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.broken)
}

func (w *world) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.background += n
}

func (w *world) close() {
	w.end()
	w.mu.Lock()
	actors := w.actors
	w.mu.Unlock()
	for _, a := range actors {
		a.Break(ReasonShutdown, ShutdownError())
	}
	synctest.Wait()
	if err := w.store.Close(); err != nil && w.store.Err() == nil {
		w.t.Error(err)
	}
}

// New implements Class.
func (w *world) New(ctx context.Context, s *State) (Instance, error) {
	w.mu.Lock()
	w.made++
	o := &object{world: w, state: s, serial: w.made}
	w.mu.Unlock()
	if w.create != nil {
		if err := w.create(ctx, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// actor returns the object's live actor.
func (w *world) actor(id objectid.ID, name string, hasName bool) *Actor {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.actors[id]
	if a != nil && a.Reason() == NotBroken {
		return a
	}
	o := Options{Shared: w.shared, Class: w, Namespace: testNamespace, ID: id, Name: name, HasName: hasName}
	if a != nil {
		o.Previous = a.Last()
	}
	a = New(o)
	w.actors[id] = a
	return a
}

func (w *world) named(name string) *Actor {
	return w.actor(objectid.NewNamespace(testNamespace).FromName(name), name, true)
}

// Call implements sidecar.Caller.
func (w *world) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	for {
		v, err := w.actor(t.ID, t.Name, t.HasName).Call(ctx, t.Props, method, args)
		if err != ErrNotLive { //nolint:errorlint // see ErrNotLive
			return v, err
		}
	}
}

// Fetch implements sidecar.Caller, for small responses.
func (w *world) Fetch(ctx context.Context, t sidecar.Target, r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	if err := w.actor(t.ID, t.Name, t.HasName).Fetch(ctx, t.Props, rec, r); err != nil {
		return nil, err
	}
	return rec.Result(), nil
}

// call calls a method of the object "o" and waits for the result.
func (w *world) call(method string) (string, error) {
	return w.callAs(w.t.Context(), method)
}

func (w *world) callAs(ctx context.Context, method string) (string, error) {
	v, err := w.Call(ctx, sidecar.Target{
		Namespace: testNamespace, ID: objectid.NewNamespace(testNamespace).FromName("o"), Name: "o", HasName: true,
	}, method, nil)
	return string(v), err
}

// result is how a call ended, once done is closed.
type result struct {
	value string
	err   error
	done  chan struct{}
}

// start calls a method on a goroutine of its own, and returns once it runs or waits.
func (w *world) start(method string) *result { return w.startAs(w.t.Context(), method) }

func (w *world) startAs(ctx context.Context, method string) *result {
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.value, r.err = w.callAs(ctx, method)
	}()
	synctest.Wait()
	return r
}

// ended reports whether the call is over by now.
func (r *result) ended() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// want checks a call's result.
func want(t *testing.T, value string, err error, wantValue string) {
	t.Helper()
	if err != nil || value != wantValue {
		t.Errorf("got %q, %v, want %q", value, err, wantValue)
	}
}

// wantError checks a call's error: its text and its properties, as words.
func wantError(t *testing.T, err error, message, properties string) {
	t.Helper()
	var e *sidecar.Error
	if !errors.As(err, &e) {
		t.Errorf("got error %v (%T), want a *sidecar.Error", err, err)
		return
	}
	var p []string
	for _, f := range []struct {
		set  bool
		name string
	}{{e.Remote, "remote"}, {e.Retryable, "retryable"}, {e.Overloaded, "overloaded"}, {e.Reset, "reset"}} {
		if f.set {
			p = append(p, f.name)
		}
	}
	if e.Message != message || strings.Join(p, " ") != properties {
		t.Errorf("got error %q, %v\nwant      %q, [%s]", e.Message, p, message, properties)
	}
}

// increment is the read-modify-write of most tests.
func increment(ctx context.Context, o *object, _ string) (string, error) {
	n, err := o.get(ctx, "n")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n + 1), o.put(ctx, "n", n+1)
}

// read returns what increment has counted.
func read(ctx context.Context, o *object, _ string) (string, error) {
	n, err := o.get(ctx, "n")
	return strconv.Itoa(n), err
}
