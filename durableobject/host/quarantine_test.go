package host

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/actor"
	dopb "github.com/tandem-do/tandem/proto/durableobject/v1"
	"github.com/tandem-do/tandem/proto/sidecar"
)

// When an object is quarantined, by its crashes and the seconds between them, and until when.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after []int // seconds between crashes
		want  string
	}{
		"few":              {[]int{0, 1, 1, 1}, "0 0 0 0"},
		"too many":         {[]int{0, 1, 1, 1, 1}, "0 0 0 0 10"},
		"seldom":           {[]int{0, 20, 20, 20, 20, 20}, "0 0 0 0 0 0"},
		"again":            {[]int{0, 1, 1, 1, 1, 11, 21, 100}, "0 0 0 0 10 20 40 80"},
		"at most":          {[]int{0, 0, 0, 0, 0, 10, 20, 40, 80, 160, 300, 300}, "0 0 0 0 10 20 40 80 160 300 300 300"},
		"after probation":  {[]int{0, 0, 0, 0, 0, 10 + 601, 1, 1, 1, 1}, "0 0 0 0 10 0 0 0 0 10"},
		"within probation": {[]int{0, 0, 0, 0, 0, 10 + 599}, "0 0 0 0 10 20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var crashes crashes
			now := time.Unix(1e9, 0)
			var got []string
			for _, seconds := range c.after {
				now = now.Add(time.Duration(seconds) * time.Second)
				var length time.Duration
				if crashes.note(now, actor.ReasonExceededCPU) {
					length = crashes.until.Sub(now)
				}
				got = append(got, fmt.Sprint(length.Seconds()))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

// An object that crashes again and again takes no events, and runs no alarm, until its time is over or an operator lifts
// that; the others go on.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	var instances, alarms atomic.Int32
	c := &testClass{
		methods: methods{
			"crash": func(context.Context, *testObject, string) (string, error) {
				instances.Add(1)
				panic("poisoned")
			},
			"well": func(context.Context, *testObject, string) (string, error) { return "", nil },
			"setAlarm": func(ctx context.Context, o *testObject, after string) (string, error) {
				return setAlarm(ctx, o, after)
			},
		},
		alarm: func(context.Context, *testObject, durableobject.AlarmInfo) error {
			alarms.Add(1)
			return nil
		},
	}
	bubble(t, c.classes(), func(t *testing.T, s *stack) {
		client := s.admin()
		s.setAlarm("a", "3s")
		for range crashLimit {
			if _, err := s.call("a", "crash"); err == nil || !strings.Contains(err.Error(), "internal error") {
				t.Error(err)
			}
		}
		for range 3 {
			_, err := s.call("a", "crash")
			e := wantReason(t, err, sidecar.ReasonBroken, "The Durable Object is quarantined: it crashed again and again, the "+
				"last time because it brought its JavaScript engine or its class down. It takes no events for another 10s.")
			if e.Retryable || e.Reset || !e.Remote {
				t.Errorf("%+v", e)
			}
		}
		if n := instances.Load(); n != crashLimit {
			t.Errorf("%d instances, want %d", n, crashLimit)
		}
		if _, err := s.call("b", "well"); err != nil {
			t.Errorf("another object: %v", err)
		}
		got, err := client.GetObject(t.Context(), &dopb.GetObjectRequest{Object: ref("a")})
		a := got.GetObject().GetActor()
		if err != nil || a.GetBrokenReason() != "quarantined" || !strings.Contains(a.GetBrokenMessage(), "another 10s") {
			t.Errorf("for an operator: %v, %v", got, err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if alarms.Load() != 0 {
			t.Error("an alarm ran in quarantine")
		}
		time.Sleep(5 * time.Second)
		if _, err := s.call("a", "well"); err != nil {
			t.Errorf("after quarantine: %v", err)
		}
		time.Sleep(time.Minute)
		if n := alarms.Load(); n != 1 {
			t.Errorf("%d alarms, want 1", n)
		}
		// On probation one crash is enough, and an operator lifts it.
		_, _ = s.call("a", "crash")
		_, err = s.call("a", "well")
		if err == nil || !strings.Contains(err.Error(), "for another 20s") {
			t.Errorf("on probation: %v", err)
		}
		if _, err := client.EvictObject(t.Context(), &dopb.EvictObjectRequest{Object: ref("a")}); err != nil {
			t.Error(err)
		}
		if _, err := s.call("a", "well"); err != nil {
			t.Errorf("after it was lifted: %v", err)
		}
		for range crashLimit {
			_, _ = s.call("a", "crash")
		}
		if _, err := client.AbortObject(t.Context(), &dopb.AbortObjectRequest{Object: ref("a")}); err != nil {
			t.Error(err)
		}
		_, err = client.AbortObject(t.Context(), &dopb.AbortObjectRequest{Object: ref("a")})
		wantCode(t, err, codes.NotFound, "not live")
		if _, err := s.call("a", "well"); err != nil {
			t.Errorf("after it was lifted again: %v", err)
		}
	})
}
