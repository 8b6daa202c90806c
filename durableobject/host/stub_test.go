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

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// whoami returns the object's ID and name as it knows them.
func whoami(_ context.Context, o *testObject, _ string) (string, error) {
	name, ok := o.state.Name()
	return fmt.Sprintf("%s %q %v", o.state.ID(), name, ok), nil
}

// ID-8, ID-9, ID-10 and ID-11: what a stub is got by, and what the object then knows of itself.
func TestAddressing(t *testing.T) {
	t.Parallel()
	c := &testClass{methods: methods{"whoami": whoami}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		ns := binding.NewNamespace("w-Test", s.caller)
		a := ns.IDs().FromName("a")
		longest := strings.Repeat("x", objectid.MaxNameBytes)
		foreign := objectid.NewNamespace("w-Other").FromName("a")
		parsed, err := ns.IDs().Parse(strings.ToUpper(a.String()))
		if err != nil || parsed != a || parsed == foreign { // ID-8: IDs are equal when their bytes are
			t.Fatalf("parsed %s, %v, want %s", parsed, err, a)
		}
		tests := []struct {
			name string
			stub *binding.Stub
			want string
		}{
			// By its ID first: the object does not know its name before it is addressed by it.
			{"by id", ns.Get(a), fmt.Sprintf("%s \"\" false", a)},
			{"by parsed id", ns.Get(parsed), fmt.Sprintf("%s \"\" false", a)},
			{"by name", ns.GetByName("a"), fmt.Sprintf("%s \"a\" true", a)},
			{"empty name", ns.GetByName(""), fmt.Sprintf("%s \"\" true", ns.IDs().FromName(""))},
			{"longest name", ns.GetByName(longest), fmt.Sprintf("%s %q true", ns.IDs().FromName(longest), longest)},
			{
				"longer name", ns.GetByName(longest + "x"),
				fmt.Sprintf("%s \"\" false", ns.IDs().FromName(longest+"x")),
			},
			{"another namespace's id", ns.Get(foreign), fmt.Sprintf("%s \"\" false", foreign)},
		}
		for _, tt := range tests {
			got, err := durableobject.Call[string](t.Context(), tt.stub, "whoami", "")
			if err != nil || got != tt.want {
				t.Errorf("%s: got %.100s, %v, want %.100s", tt.name, got, err, tt.want)
			}
		}
		unique := ns.IDs().NewUnique()
		got, err := durableobject.Call[string](t.Context(), ns.Get(unique), "whoami", "")
		if want := fmt.Sprintf("%s \"\" false", unique); err != nil || got != want {
			t.Errorf("unique: got %s, %v, want %s", got, err, want)
		}
	})
}

// ID-11, AL-14 and LC-6: after a restart fields are gone, storage is there, the alarm comes, and knows the name.
func TestRestart(t *testing.T) {
	t.Parallel()
	var ran []string
	c := &testClass{
		methods: methods{"set": func(ctx context.Context, o *testObject, _ string) (string, error) {
			if err := durableobject.Put(ctx, o.state.Storage(), "n", 7); err != nil {
				return "", err
			}
			return "", o.state.Storage().SetAlarm(ctx, time.Now().Add(time.Minute), storage.PutOptions{})
		}},
		alarm: func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) error {
			n, err := o.read(ctx, nil)
			me, _ := whoami(ctx, o, "")
			ran = append(ran, fmt.Sprintf("%s n=%d retry=%d %v", me, n, a.RetryCount, err))
			return nil
		},
	}
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewCrashableMem()
		s := newStack(t, fs, c.classes())
		s.serve()
		for _, name := range []string{"a", strings.Repeat("n", objectid.MaxNameBytes)} {
			if _, err := s.call(name, "set"); err != nil {
				t.Fatal(err)
			}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{})
		s.close()
		time.Sleep(time.Hour) // past due

		s = newStack(t, crashed, c.classes())
		s.serve()
		synctest.Wait()
		ns := objectid.NewNamespace("w-Test")
		var want []string
		for _, name := range []string{"a", strings.Repeat("n", objectid.MaxNameBytes)} {
			want = append(want, fmt.Sprintf("%s %q true n=7 retry=0 <nil>", ns.FromName(name), name))
		}
		slices.Sort(ran)
		slices.Sort(want)
		if !slices.Equal(ran, want) {
			t.Errorf("got %.200q, want %.200q", ran, want)
		}
		if got := s.serial("a"); got != 3 && got != 4 {
			t.Errorf("got instance %d: it lived through the restart", got)
		}
		s.close()
	})
}

