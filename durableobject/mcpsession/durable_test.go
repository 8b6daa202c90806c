package mcpsession

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

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

const createPolicy = policiesPrefix + "create"

// creating is the argument that creates the policy of a name.
func creating(name string) string {
	return fmt.Sprintf(`{"owner":"user","pattern":"made.%s","action":"block"}`, name)
}

// made returns how many policies were created by programs, by their names.
func made(t *testing.T, w *world) map[string]int {
	t.Helper()
	stub := w.namespace(props.NamespacePolicies).GetByName("o")
	all, err := durableobject.Call[[]props.Policy](t.Context(), stub, props.MethodPoliciesList, props.PolicyQuery{AccountID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, p := range all {
		if name, ok := strings.CutPrefix(p.Pattern, "made."); ok {
			n[name]++
		}
	}
	return n
}

// callAll is a program that makes calls one after the other and returns what they came to, long results cut.
func callAll(calls ...[2]string) func(*program) error {
	return func(p *program) error {
		var all []string
		for _, c := range calls {
			value, thrown, err := p.call(c[0], c[1])
			if err != nil {
				return err
			}
			all = append(all, (value + thrown)[:min(len(value)+len(thrown), 4<<10)])
		}
		return p.done(encode(strings.Join(all, "\n")), true)
	}
}

// resumed checks that a program went on to its end.
func resumed(t *testing.T, text string, r *mcp.CallToolResult, want ...string) {
	t.Helper()
	for _, w := range want {
		if r.IsError || !strings.Contains(text, w) {
			t.Errorf("resume = %s, want %s", encode(r), w)
		}
	}
}

// A pause outlives its host, lost or drained: the program is run again to where it was, and no call is made twice.
func TestPauseSurvivesItsHost(t *testing.T) {
	for _, lose := range []struct {
		name string
		how  func(w *world)
	}{
		{"lost", (*world).crash},
		{"lost after the grace", func(w *world) {
			time.Sleep(time.Minute)
			w.crash()
		}},
		{"without power", (*world).powerCut},
		{"lost twice", func(w *world) {
			w.crash()
			w.crash()
		}},
		{"drained", func(w *world) {
			close(w.draining)
			synctest.Wait()
			w.stop()
			w.drainable()
			w.start()
		}},
	} {
		t.Run(lose.name, func(t *testing.T) {
			approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
				w.drainable()
				w.sandbox.set("work", callAll([2]string{createPolicy, creating("a")}, [2]string{listPolicies, ""},
					[2]string{createPolicy, creating("b")}, [2]string{listPolicies, "{}"}, [2]string{createPolicy, creating("c")}))
				text, _ := execute(t, u.connect(t, nil), "work")
				first := pausedID(t, text)
				lose.how(w)
				s := u.connect(t, nil)
				if d := cmp.Diff(map[string]int{"a": 1}, made(t, w)); d != "" {
					t.Errorf("made (-want +got):\n%s", d)
				}
				text, _ = resume(t, s, first, "accept")
				second := pausedID(t, text)
				lose.how(w)
				s = u.connect(t, nil)
				if text, _ = resume(t, s, first, "accept"); pausedID(t, text) != second {
					t.Errorf("the first again = %s", text)
				}
				text, r := resume(t, s, second, "accept")
				resumed(t, text, r, "made.a", "made.b", "made.c")
				if d := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1}, made(t, w)); d != "" {
					t.Errorf("made (-want +got):\n%s", d)
				}
				lose.how(w)
				if again, r := resume(t, u.connect(t, nil), second, "accept"); again != text || r.IsError {
					t.Errorf("the outcome again = %s", encode(r))
				}
			})
		})
	}
}

