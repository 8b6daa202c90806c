package mcpsession

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

// usage returns what an organization has used in the last hours.
func (u *user) usage(t *testing.T, hours int) props.UsageReport {
	t.Helper()
	stub := u.w.namespace(props.NamespaceUsage).GetByName(u.id.OrganizationID).WithProps(u.id.Encode())
	r, err := durableobject.Call[props.UsageReport](t.Context(), stub, props.MethodUsageReport, props.UsageQuery{Hours: hours})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// blocked is a program that runs until release is closed, and uses 20 ms of processor time.
func blocked(release <-chan struct{}) func(*program) error {
	return func(p *program) error {
		select {
		case <-release:
		case <-p.stream.Context().Done():
		}
		return p.end(&sandboxpb.Done{
			Outcome: sandboxpb.Outcome_OUTCOME_COMPLETED, ResultJson: []byte("1"), Cpu: durationpb.New(20 * time.Millisecond),
		})
	}
}

// TestConcurrentLimit holds that an organization may run as many programs at once as its limit says, and that it alone is
// refused beyond it.
func TestConcurrentLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: props.UsageLimits{Concurrent: 2}})
		release := make(chan struct{})
		w.sandbox.set("block", blocked(release))
		w.sandbox.set("quick", func(p *program) error { return p.done("1", false) })
		u := w.user("a", "o")
		s, other := u.connect(t, nil), w.user("b", "p").connect(t, nil)
		results := make(chan string, 2)
		for range 2 {
			go func() {
				text, _ := execute(t, s, "block")
				results <- text
			}()
		}
		synctest.Wait()
		want := "Error: your organization has reached its limit of 2 executions at once; " +
			"wait until one of them has ended, then run the execute tool again"
		if text, r := execute(t, s, "quick"); text != want || !r.IsError {
			t.Errorf("the third = %s", text)
		}
		if text, _ := execute(t, other, "quick"); text != "1" {
			t.Errorf("another organization = %s", text)
		}
		if r := u.usage(t, 1); r.Running != 2 || len(r.Hours) != 1 || r.Hours[0].Refused != 1 {
			t.Errorf("usage is %+v", r)
		}
		close(release)
		for range 2 {
			if text := <-results; text != "1" {
				t.Errorf("one that ran = %s", text)
			}
		}
		synctest.Wait()
		if text, _ := execute(t, s, "quick"); text != "1" {
			t.Errorf("afterwards = %s", text)
		}
	})
}

// TestPlaceExpires holds that an execution that was lost with its host frees its place, at the latest when its program's
// time would be up.
func TestPlaceExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: props.UsageLimits{Concurrent: 1}})
		w.sandbox.set("block", blocked(nil))
		w.sandbox.set("quick", func(p *program) error { return p.done("1", false) })
		u := w.user("a", "o")
		s := u.connect(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "block"}})
			ended <- err
		}()
		time.Sleep(2 * flushAfter) // it is written that it runs
		w.crash()
		cancel()
		<-ended
		s = u.connect(t, nil)
		if text, _ := execute(t, s, "quick"); !strings.Contains(text, "limit of 1 executions at once") {
			t.Errorf("right afterwards = %s", text)
		}
		time.Sleep(placeTime)
		if text, _ := execute(t, s, "quick"); text != "1" {
			t.Errorf("later = %s", text)
		}
	})
}

// TestHourLimit holds that executions are refused beyond those of an hour, until the next one, and that the refusal says
// when that is.
func TestHourLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: props.UsageLimits{PerHour: 3}})
		w.sandbox.set("quick", func(p *program) error { return p.done("1", false) })
		u := w.user("a", "o")
		s := u.connect(t, nil)
		time.Sleep(20 * time.Minute) // the bubble begins at midnight
		for i := range 5 {
			text, _ := execute(t, s, "quick")
			want := "1"
			if i >= 3 {
				want = "Error: your organization has reached its limit of 3 executions an hour; " +
					"run the execute tool again after 01:00 UTC, in 40m0s"
			}
			if text != want {
				t.Errorf("execution %d = %s", i, text)
			}
		}
		time.Sleep(40 * time.Minute)
		if text, _ := execute(t, s, "quick"); text != "1" {
			t.Errorf("in the next hour = %s", text)
		}
		synctest.Wait()
		r := u.usage(t, 2)
		if len(r.Hours) != 2 || r.Hours[0].Executions != 1 || r.Hours[1].Executions != 3 || r.Hours[1].Refused != 2 {
			t.Errorf("usage is %+v", r)
		}
	})
}

