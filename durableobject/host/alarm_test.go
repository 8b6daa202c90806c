package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// alarmLog notes runs of alarms, with the time since it began.
type alarmLog struct {
	began time.Time

	mu    sync.Mutex // guards lines
	lines []string
}

func (l *alarmLog) note(o *testObject, a durableobject.AlarmInfo, extra string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSpace(fmt.Sprintf("%v instance=%d retry=%d,%v %s",
		time.Since(l.began).Round(time.Millisecond), o.serial, a.RetryCount, a.IsRetry, extra)))
}

// setAlarm is a method that sets the alarm after the given time.
func setAlarm(ctx context.Context, o *testObject, after string) (string, error) {
	d, err := time.ParseDuration(after)
	if err != nil {
		return "", err
	}
	return "", o.state.Storage().SetAlarm(ctx, time.Now().Add(d), storage.PutOptions{})
}

// getAlarm is a method that returns the time of the alarm, counted from the start of a bubble's clock.
func getAlarm(ctx context.Context, o *testObject, _ string) (string, error) {
	at, ok, err := o.state.Storage().Alarm(ctx)
	if err != nil || !ok {
		return "none", err
	}
	return at.UTC().Format("15:04:05.000"), nil
}

func (s *stack) alarm(name string) string {
	s.t.Helper()
	at, err := s.call(name, "getAlarm")
	if err != nil {
		s.t.Error(err)
	}
	return at
}

func (s *stack) setAlarm(name, after string) {
	s.t.Helper()
	if _, err := durableobject.Call[string](s.t.Context(), s.stub(name), "setAlarm", after); err != nil {
		s.t.Error(err)
	}
}

// AL-8, AL-9 and AL-10: a handler that always fails runs seven times, at gaps of 2 s and twice as much each time, with
// up to a quarter more. Between the runs getAlarm gives the time that was set. The instance stays until it is idle.
func TestAlarmRetries(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards at and serials
	var at []time.Time
	var serials []int
	c := &testClass{
		methods: methods{"setAlarm": setAlarm, "getAlarm": getAlarm},
		alarm: func(_ context.Context, o *testObject, a durableobject.AlarmInfo) error {
			mu.Lock()
			defer mu.Unlock()
			if a.RetryCount != len(at) || a.IsRetry != (a.RetryCount > 0) {
				t.Errorf("run %d: got %+v", len(at), a)
			}
			at, serials = append(at, time.Now()), append(serials, o.serial)
			return errors.New("never")
		},
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		s.setAlarm("a", "1s")
		set := s.alarm("a")
		time.Sleep(3 * time.Second)
		if got := s.alarm("a"); got != set {
			t.Errorf("between the runs: getAlarm gives %s, want %s", got, set)
		}
		time.Sleep(time.Hour)
		last := s.alarm("a")
		mu.Lock()
		defer mu.Unlock()
		if len(at) != 7 {
			t.Fatalf("%d runs, want 7", len(at))
		}
		for i := range 6 {
			gap, least := at[i+1].Sub(at[i]), 2*time.Second<<i
			if gap < least || gap > least+least/4+time.Millisecond {
				t.Errorf("gap %d is %v, want %v and up to a quarter more", i, gap, least)
			}
		}
		if want := []int{1, 1, 1, 1, 2, 3, 4}; !slices.Equal(serials, want) { // from 16 s on, idle in between
			t.Errorf("got instances %v, want %v", serials, want)
		}
		if last != "none" {
			t.Errorf("after the last run: getAlarm gives %s", last)
		}
	})
}