// The program is run again with the same seed and start, and is told what it had gone on with.
func TestProgramIsRunAgainAsItWas(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		w.sandbox.set("work", callAll([2]string{"search", ""}, [2]string{createPolicy, creating("a")}, [2]string{listPolicies, ""}))
		text, _ := execute(t, u.connect(t, nil), "work")
		w.crash()
		text, r := resume(t, u.connect(t, nil), pausedID(t, text), "accept")
		resumed(t, text, r, "made.a")
		before, again := w.sandbox.starts[0], w.sandbox.starts[1]
		want := &sandboxpb.Replay{Taken: []*sandboxpb.Taken{{CallId: 1, ActiveNs: 1}, {CallId: 2, ActiveNs: 2}}}
		if d := cmp.Diff(want, again.Replay, protocmp.Transform()); d != "" || before.Replay != nil {
			t.Errorf("replay (-want +got):\n%s", d)
		}
		before.Replay, again.Replay = nil, nil
		before.Limits.WallClock, again.Limits.WallClock = nil, nil
		if d := cmp.Diff(before, again, protocmp.Transform()); d != "" || len(again.Seed) != 32 || again.StartedUnixMs == 0 {
			t.Errorf("start (-before +again):\n%s", d)
		}
	})
}

// A long pause gives its process back, and nothing of it stays in memory. A short one keeps it.
func TestLongPauseGivesItsProcessBack(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		for _, action := range []string{"accept", "decline", "cancel"} {
			text, _ := execute(t, s, "twice")
			id := pausedID(t, text)
			time.Sleep(defaultPauseGrace - time.Millisecond)
			synctest.Wait()
			if _, running := w.sandbox.runs(); running != 1 {
				t.Errorf("%d programs run within the grace", running)
			}
			time.Sleep(time.Minute)
			if _, running := w.sandbox.runs(); running != 0 || w.env.kept.Load() != 0 {
				t.Errorf("%d programs run after the grace", running)
			}
			text, _ = resume(t, s, id, action)
			second := pausedID(t, text)
			if text, r := resume(t, s, second, "decline"); r.IsError || !strings.Contains(text, "was declined") {
				t.Errorf("after %s: %s", action, text)
			}
		}
	})
}

// Beyond a number of paused programs, each gives its process back at once.
func TestManyPausesGiveTheirProcessesBack(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		var ids []string
		for range maxKept + 20 {
			text, _ := execute(t, s, "once")
			ids = append(ids, pausedID(t, text))
		}
		synctest.Wait()
		if _, running := w.sandbox.runs(); running != maxKept {
			t.Errorf("%d programs are kept", running)
		}
		for _, id := range ids {
			if _, r := resume(t, s, id, "accept"); r.IsError {
				t.Errorf("resume = %s", encode(r))
			}
		}
	})
}

// A program does not give its process back while calls of it are under way.
func TestProcessIsKeptWhileCallsRun(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		e := addEffect(w)
		w.sandbox.set("both", func(p *program) error {
			a, err := p.begin(effectTool, "")
			b, err2 := p.begin(listPolicies, "")
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			_, _, err = p.wait(a)
			_, _, err2 = p.wait(b)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			return p.done("1", false)
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "both")
		time.Sleep(30 * time.Second)
		if started, running := w.sandbox.runs(); started != 1 || running != 1 {
			t.Errorf("%d programs of %d run", running, started)
		}
		close(e.hold)
		time.Sleep(time.Second)
		if _, running := w.sandbox.runs(); running != 0 {
			t.Errorf("%d programs run when only the pause is left", running)
		}
		if text, r := resume(t, s, pausedID(t, text), "accept"); text != "1" || r.IsError || e.count() != 1 {
			t.Errorf("%d effects, resume = %s", e.count(), text)
		}
	})
}

const effectTool = "test.effect"

// effect is a tool that has an effect, and holds its calls until hold is closed.
type effect struct {
	hold chan struct{}
	// began takes a value for each call.
	began chan struct{}

	mu sync.Mutex // guards n
	n  int
}

func (e *effect) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