// TestUsageIsCounted holds what is counted of an execution, without limits and with them, and that it is on disk.
func TestUsageIsCounted(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]props.UsageLimits{"no limits": {}, "limits": {Concurrent: 10, PerHour: 100}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{Limits: limits})
				w.sandbox.set("slow", func(p *program) error {
					time.Sleep(3 * time.Second)
					return p.end(&sandboxpb.Done{
						Outcome: sandboxpb.Outcome_OUTCOME_COMPLETED, ResultJson: []byte("1"), Cpu: durationpb.New(20 * time.Millisecond),
					})
				})
				w.sandbox.set("cpu", func(p *program) error {
					return p.end(&sandboxpb.Done{
						Outcome: sandboxpb.Outcome_OUTCOME_EXCEEDED_CPU, Error: "CPU limit exceeded", Cpu: durationpb.New(30 * time.Second),
					})
				})
				u := w.user("a", "o")
				s := u.connect(t, nil)
				execute(t, s, "slow")
				execute(t, s, "slow")
				execute(t, s, "cpu")
				time.Sleep(2 * flushAfter)
				w.crash()
				want := props.UsageReport{Limits: limits, Hours: []props.UsageHour{{
					Hour: time.Now().UTC().Truncate(time.Hour), Executions: 3,
					Outcomes: map[string]int64{"completed": 2, "exceeded_cpu": 1}, CPUMS: 30_040, WallMS: 6000,
				}}}
				if diff := cmp.Diff(want, u.usage(t, 24)); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestPausedUsage holds that a program that has given its process back frees its place, and takes it again when it goes on.
func TestPausedUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: props.UsageLimits{Concurrent: 1}})
		w.sandbox.set("ask", callOnce(listPolicies, "{}"))
		u := w.user("a", "o")
		u.policy(t, props.OwnerOrganization, "*", props.ActionRequireApproval)
		s := u.connect(t, nil)
		text, _ := execute(t, s, "ask")
		id := pausedID(t, text)
		if r := u.usage(t, 1); r.Running != 1 {
			t.Errorf("%d run while the program keeps its process", r.Running)
		}
		time.Sleep(2 * defaultPauseGrace)
		if r := u.usage(t, 1); r.Running != 0 || len(r.Hours[0].Outcomes) != 0 {
			t.Errorf("parked: %+v", r)
		}
		if text, r := resume(t, s, id, "accept"); r.IsError {
			t.Errorf("resumed = %s", text)
		}
		synctest.Wait()
		r := u.usage(t, 1)
		if r.Running != 0 || r.Hours[0].Executions != 1 || r.Hours[0].Outcomes["completed"] != 1 {
			t.Errorf("settled: %+v", r)
		}
	})
}

// TestUsageFailsOpen holds that an execution runs where its organization's usage object does not work.
func TestUsageFailsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Limits: props.UsageLimits{Concurrent: 1}})
		w.sandbox.set("quick", func(p *program) error { return p.done("1", false) })
		u := w.user("a", "o")
		// What it has stored is damaged.
		id := w.namespace(props.NamespaceUsage).IDs().FromName("o")
		o := w.store.Object(props.NamespaceUsage, id, storage.Hooks{})
		entry := storage.Entry{Key: placesKey, Value: []byte("no value")}
		if err := o.Put(t.Context(), []storage.Entry{entry}, storage.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := o.Flush().Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Close()
		if text, _ := execute(t, u.connect(t, nil), "quick"); text != "1" {
			t.Errorf("execute = %s", text)
		}
	})
}

func TestDecideBegin(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 23, 59, 50, 0, time.UTC)
	for _, tc := range []struct {
		name    string
		limits  props.UsageLimits
		running int
		begun   int64
		want    string
	}{
		{"no limits", props.UsageLimits{}, 1000, 1_000_000, ""},
		{"the last place", props.UsageLimits{Concurrent: 2}, 1, 0, ""},
		{"no place", props.UsageLimits{Concurrent: 2}, 2, 0, "limit of 2 executions at once"},
		{"the last of the hour", props.UsageLimits{PerHour: 5}, 0, 4, ""},
		{"the hour is full", props.UsageLimits{PerHour: 5}, 0, 5, "after 00:00 UTC, in 1m0s"},
		{"both", props.UsageLimits{Concurrent: 1, PerHour: 5}, 1, 5, "at once"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := decideBegin(tc.limits, tc.running, tc.begun, now)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