// What a handler does, and what becomes of its alarm.
func TestAlarmOutcomes(t *testing.T) {
	t.Parallel()
	type handler = func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) (string, error)
	later := func(ctx context.Context, o *testObject) error {
		_, err := setAlarm(ctx, o, "3s")
		return err
	}
	tests := []struct {
		name    string
		handler handler
		want    []string
	}{
		{"AL-5 and AL-7", func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) (string, error) {
			in, err := getAlarm(ctx, o, "")
			return fmt.Sprintf("scheduled=%s getAlarm=%s", a.ScheduledTime.UTC().Format("05.000"), in), err
		}, []string{"1s instance=1 retry=0,false scheduled=01.001 getAlarm=none"}},
		{"AL-7, a new one is queued", func(ctx context.Context, o *testObject, _ durableobject.AlarmInfo) (string, error) {
			if o.runs++; o.runs > 1 {
				return "", nil
			}
			if err := later(ctx, o); err != nil {
				return "", err
			}
			return getAlarm(ctx, o, "")
		}, []string{"1s instance=1 retry=0,false 00:00:04.001", "4s instance=1 retry=0,false"}},
		{"AL-11", func(ctx context.Context, o *testObject, _ durableobject.AlarmInfo) (string, error) {
			if o.runs++; o.runs > 1 {
				return "", nil
			}
			return "", errors.Join(later(ctx, o), errors.New("after all"))
		}, []string{"1s instance=1 retry=0,false", "4s instance=1 retry=0,false"}},
		{"AL-13 and CTX-10", func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) (string, error) {
			n, err := o.increment(ctx, 1) // lost with the abort
			if a.RetryCount == 0 {
				o.state.Abort(nil)
			}
			return fmt.Sprint(n), err
		}, []string{"1s instance=1 retry=0,false 1", "retry instance=2 retry=1,true 1"}},
		{"CTX-10 without a retry", func(_ context.Context, o *testObject, _ durableobject.AlarmInfo) (string, error) {
			o.state.AbortWith(errors.New("enough"), durableobject.AbortOptions{NoAlarmRetry: true})
			return "", nil
		}, []string{"1s instance=1 retry=0,false"}},
		{"CTX-10 without a retry, a new alarm", func(ctx context.Context, o *testObject, _ durableobject.AlarmInfo) (string, error) {
			if o.serial > 1 {
				return "", nil
			}
			if err := errors.Join(later(ctx, o), o.state.Storage().Sync(ctx)); err != nil {
				return "", err
			}
			o.state.AbortWith(nil, durableobject.AbortOptions{NoAlarmRetry: true})
			return "", nil
		}, []string{"1s instance=1 retry=0,false", "4s instance=2 retry=0,false"}},
		{"AL-6", func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) (string, error) {
			if early := time.Until(a.ScheduledTime); early > 0 {
				return "", fmt.Errorf("early by %v", early)
			}
			return "", nil
		}, []string{"1s instance=1 retry=0,false"}},
		{"LIM-5", func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) (string, error) {
			if a.IsRetry {
				return "", nil
			}
			err := o.state.Await(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
			return err.Error(), err
		}, []string{
			"15m1s instance=1 retry=0,false Alarm exceeded its allowed execution time",
			"retry instance=1 retry=1,true",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log alarmLog
			c := &testClass{methods: methods{"setAlarm": setAlarm, "getAlarm": getAlarm}}
			c.alarm = func(ctx context.Context, o *testObject, a durableobject.AlarmInfo) error {
				extra, err := tt.handler(ctx, o, a)
				log.note(o, a, extra)
				return err
			}
			bubble(t, c.classes(), func(t *testing.T, s *stack) {
				s.serial("a")
				log.began = time.Now()
				s.setAlarm("a", "1s")
				time.Sleep(time.Hour)
				log.mu.Lock()
				defer log.mu.Unlock()
				for i, line := range log.lines {
					if _, rest, ok := strings.Cut(line, " "); ok && i < len(tt.want) && strings.HasPrefix(tt.want[i], "retry ") {
						log.lines[i] = "retry " + rest // its time has a random part
					}
				}
				if !slices.Equal(log.lines, tt.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(log.lines, "\n"), strings.Join(tt.want, "\n"))
				}
				if got := s.alarm("a"); got != "none" {
					t.Errorf("an alarm is left: %s", got)
				}
			})
		})
	}
}

