package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/telemetry"
	"github.com/tandem-do/tandem/proto/telemetry/telemetrytest"
	"github.com/tandem-do/tandem/proto/v8value"
)

type methods = map[string]func(ctx context.Context, o *testObject, arg string) (string, error)

func TestCallAndFetch(t *testing.T) {
	t.Parallel()
	c := &testClass{fetch: func(ctx context.Context, o *testObject, w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		name, _ := o.state.Name()
		w.Header().Set("X-Name", name)
		w.WriteHeader(http.StatusAccepted)
		_, err = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, body, o.state.Props(ctx))
		return err
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for i := range 3 {
			n, err := durableobject.Call[int](t.Context(), s.stub("a"), "increment", 2)
			if err != nil || n != 2*(i+1) {
				t.Errorf("got %d, %v", n, err)
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/path", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.stub("a").WithProps([]byte("props")).Fetch(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := string(body); err != nil || resp.StatusCode != http.StatusAccepted || got != "POST /path body props" ||
			resp.Header.Get("X-Name") != "a" {
			t.Errorf("got %d %q %v, %v", resp.StatusCode, got, resp.Header, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := &testClass{}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		stale := s.target("a")
		stale.Epoch = 7
		_, err := s.host.Call(t.Context(), stale, "read", nil)
		if e := wantReason(t, err, sidecar.ReasonStaleEpoch, ""); e.Epoch != 1 || !e.Retryable {
			t.Errorf("got %+v", e)
		}
		other := s.target("a")
		other.Namespace = "w-Other"
		_, err = s.host.Call(t.Context(), other, "read", nil)
		wantReason(t, err, sidecar.ReasonNoSuchClass, "No such Durable Object class: w-Other.")
		misnamed := s.target("a")
		misnamed.Name = "b"
		_, err = s.host.Call(t.Context(), misnamed, "read", nil)
		wantReason(t, err, sidecar.ReasonInvalid, "")
		if c.made != 0 {
			t.Errorf("%d instances were made", c.made)
		}
		_, err = s.call("a", "none")
		wantReason(t, err, sidecar.ReasonNoSuchMethod, `The RPC receiver does not implement the method "none".`)
	})
}

// LC-1 and LC-4: the same instance after 9 s, another one after 12 s; the entry is gone after 70 s.
func TestEvictionAndExpiry(t *testing.T) {
	t.Parallel()
	bubble(t, (&testClass{}).classes(), func(t *testing.T, s *stack) {
		steps := []struct {
			idle time.Duration
			want int
		}{{0, 1}, {9 * time.Second, 1}, {9 * time.Second, 1}, {12 * time.Second, 2}, {10*time.Second + 1, 3}}
		for _, step := range steps {
			time.Sleep(step.idle)
			if got := s.serial("a"); got != step.want {
				t.Errorf("after %v: got instance %d, want %d", step.idle, got, step.want)
			}
		}
		sizes := func(wantEntries, wantActors int) {
			t.Helper()
			synctest.Wait()
			if e, a := s.host.table.size(); e != wantEntries || a != wantActors {
				t.Errorf("got %d entries with %d actors, want %d, %d", e, a, wantEntries, wantActors)
			}
		}
		time.Sleep(10*time.Second - 1)
		sizes(1, 1)
		time.Sleep(1)
		sizes(1, 0)
		time.Sleep(60*time.Second - 1)
		sizes(1, 0)
		time.Sleep(1)
		sizes(0, 0)
		if got := s.serial("a"); got != 4 {
			t.Errorf("after the expiry: got instance %d", got)
		}
	})
}

// LC-2 and CTX-11: what runs keeps the object.
func TestPinned(t *testing.T) {
	t.Parallel()
	c := &testClass{methods: methods{
		"long": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, 25*time.Second) })
		},
		"background": func(_ context.Context, o *testObject, _ string) (string, error) {
			o.state.WaitUntil(func(ctx context.Context) error { return pause(ctx, 25*time.Second) })
			return "", nil
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for _, method := range []string{"long", "background"} {
			if _, err := s.call("a", method); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(26 * time.Second)
		if got := s.serial("a"); got != 1 {
			t.Errorf("got instance %d", got)
		}
		time.Sleep(11 * time.Second)
		if got := s.serial("a"); got != 2 {
			t.Errorf("got instance %d", got)
		}
	})
}

// However many callers meet at an object that sleeps, one instance is made.
func TestOneInstance(t *testing.T) {
	t.Parallel()
	c := &testClass{}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		results := make(chan error)
		for range 100 {
			go func() {
				_, err := durableobject.Call[int](t.Context(), s.stub("a"), "increment", 1)
				results <- err
			}()
		}
		for range 100 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		n, err := durableobject.Call[int](t.Context(), s.stub("a"), "read", nil)
		if n != 100 || err != nil || c.made != 1 {
			t.Errorf("got %d, %v, %d instances", n, err, c.made)
		}
	})
}