// ST-12: a stub that met a reset fails on with the same error; a new one works. Errors that the object throws, and such
// as may be tried again, leave it whole.
func TestStubAfterReset(t *testing.T) {
	t.Parallel()
	c := &testClass{
		methods: methods{
			"abort": func(_ context.Context, o *testObject, _ string) (string, error) {
				o.state.Abort(errors.New("r"))
				return "", nil
			},
			"throws": func(context.Context, *testObject, string) (string, error) { return "", errors.New("x") },
			"relay": func(ctx context.Context, o *testObject, _ string) (string, error) {
				return durableobject.Call[string](ctx, o.state.Namespace("w-Test").GetByName("b"), "abort", "")
			},
			"retryable": func(_ context.Context, o *testObject, _ string) (string, error) {
				o.state.Abort(&durableobject.Error{Message: "later", Retryable: true})
				return "", nil
			},
		},
		fetch: func(context.Context, *testObject, http.ResponseWriter, *http.Request) error { return nil },
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		call := func(stub *binding.Stub, method string) string {
			_, err := durableobject.Call[string](t.Context(), stub, method, "")
			if err == nil {
				return "ok"
			}
			return seen(err)
		}
		stub := s.stub("a")
		for _, step := range []struct{ method, want string }{
			{"throws", "Error: x [remote]"},
			{"relay", "Error: r [remote] [reset]"}, // another object's reset is no reset of this one
			{"retryable", "Error: later [retryable] [reset]"},
			{"throws", "Error: x [remote]"},
			{"abort", "Error: r [reset]"},
			{"throws", "Error: r [reset]"},
			{"abort", "Error: r [reset]"},
		} {
			if got := call(stub, step.method); got != step.want {
				t.Errorf("%s: got %s, want %s", step.method, got, step.want)
			}
		}
		made := c.made
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", io.NopCloser(strings.NewReader("b")))
		if err != nil {
			t.Fatal(err)
		}
		for what, broken := range map[string]*binding.Stub{"stub": stub, "with props": stub.WithProps([]byte("p"))} {
			if resp, err := broken.Fetch(t.Context(), r); err == nil || seen(err) != "Error: r [reset]" {
				t.Errorf("%s: fetch: got %v, %v", what, resp, err)
			}
		}
		if c.made != made {
			t.Error("a call of the broken stub reached a new instance")
		}
		if got := call(s.stub("a"), "throws"); got != "Error: x [remote]" {
			t.Errorf("a new stub: got %s", got)
		}
	})
}

// ST-7 and ST-13: an error of the handler is the call's error, not a response; a class without one says so and is
// warned of.
func TestFetchErrors(t *testing.T) {
	t.Parallel()
	c := &testClass{fetch: func(_ context.Context, _ *testObject, w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusOK)
		return durableobject.Exception("TypeError", "t")
	}}
	classes := append(c.classes(), durableobject.Class{
		Name: "Mute", New: func(_ context.Context, s *durableobject.State) (any, error) { return s, nil },
	})
	bubble(t, classes, func(t *testing.T, s *stack) {
		fetch := func(stub *binding.Stub) error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := stub.Fetch(t.Context(), r)
			if err == nil {
				t.Errorf("got a response with status %d", resp.StatusCode)
				resp.Body.Close()
			}
			return err
		}
		if got := seen(fetch(s.stub("a"))); got != "TypeError: t [remote]" {
			t.Errorf("throws: got %s", got)
		}
		mute := binding.NewNamespace("w-Mute", s.caller).GetByName("a")
		if got := seen(fetch(mute)); got != "Error: Handler does not export a fetch() function. [remote]" {
			t.Errorf("no handler: got %s", got)
		}
		if log := s.log.String(); strings.Count(log, "Received a FetchEvent but we lack a handler for FetchEvents. "+
			"Did you remember to export a fetch() function?") != 1 {
			t.Errorf("log: %s", log)
		}
	})
}