// AL-12: a run that never got its turn is retried and not counted.
func TestAlarmInternalFailure(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	c := &testClass{
		methods: methods{"setAlarm": setAlarm, "block": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				return o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, 10*time.Second) })
			})
		}},
		alarm: func(_ context.Context, _ *testObject, a durableobject.AlarmInfo) error {
			if ran.Add(1); a.RetryCount == 0 {
				t.Errorf("got %+v, want a retry", a)
			}
			return nil
		},
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		s.host.shared.MaxWaiting = 1
		s.setAlarm("a", "1s")
		for range 2 { // one that blocks, one that waits: the queue is full
			go s.call("a", "block")
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		page, err := s.store.DueAlarms(time.Now().Add(time.Hour), storage.AlarmCursor{}, 0)
		if err != nil || len(page.Alarms) != 1 || page.Alarms[0].Retries != 1 || page.Alarms[0].Counted != 0 {
			t.Errorf("got %+v, %v, want one retry that does not count", page.Alarms, err)
		}
		time.Sleep(time.Minute)
		if n := ran.Load(); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// AL-15 and AL-16: alarms take turns like every event: one waits for a critical section, and for the run before it.
func TestAlarmsTakeTurns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards order
	var order []string
	var began time.Time
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, fmt.Sprintf("%s at %v", what, time.Since(began).Round(time.Second)))
	}
	c := &testClass{
		methods: methods{"setAlarm": setAlarm, "block": func(ctx context.Context, o *testObject, _ string) (string, error) {
			return "", o.state.BlockConcurrencyWhile(ctx, func(ctx context.Context) error {
				defer note("unblocked")
				return o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, 5*time.Second) })
			})
		}},
		alarm: func(ctx context.Context, o *testObject, _ durableobject.AlarmInfo) error {
			note("begins")
			defer note("ends")
			return o.state.Await(ctx, func(ctx context.Context) error { return pause(ctx, 10*time.Second) })
		},
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		began = time.Now()
		s.setAlarm("a", "1s")
		if _, err := s.call("a", "block"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		s.setAlarm("a", "0s") // while the first one runs, in whose wait this gets its turn
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		want := []string{"unblocked at 5s", "begins at 5s", "ends at 15s", "begins at 15s", "ends at 25s"}
		if !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

// AL-1, AL-2 and AL-3 through the class API: one alarm, past times mean now, times that there are not are refused.
func TestAlarmTimes(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	c := &testClass{
		methods: methods{"setAlarm": setAlarm, "getAlarm": getAlarm,
			"setEpoch": func(ctx context.Context, o *testObject, _ string) (string, error) {
				return "", o.state.Storage().SetAlarm(ctx, time.UnixMilli(0), storage.PutOptions{})
			},
			"deleteAlarm": func(ctx context.Context, o *testObject, _ string) (string, error) {
				return "", o.state.Storage().DeleteAlarm(ctx, storage.PutOptions{})
			}},
		alarm: func(context.Context, *testObject, durableobject.AlarmInfo) error { ran.Add(1); return nil },
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		_, err := s.call("a", "setEpoch")
		if e := wantReason(t, err, sidecar.ReasonException, "setAlarm() cannot be called with an alarm time <= 0"); e.Name !=
			"TypeError" {
			t.Errorf("got %+v", e)
		}
		s.setAlarm("a", "1h")
		s.setAlarm("a", "1m")
		first := s.alarm("a")
		s.setAlarm("a", "2m")
		if second := s.alarm("a"); first == second || second == "none" {
			t.Errorf("getAlarm gives %s, then %s", first, second)
		}
		if _, err := s.call("a", "deleteAlarm"); err != nil || s.alarm("a") != "none" {
			t.Errorf("deleted: %v, %s", err, s.alarm("a"))
		}
		time.Sleep(2 * time.Hour)
		if n := ran.Load(); n != 0 {
			t.Errorf("%d runs of an alarm that was deleted", n)
		}
		s.setAlarm("a", "-1h")
		synctest.Wait()
		time.Sleep(time.Millisecond)
		if n := ran.Load(); n != 1 {
			t.Errorf("%d runs of an alarm in the past, want one at once", n)
		}
	})
}
