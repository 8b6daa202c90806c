package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
)

// versioned is an instance of a class that knows which version of its code it is.
type versioned struct {
	version string
	state   *durableobject.State
	calls   int
}

// add counts, with its version, and takes so many milliseconds.
func (v *versioned) add(ctx context.Context, millis int) (string, error) {
	v.calls++
	err := v.state.Await(ctx, func(ctx context.Context) error {
		timer := time.NewTimer(time.Duration(millis) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		return "", err
	}
	n, _, err := durableobject.Get[int](ctx, v.state.Storage(), "n")
	if err != nil {
		return "", err
	}
	if err := durableobject.Put(ctx, v.state.Storage(), "n", n+1); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", v.version, n+1), nil
}

// again calls the object itself, by way of the router.
func (v *versioned) again(ctx context.Context, _ any) (string, error) {
	n := v.state.Namespace("w-Test")
	return durableobject.Call[string](ctx, n.Get(v.state.ID()), "add", 500)
}

// back waits for a second, and then for an event of the object's own making, as of a function that it has exported.
func (v *versioned) back(ctx context.Context, _ any) (got string, err error) {
	err = v.state.Await(ctx, func(ctx context.Context) error {
		sleep(ctx, time.Second)
		return v.state.Deliver(ctx, func(context.Context) error {
			got = v.version + " was called back"
			return nil
		})
	})
	return got, err
}

// timer has the object wait for a timer that never comes.
func (v *versioned) timer(context.Context, any) (string, error) {
	v.state.Hold()
	return v.version, nil
}

// live returns how many calls the instance had.
func (v *versioned) live(context.Context, any) (string, error) {
	return fmt.Sprintf("%s %d", v.version, v.calls), nil
}

// versions returns the classes of a version.
func versions(version string, names ...string) []durableobject.Class {
	var list []durableobject.Class
	for _, name := range names {
		list = append(list, durableobject.Class{
			Name: name,
			New: func(_ context.Context, s *durableobject.State) (any, error) {
				return &versioned{version: version, state: s}, nil
			},
			Methods: map[string]durableobject.Method{
				"add": durableobject.Func((*versioned).add), "again": durableobject.Func((*versioned).again),
				"back": durableobject.Func((*versioned).back), "timer": durableobject.Func((*versioned).timer), "live": durableobject.Func((*versioned).live),
			},
		})
	}
	return list
}

// TestDeploy: events that run are finished by the code that began them, what comes meanwhile is run by the new one and
// waits, storage stays, and nobody notices.
func TestDeploy(t *testing.T) {
	t.Parallel()
	bubble(t, versions("one", "Test"), func(t *testing.T, s *stack) {
		call := func(name, method string, args ...any) string {
			t.Helper()
			got, err := durableobject.Call[string](t.Context(), s.stub(name), method, append(args, nil)[0])
			if err != nil {
				t.Errorf("%s.%s: %v", name, method, err)
			}
			return got
		}
		// An idle object, one with a call that runs, one with a timer that never comes.
		call("idle", "add", 0)
		if got := call("timer", "timer"); got != "one" {
			t.Error(got)
		}
		var calls sync.WaitGroup
		calls.Go(func() {
			if got := call("busy", "add", 1000); got != "one 1" {
				t.Errorf("the call that ran: got %q", got)
			}
		})
		calls.Go(func() {
			if got := call("calling", "back"); got != "one was called back" {
				t.Errorf("the call that is called back: got %q", got)
			}
		})
		synctest.Wait()
		start := time.Now()
		calls.Go(func() {
			if err := s.host.Deploy(t.Context(), versions("two", "Test")); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took != time.Second {
				t.Errorf("the deployment took %v", took)
			}
		})
		synctest.Wait()
		if got := call("idle", "add", 0); got != "two 2" {
			t.Errorf("idle: got %q", got)
		}
		if got := call("timer", "add", 0); got != "two 1" || time.Since(start) != 0 {
			t.Errorf("timer: got %q after %v", got, time.Since(start))
		}
		if got := call("new", "add", 0); got != "two 1" {
			t.Errorf("new: got %q", got)
		}
		if got := call("busy", "add", 0); got != "two 2" || time.Since(start) != time.Second {
			t.Errorf("busy: got %q after %v", got, time.Since(start))
		}
		calls.Wait()
		if got := s.log.String(); strings.Contains(got, "object was reset") {
			t.Error(got)
		}
		// Twice in a row, and the instance stays where nothing is deployed.
		call("idle", "add", 0)
		if got := call("idle", "live"); got != "two 2" {
			t.Error(got)
		}
		if err := s.host.Deploy(t.Context(), versions("three", "Test")); err != nil {
			t.Error(err)
		}
		if got := call("idle", "live"); got != "three 0" {
			t.Error(got)
		}
	})
}

// TestDeployResets: what takes longer than the grace is reset with Cloudflare's words, retryable, as is what waits for
// itself; what it wrote is there or not, and the object goes on at once.
func TestDeployResets(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"add", "again"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			bubble(t, versions("one", "Test"), func(t *testing.T, s *stack) {
				var calls sync.WaitGroup
				start := time.Now()
				calls.Go(func() {
					_, err := durableobject.Call[string](t.Context(), s.stub("a"), "add", 600_000)
					e := wantReason(t, err, sidecar.ReasonBroken, "Durable Object reset because its code was updated.")
					if !e.Retryable || !e.Reset || time.Since(start) != DeployGrace {
						t.Errorf("got %+v after %v", e, time.Since(start))
					}
				})
				synctest.Wait()
				if err := s.host.Deploy(t.Context(), versions("two", "Test")); err != nil {
					t.Error(err)
				}
				calls.Wait()
				if got, err := durableobject.Call[string](t.Context(), s.stub("a"), method, 0); err != nil || got != "two 1" {
					t.Errorf("got %q, %v", got, err)
				}
				if got := s.log.String(); !strings.Contains(got, "level=INFO msg=\"object was reset\"") ||
					!strings.Contains(got, "reason=updated") || !strings.Contains(got, "active=1 reset=1") {
					t.Error(got)
				}
			})
		})
	}
}