func addEffect(w *world) *effect {
	e := &effect{hold: make(chan struct{}), began: make(chan struct{}, 100)}
	w.env.catalog.add(&tool{
		Path: effectTool, InputSchema: object(properties{}),
		run: func(ctx context.Context, _ *run, _ []byte) (any, error) {
			e.mu.Lock()
			e.n++
			e.mu.Unlock()
			e.began <- struct{}{}
			select {
			case <-e.hold:
				return "done", nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
	})
	return e
}

// A call that ran when the host was lost is not made again, approved or not: the program is told that what it came to
// is not known. The resume of its pause, sent again, goes on from there.
func TestCallLostWithItsHost(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		e := addEffect(w)
		u.policy(t, props.OwnerOrganization, effectTool, props.ActionRequireApproval)
		w.sandbox.set("work", callAll([2]string{createPolicy, creating("a")}, [2]string{effectTool, ""}, [2]string{createPolicy, creating("b")}))
		text, _ := execute(t, u.connect(t, nil), "work")
		id := pausedID(t, text)
		w.crash()
		var g sync.WaitGroup
		s := u.connect(t, nil)
		g.Go(func() {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "resume", Arguments: map[string]any{"executionId": id, "action": "accept"},
			})
			_ = err // the host is lost meanwhile
		})
		<-e.began
		w.crash()
		g.Wait()
		s = u.connect(t, nil)
		text, r := resume(t, s, id, "decline") // it was answered already
		resumed(t, text, r, codeOutcomeUnknown, "not made again", "made.b")
		if e.count() != 1 {
			t.Errorf("%d effects", e.count())
		}
		if d := cmp.Diff(map[string]int{"a": 1, "b": 1}, made(t, w)); d != "" {
			t.Errorf("made (-want +got):\n%s", d)
		}
		w.crash()
		if again, _ := resume(t, u.connect(t, nil), id, "accept"); again != text {
			t.Errorf("again = %s", again)
		}
	})
}

// An answer that was taken counts, also if the host is lost before the call is made.
func TestAnswerSurvivesItsHost(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		e := addEffect(w)
		close(e.hold)
		u.policy(t, props.OwnerOrganization, effectTool, props.ActionRequireApproval)
		slow := make(chan struct{})
		w.sandbox.set("work", func(p *program) error {
			if p.start.Replay == nil {
				return callOnce(effectTool, "")(p)
			}
			select { // run again, it takes its time before it makes the call
			case <-slow:
			case <-p.stream.Context().Done():
				return p.stream.Context().Err()
			}
			return callOnce(effectTool, "")(p)
		})
		text, _ := execute(t, u.connect(t, nil), "work")
		id := pausedID(t, text)
		w.crash()
		s := u.connect(t, nil)
		ctx, cancel := timeout(t, time.Second)
		defer cancel()
		if _, err := s.CallTool(ctx, &mcp.CallToolParams{
			Name: "resume", Arguments: map[string]any{"executionId": id, "action": "accept"},
		}); err == nil {
			t.Error("the program went on")
		}
		w.crash()
		close(slow)
		text, r := resume(t, u.connect(t, nil), id, "cancel")
		resumed(t, text, r, `"ok": true`)
		if e.count() != 1 {
			t.Errorf("%d effects", e.count())
		}
	})
}

// A call with effects is on disk before it is made.
func TestIntentIsStoredFirst(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		e := addEffect(w)
		w.sandbox.set("work", callAll([2]string{listPolicies, ""}, [2]string{effectTool, ""}))
		s := u.connect(t, nil)
		text, _ := execute(t, s, "work")
		var g sync.WaitGroup
		synctest.Wait()
		before := w.syncs.n.Load()
		g.Go(func() { resume(t, s, pausedID(t, text), "accept") })
		<-e.began
		// The answer, and the call with what the one before came to.
		if n := w.syncs.n.Load() - before; n < 2 {
			t.Errorf("%d commits before the call was made", n)
		}
		close(e.hold)
		g.Wait()
	})
}