// ST-10 over the wire: calls of one caller are delivered in the order in which it made them.
func TestOrderOverTheWire(t *testing.T) {
	t.Parallel()
	var order []string
	c := &testClass{methods: methods{
		"note": func(_ context.Context, _ *testObject, arg string) (string, error) {
			order = append(order, arg)
			return "", nil
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		s.serial("a") // the host is located, the link is up
		done := make(chan error)
		var want []string
		for i := range 20 {
			arg := fmt.Sprint(i)
			want = append(want, arg)
			go func() {
				_, err := durableobject.Call[string](t.Context(), s.stub("a"), "note", arg)
				done <- err
			}()
			synctest.Wait() // it is sent, and so is before the next
		}
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(order, want) {
			t.Errorf("got order %v", order)
		}
	})
}

// AL-15: an alarm wakes an object that sleeps, which knows its name; AL-9: a failed run is made again.
func TestAlarm(t *testing.T) {
	t.Parallel()
	type run struct {
		after  time.Duration
		serial int
		retry  int
		name   string
	}
	var runs []run
	var start time.Time
	c := &testClass{
		methods: methods{"set": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.Storage().SetAlarm(ctx, time.Now().Add(time.Minute), storage.PutOptions{})
		}},
		alarm: func(_ context.Context, o *testObject, a durableobject.AlarmInfo) error {
			name, _ := o.state.Name()
			runs = append(runs, run{time.Since(start).Truncate(time.Second), o.serial, a.RetryCount, name})
			if a.RetryCount == 0 {
				return errors.New("not yet")
			}
			return nil
		},
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		start = time.Now()
		if _, err := s.call("a", "set"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		want := []run{{60 * time.Second, 2, 0, "a"}, {62 * time.Second, 2, 1, "a"}}
		if !slices.Equal(runs, want) {
			t.Errorf("got %+v, want %+v", runs, want)
		}
	})
}

// AL-4 and AL-17: a class without a handler can set no alarm, except in its constructor, and loses that one when it is
// due, with a warning.
func TestAlarmWithoutHandler(t *testing.T) {
	t.Parallel()
	class := durableobject.Class{
		Name: "Test",
		New: func(ctx context.Context, s *durableobject.State) (any, error) {
			return s, s.Storage().SetAlarm(ctx, time.Now(), storage.PutOptions{})
		},
		Methods: map[string]durableobject.Method{
			"set": durableobject.Func(func(s *durableobject.State, ctx context.Context, _ string) (string, error) {
				return "", s.Storage().SetAlarm(ctx, time.Now(), storage.PutOptions{})
			}),
		},
	}
	bubble(t, []durableobject.Class{class}, func(t *testing.T, s *stack) {
		_, err := s.call("a", "set")
		e := wantReason(t, err, sidecar.ReasonException,
			"Your Durable Object class must have an alarm() handler in order to call setAlarm()")
		if e.Name != "TypeError" || !e.Remote || e.Reset {
			t.Errorf("got %+v", e)
		}
		time.Sleep(5 * time.Second)
		if n := strings.Count(s.log.String(), "Attempted to run a scheduled alarm without a handler"); n != 1 {
			t.Errorf("%d warnings: %s", n, s.log.String())
		}
	})
}

