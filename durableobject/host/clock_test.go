package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/durableobject/storage"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
)

// clockStack runs a test on a stack whose objects live by a test clock. It fails when more real time passes than such a
// test needs.
func clockStack(t *testing.T, class *testClass, run func(t *testing.T, s *stack, c dopb.ClockServiceClient)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test, err := clock.OpenTest("")
		if err != nil {
			t.Fatal(err)
		}
		s := newStackBy(t, storage.Options{Dir: "store", FS: vfs.NewMem(), Clock: test.Clock()}, class.classes())
		s.host.test = test
		s.serve()
		conn := s.dialHost(s.listener)
		began := time.Now()
		run(t, s, dopb.NewClockServiceClient(conn))
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v of real time", took)
		}
		conn.Close()
		s.close()
		test.Close()
	})
}

func advance(t *testing.T, c dopb.ClockServiceClient, by time.Duration) {
	t.Helper()
	r, err := c.AdvanceClock(t.Context(), &dopb.AdvanceClockRequest{By: durationpb.New(by)})
	if err != nil || r.GetLeft().AsDuration() != 0 || len(r.GetRunning()) > 0 {
		t.Fatalf("advance by %v: %v, %v", by, r, err)
	}
}

// LC-1 and LC-2: eviction and expiry follow the clock, without waiting.
func TestClockEvictsAndForgets(t *testing.T) {
	t.Parallel()
	clockStack(t, &testClass{}, func(t *testing.T, s *stack, c dopb.ClockServiceClient) {
		size := func(entries, actors int) {
			t.Helper()
			if e, a := s.host.table.size(); e != entries || a != actors {
				t.Errorf("%d entries, %d actors; want %d, %d", e, a, entries, actors)
			}
		}
		s.serial("a")
		advance(t, c, IdleTimeout-time.Second)
		size(1, 1)
		advance(t, c, time.Second)
		size(1, 0)
		advance(t, c, ExpiryTimeout-IdleTimeout-time.Second)
		size(1, 0)
		advance(t, c, time.Second)
		size(0, 0)
	})
}

// An alarm a day ahead that sets the next, retries with their back-off, and what the handlers see of the time: all in
// order and none early, in one advance.
func TestClockRunsAlarms(t *testing.T) {
	t.Parallel()
	var seen []string
	var began time.Time
	class := &testClass{}
	class.methods = map[string]func(context.Context, *testObject, string) (string, error){
		"set": func(ctx context.Context, o *testObject, after string) (string, error) {
			d, err := time.ParseDuration(after)
			if err != nil {
				return "", err
			}
			return "", o.state.Storage().SetAlarm(ctx, o.state.Clock().Now().Add(d), storage.PutOptions{})
		},
	}
	class.alarm = func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) error {
		name, _ := o.state.Name()
		now := o.state.Clock().Now()
		if now.Before(a.ScheduledTime) {
			t.Errorf("%s runs at %v, before %v", name, now, a.ScheduledTime)
		}
		seen = append(seen, name+" "+now.Sub(began).Truncate(time.Second).String())
		switch {
		case name == "chain" && len(seen) < 4:
			return o.state.Storage().SetAlarm(ctx, now.Add(time.Hour), storage.PutOptions{})
		case name == "fails" && a.RetryCount < 2:
			return errors.New("not yet")
		}
		return nil
	}
	clockStack(t, class, func(t *testing.T, s *stack, c dopb.ClockServiceClient) {
		began = s.store.Clock().Now()
		for name, after := range map[string]string{"chain": "24h", "fails": "30h", "late": "100h"} {
			if _, err := durableobject.Call[string](t.Context(), s.stub(name), "set", after); err != nil {
				t.Fatal(err)
			}
		}
		advance(t, c, 23*time.Hour)
		if len(seen) > 0 {
			t.Errorf("early: %q", seen)
		}
		advance(t, c, 200*time.Hour)
		kinds := slices.Clone(seen)
		for i := range kinds {
			kinds[i], _, _ = strings.Cut(kinds[i], " ")
		}
		want := []string{"chain", "chain", "chain", "chain", "fails", "fails", "fails", "late"}
		if !slices.Equal(kinds, want) || seen[0] != "chain 24h0m0s" || seen[3] != "chain 27h0m0s" ||
			seen[4] != "fails 30h0m0s" || seen[7] != "late 100h0m0s" {
			t.Errorf("runs: %q", seen)
		}
	})
}