// Whenever the power is cut, no effect is there twice, each call tells the truth of its effect, and the program comes to
// its end.
func TestEffectsWhateverIsLost(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
				random := rand.New(rand.NewPCG(seed, 0))
				effects := map[string]int{}
				var mu sync.Mutex
				w.env.catalog.add(&tool{
					Path: effectTool, InputSchema: object(properties{"name": {Type: "string"}}),
					run: func(ctx context.Context, r *run, arguments []byte) (any, error) {
						time.Sleep(time.Duration(len(arguments)%3) * time.Millisecond)
						mu.Lock()
						defer mu.Unlock()
						effects[string(arguments)]++
						return string(arguments), nil
					},
				})
				w.syncs.takes.Store(int64(time.Millisecond))
				var calls [][2]string
				for i := range 12 {
					if i%4 == 0 {
						calls = append(calls, [2]string{listPolicies, ""})
					}
					calls = append(calls, [2]string{effectTool, fmt.Sprintf(`{"name":"%0*d"}`, 1+random.IntN(3), i)})
				}
				w.sandbox.set("work", callAll(calls...))
				text, _ := execute(t, u.connect(t, nil), "work")
				for lost := 0; strings.HasPrefix(text, "Execution paused"); {
					id := pausedID(t, text)
					s := u.connect(t, nil)
					ctx, cancel := timeout(t, time.Duration(random.IntN(20_000))*time.Microsecond)
					if lost++; lost > 8 {
						ctx, cancel = timeout(t, time.Minute)
					}
					r, err := s.CallTool(ctx, &mcp.CallToolParams{
						Name: "resume", Arguments: map[string]any{"executionId": id, "action": "accept"},
					})
					if err == nil {
						text, _ = shown(t, r)
					} else {
						w.powerCut()
					}
					cancel()
				}
				lines := strings.Split(text, "\n")
				if len(lines) != len(calls) {
					t.Fatalf("the program ended with %s", text)
				}
				for i, c := range calls {
					n, ok := effects[c[1]], strings.Contains(lines[i], `"ok":true`)
					if c[0] == effectTool && (n > 1 || ok && n != 1 || !ok && !strings.Contains(lines[i], codeOutcomeUnknown)) {
						t.Errorf("%s has %d effects and tells %s", c[1], n, lines[i])
					}
				}
			})
		})
	}
}

// An execution that does not pause stores nothing, however many calls it makes.
func TestNothingIsStoredWithoutAPause(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		e := addEffect(w)
		close(e.hold)
		var calls [][2]string
		for range 20 {
			calls = append(calls, [2]string{effectTool, ""})
		}
		w.sandbox.set("work", callAll(calls...))
		s := w.user("a", "o").connect(t, nil)
		if n := w.commits(func() { execute(t, s, "work") }); n > 2 || e.count() != 20 {
			t.Errorf("%d commits, %d effects", n, e.count())
		}
	})
}

// A program that does not do the same again ends, and says where.
func TestDivergence(t *testing.T) {
	for _, tc := range []struct {
		name  string
		again func(p *program) error
		want  string
	}{
		{"another tool", callAll([2]string{"search", ""}), "its call 1 was one of executor.coreTools.policies.create, and is one of search"},
		{"other arguments", callAll([2]string{createPolicy, creating("b")}), "its call 1, of executor.coreTools.policies.create, has other arguments"},
		{"an early end", func(p *program) error { return p.done("1", false) }, "it ended before its call 1, of executor.coreTools.policies.create"},
		{"the sandbox's word", func(p *program) error {
			return p.end(&sandboxpb.Done{Outcome: sandboxpb.Outcome_OUTCOME_DIVERGED, Error: "it has not made call 1"})
		}, "it has not made call 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
				w.sandbox.set("work", func(p *program) error {
					if p.start.Replay != nil {
						return tc.again(p)
					}
					return callAll([2]string{createPolicy, creating("a")}, [2]string{listPolicies, ""})(p)
				})
				text, _ := execute(t, u.connect(t, nil), "work")
				id := pausedID(t, text)
				w.crash()
				s := u.connect(t, nil)
				for range 2 {
					text, r := resume(t, s, id, "accept")
					if !saysAgain(t, text, r, "error") || !strings.HasPrefix(text, "Error: the program diverged") ||
						!strings.Contains(text, tc.want) {
						t.Errorf("resume = %s", text)
					}
				}
				if d := cmp.Diff(map[string]int{"a": 1}, made(t, w)); d != "" {
					t.Errorf("made (-want +got):\n%s", d)
				}
			})
		})
	}
}