// Objects of one host reach each other without a wire, in both ways.
func TestLocalCalls(t *testing.T) {
	t.Parallel()
	c := &testClass{
		methods: methods{
			"relay": func(ctx context.Context, o *testObject, _ string) (string, error) {
				n, err := durableobject.Call[int](ctx, o.state.Namespace("w-Test").GetByName("b"), "increment", 5)
				return fmt.Sprint(n), err
			},
			"fails": func(context.Context, *testObject, string) (string, error) { return "", errors.New("down there") },
			"relay failure": func(ctx context.Context, o *testObject, _ string) (string, error) {
				_, err := durableobject.Call[string](ctx, o.state.Namespace("w-Test").GetByName("b"), "fails", "")
				return "", err
			},
			"relay fetch": func(ctx context.Context, o *testObject, _ string) (string, error) {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://b/stream", strings.NewReader("up"))
				if err != nil {
					return "", err
				}
				resp, err := o.state.Namespace("w-Test").GetByName("b").Fetch(ctx, r)
				if err != nil {
					return "", err
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				return fmt.Sprint(resp.StatusCode, " ", string(body)), err
			},
		},
		fetch: func(_ context.Context, _ *testObject, w http.ResponseWriter, r *http.Request) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			w.WriteHeader(http.StatusCreated)
			for i := range 3 {
				fmt.Fprintf(w, "%s%d ", body, i)
				if err := http.NewResponseController(w).Flush(); err != nil {
					return err
				}
			}
			_, err = io.WriteString(w, r.Host)
			return err
		},
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for method, want := range map[string]string{"relay": "5", "relay fetch": "201 up0 up1 up2 b"} {
			got, err := s.call("a", method)
			if err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", method, got, err, want)
			}
		}
		_, err := s.call("a", "relay failure")
		if e := wantReason(t, err, sidecar.ReasonException, "down there"); !e.Remote {
			t.Error("the error is not marked as remote")
		}
	})
}

// A large answer within the host flows; a reader that goes ends the event.
func TestLocalStream(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	c := &testClass{fetch: func(ctx context.Context, _ *testObject, w http.ResponseWriter, r *http.Request) error {
		chunk := make([]byte, 100<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				ended <- err
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				ended <- err
				return err
			}
		}
	}}
	s := newStack(t, vfs.NewMem(), c.classes())
	s.place()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := local{s.host}.Fetch(t.Context(), s.target("a"), r)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, resp.Body, 1<<20); n != 1<<20 {
		t.Errorf("read %d, %v", n, err)
	}
	resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("the event was not told that its reader has gone")
	}
	s.close()
}

func TestDrain(t *testing.T) {
	t.Parallel()
	var background []string
	c := &testClass{methods: methods{
		"short": func(ctx context.Context, o *testObject, _ string) (string, error) {
			err := o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, 5*time.Second) })
			if err != nil {
				return "", err
			}
			// To finish it needs another object of this host.
			n, err := durableobject.Call[int](ctx, o.state.Namespace("w-Test").GetByName("other"), "increment", 1)
			return fmt.Sprint(n), err
		},
		"long": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Hour) })
		},
		"background": func(_ context.Context, o *testObject, _ string) (string, error) {
			for _, d := range []time.Duration{5 * time.Second, time.Hour} {
				o.state.WaitUntil(func(ctx context.Context) error {
					err := pause(ctx, d)
					background = append(background, fmt.Sprint(err))
					return nil
				})
			}
			return "", nil
		},
	}}
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, vfs.NewMem(), c.classes())
		s.serve()
		type ended struct {
			method, value string
			err           error
			after         time.Duration
		}
		start := time.Now()
		results := make(chan ended, 3)
		for _, method := range []string{"short", "long"} {
			go func() {
				v, err := s.call("a", method)
				results <- ended{method, v, err, time.Since(start)}
			}()
		}
		if _, err := s.call("b", "background"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		s.stop()
		synctest.Wait()
		_, err := s.host.Call(t.Context(), s.target("a"), "read", nil)
		wantReason(t, err, sidecar.ReasonDraining, "")
		if r := <-results; r.method != "short" || r.value != "1" || r.err != nil || r.after != 5*time.Second {
			t.Errorf("got %+v", r)
		}
		r := <-results
		if r.method != "long" || r.after != DrainTimeout {
			t.Errorf("got %+v", r)
		}
		if r.err == nil {
			t.Error("an event that was broken by the drain had no error")
		}
		s.close()
		if got := strings.Join(background, "; "); got != "<nil>; The Durable Object's host is shutting down." {
			t.Errorf("background: %s", got)
		}
		if got := s.router.calls(); got != "join w-Test; renew; renew draining; leave" &&
			got != "join w-Test; renew draining; leave" {
			t.Errorf("router saw: %s", got)
		}
	})
}