// A critical section is open for too long by the clock.
func TestClockEndsSections(t *testing.T) {
	t.Parallel()
	class := &testClass{methods: map[string]func(context.Context, *testObject, string) (string, error){
		"block": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		},
	}}
	clockStack(t, class, func(t *testing.T, s *stack, c dopb.ClockServiceClient) {
		ended := make(chan error, 1)
		go func() {
			_, err := s.call("a", "block")
			ended <- err
		}()
		synctest.Wait()
		advance(t, c, 29*time.Second)
		select {
		case err := <-ended:
			t.Errorf("it ended early: %v", err)
		default:
		}
		advance(t, c, time.Second)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "blockConcurrencyWhile") {
			t.Errorf("got %v", err)
		}
	})
}

func TestClockService(t *testing.T) {
	t.Parallel()
	clockStack(t, &testClass{}, func(t *testing.T, s *stack, c dopb.ClockServiceClient) {
		for name, r := range map[string]*dopb.AdvanceClockRequest{
			"nothing":    {},
			"backwards":  {By: durationpb.New(-time.Second)},
			"too far":    {By: durationpb.New(clock.MaxAdvance + 1)},
			"wait":       {By: durationpb.New(time.Hour), Wait: durationpb.New(-1)},
			"long wait":  {By: durationpb.New(time.Hour), Wait: durationpb.New(maxAdvanceWait + 1)},
			"malformed":  {By: &durationpb.Duration{Seconds: 1, Nanos: -1}},
			"beyond all": {By: &durationpb.Duration{Seconds: 315_576_000_000}},
		} {
			if _, err := c.AdvanceClock(t.Context(), r); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
		advance(t, c, 90*time.Minute)
		r, err := c.GetClock(t.Context(), &dopb.GetClockRequest{})
		if err != nil || r.GetAhead().AsDuration() != 90*time.Minute || !r.GetNow().AsTime().Equal(time.Now().Add(90*time.Minute)) {
			t.Errorf("got %v, %v", r, err)
		}
	})
}

// A host that lives by real time refuses, and says why.
func TestNoClock(t *testing.T) {
	t.Parallel()
	class := &testClass{}
	bubble(t, class.classes(), func(t *testing.T, s *stack) {
		conn := s.dialHost(s.listener)
		defer conn.Close()
		c := dopb.NewClockServiceClient(conn)
		_, err := c.AdvanceClock(t.Context(), &dopb.AdvanceClockRequest{By: durationpb.New(time.Hour)})
		_, err2 := c.GetClock(t.Context(), &dopb.GetClockRequest{})
		for _, err := range []error{err, err2} {
			if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "--test-clock") {
				t.Errorf("got %v", err)
			}
		}
	})
}

// What a host refuses at its start.
func TestClockAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	test, err := clock.OpenTest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := test.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	test.Close()
	var ahead *clock.AheadError
	if _, err := openClock(Options{Dir: dir}); !errors.As(err, &ahead) {
		t.Errorf("real time is taken for it: %v", err)
	}
	for address, ok := range map[net.Addr]bool{
		&net.UnixAddr{Name: "/x", Net: "unix"}:     true,
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}:   true,
		&net.TCPAddr{IP: net.IPv6loopback}:         true,
		&net.TCPAddr{IP: net.IPv4zero}:             false,
		&net.TCPAddr{IP: net.IPv4(192, 168, 0, 1)}: false,
		&net.TCPAddr{}: false,
	} {
		again, err := openClock(Options{Dir: dir, TestClock: true, Listener: fakeListener{address}, Log: slog.Default()})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%v: %v", address, err)
		}
		if ok && again.Ahead().Round(time.Second) != time.Hour {
			t.Errorf("it goes on at %v", again.Ahead())
		}
		again.Close()
	}
}

// fakeListener has an address and nothing else.
type fakeListener struct{ address net.Addr }

func (fakeListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (fakeListener) Close() error              { return nil }
func (l fakeListener) Addr() net.Addr          { return l.address }