// Two calls that ask at once ask one after the other, also after the host was lost at either.
func TestConcurrentPausesSurvive(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		u.policy(t, props.OwnerOrganization, createPolicy, props.ActionRequireApproval)
		w.sandbox.set("both", func(p *program) error {
			a, err := p.begin(createPolicy, creating("a"))
			b, err2 := p.begin(createPolicy, creating("b"))
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			_, _, err = p.wait(a)
			_, _, err2 = p.wait(b)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			return p.done("1", false)
		})
		text, _ := execute(t, u.connect(t, nil), "both")
		first := pausedID(t, text)
		w.crash()
		text, _ = resume(t, u.connect(t, nil), first, "accept")
		second := pausedID(t, text)
		synctest.Wait()
		w.crash()
		s := u.connect(t, nil)
		if n := made(t, w); len(n) != 1 {
			t.Errorf("after one approval: %v", n)
		}
		if text, r := resume(t, s, second, "accept"); text != "1" || r.IsError {
			t.Errorf("after both = %s", text)
		}
		if d := cmp.Diff(map[string]int{"a": 1, "b": 1}, made(t, w)); d != "" {
			t.Errorf("made (-want +got):\n%s", d)
		}
	})
}

// A pause outlives its sandbox, and so does what runs on after one: the program is run again.
func TestSandboxIsLost(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		away := status.Error(codes.Unavailable, "killed")
		w.sandbox.set("while paused", func(p *program) error {
			calls, err := p.begin(createPolicy, creating("a"))
			if err != nil {
				return err
			}
			if _, _, err := p.wait(calls); err != nil {
				return err
			}
			if p.start.Replay == nil {
				_, err := p.begin(listPolicies, "")
				time.Sleep(time.Second)
				return errors.Join(err, away)
			}
			return callOnce(listPolicies, "")(p)
		})
		runs := 0
		w.sandbox.set("while running", func(p *program) error {
			if _, _, err := p.call(listPolicies, ""); err != nil {
				return err
			}
			value, thrown, err := p.call(createPolicy, creating("b"))
			if err != nil {
				return err
			}
			if runs++; runs < 3 {
				return away
			}
			return p.done(encode(value+thrown), true)
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "while paused")
		time.Sleep(1500 * time.Millisecond)
		text, r := resume(t, s, pausedID(t, text), "accept")
		resumed(t, text, r, "made.a")
		text, _ = execute(t, s, "while running")
		text, r = resume(t, s, pausedID(t, text), "accept")
		resumed(t, text, r, "made.b")
		if d := cmp.Diff(map[string]int{"a": 1, "b": 1}, made(t, w)); d != "" || runs != 3 {
			t.Errorf("after %d runs made (-want +got):\n%s", runs, d)
		}
	})
}

// While there is no sandbox, who resumes is told to come back, and can.
func TestSandboxIsAway(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "once")
		id := pausedID(t, text)
		time.Sleep(time.Minute)
		w.sandbox.set("once", func(*program) error { return status.Error(codes.Unavailable, "away") })
		text, r := resume(t, s, id, "accept")
		if !r.IsError || !strings.Contains(text, "not available") || !strings.Contains(text, "call the resume tool again") {
			t.Errorf("resume = %s", text)
		}
		w.sandbox.set("once", callOnce(listPolicies, ""))
		if text, r := resume(t, s, id, "accept"); r.IsError || !strings.Contains(text, listPolicies) {
			t.Errorf("resume again = %s", text)
		}
	})
}