// TestDeployUnderLoad: with calls that come all the time, to one object and to many, no call fails and none is lost.
func TestDeployUnderLoad(t *testing.T) {
	t.Parallel()
	bubble(t, versions("0", "Test"), func(t *testing.T, s *stack) {
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		counts := make([]int, 8)
		for i := range counts {
			load.Go(func() {
				stub := s.stub("hot")
				if i >= 4 {
					stub = s.stub(fmt.Sprint("object ", i))
				}
				for ctx.Err() == nil {
					if _, err := durableobject.Call[string](t.Context(), stub, "add", i+1); err != nil {
						t.Error(err)
						return
					}
					counts[i]++
				}
			})
		}
		for n := range 5 {
			sleep(t.Context(), 100*time.Millisecond)
			if err := s.host.Deploy(t.Context(), versions(fmt.Sprint(n+1), "Test")); err != nil {
				t.Error(err)
			}
		}
		stop()
		load.Wait()
		got, err := durableobject.Call[string](t.Context(), s.stub("hot"), "add", 0)
		if want := fmt.Sprintf("5 %d", counts[0]+counts[1]+counts[2]+counts[3]+1); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}

// TestDeployClasses: the router hears of classes that come and go, and those that are gone take no calls.
func TestDeployClasses(t *testing.T) {
	t.Parallel()
	bubble(t, versions("one", "Test", "Old"), func(t *testing.T, s *stack) {
		if err := s.host.Deploy(t.Context(), versions("two", "Test", "New")); err != nil {
			t.Error(err)
		}
		if got := s.router.calls(); got != "join w-Old,w-Test; join w-New,w-Test" {
			t.Error(got)
		}
		for class, want := range map[string]string{"Test": "two", "New": "two", "Old": ""} {
			stub := binding.NewNamespace("w-"+class, s.caller).GetByName("a")
			got, err := durableobject.Call[string](t.Context(), stub, "timer", nil)
			switch {
			case want == "":
				wantReason(t, err, sidecar.ReasonNoSuchClass, "No such Durable Object class: w-Old.")
			case got != want || err != nil:
				t.Errorf("%s: got %q, %v", class, got, err)
			}
		}
		bad := versions("three", "Test")
		bad[0].Name = "no name"
		if err := s.host.Deploy(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "no name") {
			t.Errorf("got %v", err)
		}
		if err := s.host.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.host.Deploy(t.Context(), versions("three", "Test")); !errors.Is(err, ErrDraining) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDeployAlarm: the run of an alarm that new code does not wait for is run again, as after a fault of the system.
func TestDeployAlarm(t *testing.T) {
	t.Parallel()
	var runs []string
	classes := func(version string, wait bool) []durableobject.Class {
		list := versions(version, "Test")
		list[0].New = func(_ context.Context, s *durableobject.State) (any, error) {
			return &alarmed{versioned{version: version, state: s}, wait, &runs}, nil
		}
		list[0].Methods = map[string]durableobject.Method{"set": durableobject.Func((*alarmed).set)}
		return list
	}
	bubble(t, classes("one", true), func(t *testing.T, s *stack) {
		if _, err := durableobject.Call[string](t.Context(), s.stub("a"), "set", nil); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 2*time.Second)
		if err := s.host.Deploy(t.Context(), classes("two", false)); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), time.Minute)
		if got := strings.Join(runs, ", "); got != "one 0, two 1" {
			t.Errorf("runs: %s", got)
		}
	})
}

type alarmed struct {
	versioned
	wait bool
	runs *[]string
}

func (a *alarmed) set(ctx context.Context, _ any) (string, error) {
	return "", a.state.Storage().SetAlarm(ctx, a.state.Clock().Now().Add(time.Second), storage.PutOptions{})
}

// Alarm implements durableobject.Alarmer.
func (a *alarmed) Alarm(ctx context.Context, i durableobject.AlarmInfo) error {
	*a.runs = append(*a.runs, fmt.Sprintf("%s %d", a.version, i.RetryCount))
	if !a.wait {
		return nil
	}
	return a.state.Await(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

// A class that has another name keeps its objects, for callers who know it by either name. A new one of the old name gets
// objects of its own.
func TestRename(t *testing.T) {
	t.Parallel()
	bubble(t, versions("one", "Test"), func(t *testing.T, s *stack) {
		want := func(namespace, want string) {
			t.Helper()
			stub := binding.NewNamespace(namespace, s.host.Local()).GetByName("a")
			if got, err := durableobject.Call[string](t.Context(), stub, "add", 0); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", namespace, got, err, want)
			}
		}
		want("w-Test", "one 1")
		renamed := versions("two", "New")
		renamed[0].Key = "w-Test"
		if err := s.host.Deploy(t.Context(), renamed); err != nil {
			t.Fatal(err)
		}
		want("w-New", "two 2")
		want("w-Test", "two 3")
		again := versions("three", "New", "Test")
		again[0].Key, again[1].Key = "w-Test", "w-Test.2"
		if err := s.host.Deploy(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		want("w-New", "three 4")
		want("w-Test.2", "three 1")
		if got := (operator{s.host}).Namespaces(); !slices.Equal(got, []string{"w-Test", "w-Test.2"}) {
			t.Errorf("operators see %q", got)
		}
	})
}