// While the router is away the host serves on; when its lease has ended it joins again, and callers find the new epoch.
func TestRouterAway(t *testing.T) {
	t.Parallel()
	bubble(t, (&testClass{}).classes(), func(t *testing.T, s *stack) {
		s.serial("a")
		s.router.set(func(f *fakeRouter) { f.err = status.Error(codes.Unavailable, "away") })
		time.Sleep(5 * time.Second)
		if got := s.serial("a"); got != 1 {
			t.Errorf("while the router is away: got instance %d", got)
		}
		s.router.set(func(f *fakeRouter) { f.err, f.forgotten = nil, true })
		time.Sleep(5 * time.Second)
		if got := s.host.epoch.Load(); got != 2 || s.store.Epoch() != 2 {
			t.Errorf("got epoch %d, in the store %d", got, s.store.Epoch())
		}
		if got := s.serial("a"); got != 1 {
			t.Errorf("after joining again: got instance %d", got)
		}
	})
}

// An epoch below the store's means that the router has lost its memory: the host does not serve.
func TestEpochBelowTheStores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, vfs.NewMem(), (&testClass{}).classes())
		if err := s.store.SetEpoch(9); err != nil {
			t.Fatal(err)
		}
		err := s.host.keepLease(t.Context(), func(uint64) { t.Error("joined") })
		if !errors.Is(err, storage.ErrStaleEpoch) {
			t.Errorf("got %v", err)
		}
		s.close()
	})
}

func TestSpans(t *testing.T) {
	t.Parallel()
	c := &testClass{
		methods: methods{
			"fails":  func(context.Context, *testObject, string) (string, error) { return "", errors.New("x") },
			"aborts": func(_ context.Context, o *testObject, _ string) (string, error) { o.state.Abort(nil); return "", nil },
		},
		fetch: func(context.Context, *testObject, http.ResponseWriter, *http.Request) error { return nil },
	}
	s := newStack(t, vfs.NewMem(), c.classes())
	s.place()
	ctx, recorder := telemetrytest.Record(t)
	at := s.target("a")
	args, err := v8value.MarshalArguments("")
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"serial", "fails", "aborts"} {
		s.host.Call(ctx, at, method, args)
	}
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://a/", nil)
	w := &localWriter{header: http.Header{}, head: make(chan struct{}), cancel: func(error) {}}
	if err := s.host.Fetch(ctx, at, w, r); err != nil {
		t.Error(err)
	}
	var got []string
	for _, span := range recorder.Ended() {
		if span.Name == telemetry.SpanOutputGateLockWait {
			continue
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", span.Name, span.Attributes[telemetry.AttrRPCMethodName],
			span.Attributes[telemetry.AttrOutcome], span.Status)))
		if span.Attributes[telemetry.AttrNamespace] != "w-Test" || span.Attributes[telemetry.AttrObjectID] != at.ID.String() {
			t.Errorf("%s: attributes %v", span.Name, span.Attributes)
		}
	}
	want := []string{
		"durable_object_call serial ok ok",
		"durable_object_call fails exception error",
		"durable_object_call aborts exception error",
		"durable_object_fetch  ok ok",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.close()
}

func TestOptions(t *testing.T) {
	t.Parallel()
	err := Options{MaxWaiting: -1, Classes: []durableobject.Class{
		{Name: "A", New: func(context.Context, *durableobject.State) (any, error) { return nil, nil }},
		{Name: "A"}, {Name: "not a name"},
	}}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		"worker is empty", "router connection is missing", "max waiting is negative", `class "A" is given twice`,
		`class "A": New is missing`, `class "not a name"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q: %v", part, err)
		}
	}
}