// Nobody comes back for a program that was lost after its answer: it expires.
func TestAnsweredAndAbandoned(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		w.sandbox.set("slow", func(p *program) error {
			if _, _, err := p.call(listPolicies, ""); err != nil {
				return err
			}
			time.Sleep(4 * time.Minute)
			return p.done("1", false)
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "slow")
		id := pausedID(t, text)
		ctx, cancel := timeout(t, time.Second)
		defer cancel()
		_, err := s.CallTool(ctx, &mcp.CallToolParams{
			Name: "resume", Arguments: map[string]any{"executionId": id, "action": "accept"},
		})
		if err == nil {
			t.Error("the program ended at once")
		}
		w.crash()
		time.Sleep(defaultApprovalWindow)
		text, r := resume(t, u.connect(t, nil), id, "accept")
		if !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("resume = %s", encode(r))
		}
	})
}

// A program with too much behind it goes on, but only with the process and the host that it has.
func TestTooMuchToKeep(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		long := encode(map[string]string{"query": strings.Repeat("x", maxArgumentBytes/2)})
		var calls [][2]string
		for range maxHistoryBytes/len(long) + 1 {
			calls = append(calls, [2]string{"search", long})
		}
		w.sandbox.set("before", callAll(append(calls, [2]string{listPolicies, ""})...))
		w.sandbox.set("after", callAll(append(append([][2]string{{createPolicy, creating("a")}, {listPolicies, ""}}, calls...), [2]string{listPolicies, "{}"})...))
		s := u.connect(t, nil)
		pauses := map[string]string{}
		for _, code := range []string{"before", "after"} {
			text, _ := execute(t, s, code)
			if code == "after" {
				text, _ = resume(t, s, pausedID(t, text), "accept")
			}
			pauses[code] = pausedID(t, text)
		}
		time.Sleep(time.Minute)
		if _, running := w.sandbox.runs(); running != 2 {
			t.Errorf("%d programs run", running)
		}
		if _, r := resume(t, s, pauses["before"], "accept"); r.IsError {
			t.Errorf("with its process: %s", encode(r))
		}
		w.crash()
		if text, r := resume(t, u.connect(t, nil), pauses["after"], "accept"); !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("after a crash = %s", text)
		}
	})
}

// Nothing of a program is left once it has settled or expired.
func TestHistoryIsForgotten(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		u.policy(t, props.OwnerOrganization, createPolicy, props.ActionRequireApproval)
		w.sandbox.set("work", callAll([2]string{"search", ""}, [2]string{createPolicy, creating("a")}))
		for _, how := range []string{"settled", "expired"} {
			text, _ := execute(t, s, "work")
			id := pausedID(t, text)
			if n := keys(t, w, id); n < 4 {
				t.Errorf("%d keys while paused", n)
			}
			if how == "settled" {
				resume(t, s, id, "accept")
			} else {
				time.Sleep(defaultApprovalWindow + time.Second)
			}
			synctest.Wait()
			if n := keys(t, w, id); n != 1 {
				t.Errorf("%d keys once it has %s", n, how)
			}
			if p := journalOf(t, w, id).Pause; len(p.Arguments) > 0 {
				t.Errorf("%s: the arguments are kept: %s", how, p.Arguments)
			}
		}
	})
}

// objectOf returns the id of an execution's object.
func objectOf(t *testing.T, w *world, id string) objectid.ID {
	t.Helper()
	parsed, err := parseExecutionID(id)
	if err != nil {
		t.Fatal(err)
	}
	return w.namespace(props.NamespaceExecution).IDs().FromName(parsed.Base())
}

// journalOf returns the journal of an execution, as it is stored.
func journalOf(t *testing.T, w *world, id string) journal {
	t.Helper()
	s := w.store.Object(props.NamespaceExecution, objectOf(t, w, id), storage.Hooks{})
	j, ok, err := durableobject.Get[journal](t.Context(), s, journalKey)
	if err != nil || !ok {
		t.Fatalf("no journal is stored: %v", err)
	}
	return j
}

// keys returns how many keys an execution has.
func keys(t *testing.T, w *world, id string) int {
	t.Helper()
	object := objectOf(t, w, id)
	all, err := w.store.Summaries(t.Context(), props.NamespaceExecution, nil, 100, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.ID == object {
			return s.Keys
		}
	}
	return 0
}