// ST-6: status, fields and body pass as the handler gave them.
func TestResponsePasses(t *testing.T) {
	t.Parallel()
	c := &testClass{fetch: func(_ context.Context, _ *testObject, w http.ResponseWriter, r *http.Request) error {
		w.Header()["X-Twice"] = []string{"1", "2"}
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Query", r.URL.RawQuery)
		switch r.URL.Path {
		case "/299":
			w.WriteHeader(299)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
			return nil
		case "/stream":
			for i := range 3 {
				fmt.Fprint(w, i)
				if err := http.NewResponseController(w).Flush(); err != nil {
					return err
				}
			}
		}
		_, err := io.WriteString(w, "end")
		return err
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for path, want := range map[string]string{
			"/?q=%20": "200 end", "/299?q=%20": "299 end", "/304?q=%20": "304 ", "/stream?q=%20": "200 012end",
		} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.stub("a").Fetch(t.Context(), r)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			got := fmt.Sprintf("%d %s", resp.StatusCode, body)
			fields := fmt.Sprint(resp.Header["X-Twice"], resp.Header["Set-Cookie"], resp.Header["X-Query"])
			if err != nil || got != want || fields != "[1 2] [a=b] [q=%20]" {
				t.Errorf("%s: got %s with %s, %v; want %s", path, got, fields, err, want)
			}
		}
	})
}

// ST-11 over the wire and through stubs: an object calls itself, also by way of another one, while its own event waits.
func TestReentrancy(t *testing.T) {
	t.Parallel()
	c := &testClass{methods: methods{
		"outer": func(ctx context.Context, o *testObject, via string) (string, error) {
			if _, err := o.increment(ctx, 40); err != nil {
				return "", err
			}
			ns := o.state.Namespace("w-Test")
			if via != "" {
				return durableobject.Call[string](ctx, ns.GetByName(via), "inner", "a")
			}
			n, err := durableobject.Call[int](ctx, ns.Get(o.state.ID()), "increment", 2)
			return fmt.Sprint(n), err
		},
		"inner": func(ctx context.Context, o *testObject, back string) (string, error) {
			n, err := durableobject.Call[int](ctx, o.state.Namespace("w-Test").GetByName(back), "increment", 1)
			return fmt.Sprint(n), err
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for i, via := range []string{"", "b"} {
			got, err := durableobject.Call[string](t.Context(), s.stub("a"), "outer", via)
			if want := []string{"42", "83"}[i]; err != nil || got != want {
				t.Errorf("via %q: got %s, %v, want %s", via, got, err, want)
			}
		}
	})
}

// A caller's deadline and its cancellation reach the object, wherever it waits; the object lives on.
func TestDeadlineAndCancellation(t *testing.T) {
	t.Parallel()
	ended := make(map[string]chan string)
	c := &testClass{methods: methods{
		"wait": func(ctx context.Context, o *testObject, key string) (string, error) {
			_, deadline := ctx.Deadline()
			err := o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, time.Hour) })
			ended[key] <- fmt.Sprintf("deadline %v, %v", deadline, ctx.Err())
			return "", err
		},
		"relay": func(ctx context.Context, o *testObject, key string) (string, error) {
			return durableobject.Call[string](ctx, o.state.Namespace("w-Test").GetByName("b"), "wait", key)
		},
	}}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		for _, method := range []string{"wait", "relay"} {
			ended["d"], ended["c"] = make(chan string, 1), make(chan string, 1)
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			_, err := durableobject.Call[string](ctx, s.stub("a"), method, "d")
			cancel()
			wantReason(t, err, sidecar.ReasonDeadline, "The call's deadline passed.")
			// The object's own timer and its caller's word that it has gone are there at the same moment.
			got := <-ended["d"]
			if got != "deadline true, context deadline exceeded" && got != "deadline true, context canceled" ||
				time.Since(start) != 3*time.Second {
				t.Errorf("%s: got %s after %v", method, got, time.Since(start))
			}
			ctx, cancel = context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := durableobject.Call[string](ctx, s.stub("a"), method, "c")
				done <- err
			}()
			synctest.Wait()
			cancel()
			wantReason(t, <-done, sidecar.ReasonCanceled, "The call was canceled.")
			if got := <-ended["c"]; got != "deadline false, context canceled" {
				t.Errorf("%s: got %s", method, got)
			}
		}
		if got := s.serial("a"); got != 1 {
			t.Errorf("got instance %d", got)
		}
	})
}