// A client's user takes longer than the grace, and is asked as often as the program asks.
func TestNativeElicitationTakesLong(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		u.mode = props.ElicitationNative
		asked := 0
		s := u.connect(t, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				time.Sleep(time.Minute)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
			},
		})
		if text, r := execute(t, s, "twice"); r.IsError || asked != 2 || !strings.Contains(text, "pol_") {
			t.Errorf("asked %d times, execute = %s", asked, text)
		}
		if started, _ := w.sandbox.runs(); started != 3 {
			t.Errorf("the program was started %d times", started)
		}
	})
}

// A client that stands alone can answer after the host was lost.
func TestInputRequiredSurvivesItsHost(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.intent = props.IntentStateless
		u.policy(t, props.OwnerOrganization, listPolicies, props.ActionRequireApproval)
		w.sandbox.set("once", callOnce(listPolicies, ""))
		client := alone{user: u, capabilities: `{"elicitation":{}}`}
		const call = `"arguments":{"code":"once"}`
		_, body := client.post(t, "tools/call", "execute", call)
		state := requestState.FindStringSubmatch(body)
		if state == nil {
			t.Fatalf("no input request: %s", body)
		}
		w.crash()
		_, body = client.post(t, "tools/call", "execute", call+fmt.Sprintf(`,"requestState":%q`, state[1]))
		if again := requestState.FindStringSubmatch(body); again == nil || again[1] != state[1] {
			t.Errorf("without an answer: %s", body)
		}
		answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":"accept","content":{}}}`, state[1])
		if _, body = client.post(t, "tools/call", "execute", call+answer); !strings.Contains(body, `"status":"completed"`) {
			t.Errorf("with the answer: %s", body)
		}
	})
}

// An answer on the page counts whatever host it finds, and also if that is lost before anybody asks what came of it.
func TestPageAnswerSurvivesItsHost(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		e := addEffect(w)
		w.sandbox.set("work", callAll([2]string{createPolicy, creating("a")}, [2]string{listPolicies, ""}, [2]string{effectTool, ""}))
		text, _ := execute(t, u.connect(t, nil), "work")
		id := pausedID(t, text)
		w.crash()
		if view := look(t, u, id); view.Status != props.PausePending {
			t.Errorf("the page is told %+v", view)
		}
		if view := answer(t, u, id, actionAccept); view.Status != props.PauseAnswered || !view.ByPage {
			t.Errorf("the answer gave %+v", view)
		}
		<-e.began
		w.powerCut()
		if view := answer(t, u, id, actionDecline); view.Answer != actionAccept {
			t.Errorf("another answer gave %+v", view)
		}
		r := <-wait(t, u.connect(t, nil), id)
		if text, _ := shown(t, r); r.IsError || !strings.Contains(text, codeOutcomeUnknown) || e.count() != 1 {
			t.Errorf("%d effects, the client got %s", e.count(), encode(r))
		}
		if d := cmp.Diff(map[string]int{"a": 1}, made(t, w)); d != "" {
			t.Errorf("made (-want +got):\n%s", d)
		}
	})
}

// What is damaged on disk is not run again.
func TestDamagedExecutionExpires(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		w.sandbox.set("work", callAll([2]string{createPolicy, creating("a")}, [2]string{listPolicies, ""}))
		text, _ := execute(t, u.connect(t, nil), "work")
		id := pausedID(t, text)
		parsed, _ := parseExecutionID(id)
		w.stop()
		store, err := storage.Open(storage.Options{Dir: "store", FS: w.fs})
		if err != nil {
			t.Fatal(err)
		}
		object := store.Object(props.NamespaceExecution,
			w.namespace(props.NamespaceExecution).IDs().FromName(parsed.Base()), storage.Hooks{})
		if _, err := object.Delete(t.Context(), []string{historyKey(callsPrefix, 1)}, storage.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := object.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		w.start()
		s := u.connect(t, nil)
		for range 2 {
			if text, r := resume(t, s, id, "accept"); !saysAgain(t, text, r, "execution_expired") {
				t.Errorf("resume = %s", encode(r))
			}
		}
	})
}
