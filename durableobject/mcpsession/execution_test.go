package mcpsession

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tandem-do/tandem/proto/props"
	sandboxpb "github.com/tandem-do/tandem/proto/sandbox/v1"
)

const listPolicies = "executor.coreTools.policies.list"

var idLine = regexp.MustCompile(`(?m)^executionId: (exec_[0-9a-f-]{36})$`)

// pausedID returns the id in a pause's text.
func pausedID(t *testing.T, text string) string {
	t.Helper()
	m := idLine.FindStringSubmatch(text)
	if m == nil || !strings.HasPrefix(text, "Execution paused: ") {
		t.Fatalf("not a pause: %s", text)
	}
	return m[1]
}

// approvals is a world in which listing policies needs approval, with programs that do so once and twice.
func approvals(t *testing.T, o Options, fn func(t *testing.T, w *world, u *user)) {
	t.Helper()
	in(t, o, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.vanishes = true
		u.policy(t, props.OwnerOrganization, listPolicies, props.ActionRequireApproval)
		w.sandbox.set("once", callOnce(listPolicies, ""))
		w.sandbox.set("twice", func(p *program) error {
			first, _, err := p.call(listPolicies, "")
			if err != nil {
				return err
			}
			second, thrown, err := p.call(listPolicies, "{}")
			if err != nil {
				return err
			}
			return p.done(encode([]string{first, second, thrown}), false)
		})
		fn(t, w, u)
	})
}

// saysAgain reports whether a result is an error with a status, and tells the model what to do.
func saysAgain(t *testing.T, text string, r *mcp.CallToolResult, status string) bool {
	t.Helper()
	return r.IsError && field(t, r, "status") == status && strings.Contains(text, "run the execute tool again")
}

func TestPauseAndResume(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		var text string
		var r *mcp.CallToolResult
		if n := w.commits(func() { text, r = execute(t, s, "once") }); n != 1 {
			t.Errorf("a pause makes %d commits", n)
		}
		id := pausedID(t, text)
		if r.IsError || field(t, r, "status") != "waiting_for_interaction" || field(t, r, "executionId") != id {
			t.Errorf("pause = %s", encode(r))
		}
		s.Close()

		next := u.connect(t, nil) // resume needs no session
		text, r = resume(t, next, id, "accept")
		if r.IsError || !strings.Contains(text, listPolicies) || field(t, r, "status") != "completed" {
			t.Errorf("resume = %s", encode(r))
		}
		again, r := resume(t, next, id, "accept")
		if again != text || r.IsError {
			t.Errorf("resume again = %s", encode(r))
		}
		if different, _ := resume(t, next, id, "decline"); different != text {
			t.Errorf("a settled resume answered otherwise = %s", different)
		}
		if d := cmp.Diff([]bool{true, false}, w.sandbox.clock()); d != "" {
			t.Errorf("wall clock stopped (-want +got):\n%s", d)
		}
		other, _ := execute(t, next, "once")
		if pausedID(t, other) == id {
			t.Error("an id was used twice")
		}
	})
}

func TestDeclineAndCancelThrow(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		for action, want := range map[string]string{"decline": "was declined", "cancel": "was cancelled"} {
			text, _ := execute(t, s, "once")
			text, r := resume(t, s, pausedID(t, text), action)
			if !r.IsError || !strings.HasPrefix(text, "Error: ") || !strings.Contains(text, want) {
				t.Errorf("%s = %s", action, text)
			}
		}
		if _, r := resume(t, s, "exec_x", "maybe"); !r.IsError {
			t.Error("an unknown action was taken")
		}
	})
}

// The approval of the first pause, sent twice, must not approve the second.
func TestSecondPauseIsNotApprovedByDuplicate(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "twice")
		first := pausedID(t, text)
		text, _ = resume(t, s, first, "accept")
		second := pausedID(t, text)
		if second == first {
			t.Fatalf("both pauses have the id %s", first)
		}
		for range 3 {
			text, _ = resume(t, s, first, "accept")
			if got := pausedID(t, text); got != second {
				t.Errorf("duplicate = %s, want the pause %s", text, second)
			}
		}
		text, r := resume(t, s, second, "decline")
		if r.IsError || !strings.Contains(text, "was declined") || !strings.Contains(text, "pol_") {
			t.Errorf("second = %s", text)
		}
		if _, r := resume(t, s, first, "accept"); field(t, r, "status") != "execution_already_settled" {
			t.Errorf("first, after all = %s", encode(r))
		}
	})
}

// Calls that ask at the same time ask one after the other.
func TestApprovalsAtOnce(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		w.sandbox.set("both", func(p *program) error {
			a, err := p.begin(listPolicies, "")
			b, err2 := p.begin(listPolicies, "")
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			<-a
			<-b
			return p.done("1", false)
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "both")
		text, _ = resume(t, s, pausedID(t, text), "accept")
		if text, _ = resume(t, s, pausedID(t, text), "accept"); text != "1" {
			t.Errorf("after both = %s", text)
		}
	})
}

func TestResumesInFlightJoin(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		runs := 0
		w.sandbox.set("slow", func(p *program) error {
			if _, _, err := p.call(listPolicies, ""); err != nil {
				return err
			}
			runs++
			time.Sleep(10 * time.Second)
			return p.done(fmt.Sprint(runs), false)
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "slow")
		id := pausedID(t, text)
		var g sync.WaitGroup
		for range 5 {
			g.Go(func() {
				if text, r := resume(t, s, id, "accept"); text != "1" || r.IsError {
					t.Errorf("resume = %s", encode(r))
				}
			})
		}
		g.Wait()
	})
}

// Approval and expiry at the same moment have one winner, and everybody hears of the same.
func TestResumeRacesExpiry(t *testing.T) {
	approvals(t, Options{ApprovalWindow: time.Minute}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		for i := range 10 {
			text, _ := execute(t, s, "once")
			id := pausedID(t, text)
			time.Sleep(time.Minute - time.Duration(5-i)*time.Millisecond)
			statuses := map[string]int{}
			var mu sync.Mutex
			var g sync.WaitGroup
			for range 2 {
				g.Go(func() {
					_, r := resume(t, s, id, "accept")
					mu.Lock()
					defer mu.Unlock()
					statuses[field(t, r, "status")]++
				})
			}
			g.Wait()
			if len(statuses) != 1 {
				t.Errorf("two resumes settled differently: %v", statuses)
			}
			want := "completed"
			if i >= 5 { // from the deadline on, whichever comes first then
				want = "execution_expired"
			}
			if statuses[want] != 2 {
				t.Errorf("%d ms before the deadline: %v, want %s", 5-i, statuses, want)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestApprovalWindow(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		ended := make(chan struct{})
		w.sandbox.set("wait", func(p *program) error {
			defer close(ended)
			_, _, err := p.call(listPolicies, "")
			return err
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "wait")
		id := pausedID(t, text)
		time.Sleep(defaultApprovalWindow + time.Second)
		<-ended // the program is stopped
		text, r := resume(t, s, id, "accept")
		if !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("resume = %s", encode(r))
		}
		// Later nothing is left of it.
		time.Sleep(retention + time.Hour)
		synctest.Wait()
		if _, r := resume(t, s, id, "accept"); field(t, r, "status") != "execution_not_found" {
			t.Errorf("resume after retention = %s", encode(r))
		}
		parsed, _ := parseExecutionID(id)
		if w.stored(props.NamespaceExecution, w.namespace(props.NamespaceExecution).IDs().FromName(parsed.Base())) {
			t.Error("state is left after retention")
		}
	})
}

func TestOutcomeIsKeptForAWhile(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "once")
		id := pausedID(t, text)
		want, _ := resume(t, s, id, "accept")
		w.crash() // the outcome is on disk
		s = u.connect(t, nil)
		if got, r := resume(t, s, id, "accept"); got != want || r.IsError {
			t.Errorf("after a crash = %s", got)
		}
		time.Sleep(replayWindow + time.Second)
		text, r := resume(t, s, id, "accept")
		if !r.IsError || field(t, r, "status") != "execution_already_settled" {
			t.Errorf("after the replay window = %s", text)
		}
	})
}

// The paused ceiling: executions expire with their session's runtime, before their own window.
func TestPausedExecutionsExpireWithTheSession(t *testing.T) {
	o := Options{SessionTimeout: 3 * time.Second, PausedTimeout: 30 * time.Second}
	approvals(t, o, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "once")
		id := pausedID(t, text)
		time.Sleep(29 * time.Second)
		if countSessions(w) != 1 {
			t.Error("a paused execution did not extend its session")
		}
		time.Sleep(3 * time.Second)
		noneLeft(t, w)
		text, r := resume(t, s, id, "accept")
		if !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("resume = %s", encode(r))
		}
		text, _ = execute(t, s, "once")
		second := pausedID(t, text)
		if text, r := resume(t, s, second, "accept"); second == id || r.IsError || !strings.Contains(text, listPolicies) {
			t.Errorf("the next = %s", text)
		}
		time.Sleep(4 * time.Second) // a resumed execution no longer extends it
		noneLeft(t, w)
	})
}

func TestForeignAndUnknownExecutions(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		text, _ := execute(t, u.connect(t, nil), "once")
		id := pausedID(t, text)
		parsed, _ := parseExecutionID(id)
		for _, tc := range []struct {
			name       string
			u          *user
			id, status string
		}{
			{"another account", w.user("b", "o"), id, "execution_forbidden"},
			{"another organization", w.user("a", "p"), id, "execution_forbidden"},
			{"never issued", u, newExecutionID().At(1).String(), "execution_not_found"},
			{"a pause to come", u, parsed.At(2).String(), "execution_not_found"},
			{"the execution itself", u, parsed.At(0).String(), "execution_not_found"},
			{"nonsense", u, "exec_1", "execution_not_found"},
			{"long nonsense", u, strings.Repeat("\x00", 10_000), "execution_not_found"},
		} {
			_, r := resume(t, tc.u.connect(t, nil), tc.id, "accept")
			if !r.IsError || field(t, r, "status") != tc.status {
				t.Errorf("%s: %s", tc.name, encode(r))
			}
		}
		ids, err := w.store.Objects(props.NamespaceExecution, nil, 10)
		if err != nil || len(ids) != 1 {
			t.Errorf("%d executions have durable state, %v", len(ids), err)
		}
		if text, r := resume(t, u.connect(t, nil), id, "accept"); r.IsError {
			t.Errorf("the owner, after all this: %s", text)
		}
	})
}

func TestExecutionThatNeverPausedLeavesNothing(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		execute(t, w.user("a", "o").connect(t, nil), "return 6 * 7")
		synctest.Wait()
		if ids, err := w.store.Objects(props.NamespaceExecution, nil, 10); err != nil || len(ids) != 0 {
			t.Errorf("%d executions have durable state, %v", len(ids), err)
		}
	})
}

func TestSandboxFailures(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		fail := func(err error) func(*program) error { return func(*program) error { return err } }
		w.sandbox.set("busy", fail(status.Error(codes.ResourceExhausted, "full")))
		w.sandbox.set("away", fail(status.Error(codes.Unavailable, "draining")))
		w.sandbox.set("defect", fail(status.Error(codes.Internal, "secret path /x")))
		w.sandbox.set("cut", fail(nil))
		w.sandbox.set("silent", func(p *program) error {
			<-p.stream.Context().Done()
			return nil
		})
		w.sandbox.set("flood", func(p *program) error {
			for range pendingCalls + 1 {
				if _, err := p.begin(listPolicies, ""); err != nil {
					return err
				}
			}
			<-p.stream.Context().Done()
			return nil
		})
		w.sandbox.set("cpu", func(p *program) error {
			return p.end(&sandboxpb.Done{
				Outcome: sandboxpb.Outcome_OUTCOME_EXCEEDED_CPU, Error: "CPU time is used up", Logs: []string{"x"},
			})
		})
		w.sandbox.set("mute", func(p *program) error {
			return p.end(&sandboxpb.Done{Outcome: sandboxpb.Outcome_OUTCOME_CRASHED})
		})
		u := w.user("a", "o")
		u.policy(t, props.OwnerOrganization, "*", props.ActionRequireApproval)
		s := u.connect(t, nil)
		for code, want := range map[string]string{
			"busy":    "Error: the sandbox is at capacity",
			"away":    "Error: the sandbox is not available",
			"defect":  "Error: the sandbox failed",
			"cut":     "Error: the sandbox ended before the program did",
			"silent":  "Error: the program did not end within 5m0s",
			"cpu":     "Error: CPU time is used up\n\nLogs:\nx",
			"mute":    "Error: the program ended without saying why",
			"unknown": "Error: the sandbox refused the program: no such program",
		} {
			text, r := execute(t, s, code)
			ok := r.IsError && strings.HasPrefix(text, want) && field(t, r, "status") == "error"
			if !ok || strings.Contains(text, "secret") {
				t.Errorf("%s = %s", code, text)
			}
		}
		// Of a flood the first call pauses the program, or the flood ends it first; a resume finds the outcome either way.
		text, r := execute(t, s, "flood")
		if !r.IsError {
			text, _ = resume(t, s, pausedID(t, text), "accept")
		}
		if !strings.Contains(text, "tool calls at once") {
			t.Errorf("flood = %s", text)
		}
		if text, r := tool1(t, s, "execute", map[string]any{"code": strings.Repeat("x", maxCodeBytes+1)}); !r.IsError {
			t.Errorf("too long = %s", text)
		}
		if _, r := tool1(t, s, "execute", map[string]any{"cod": ""}); !r.IsError {
			t.Error("wrong arguments were taken")
		}
	})
}

// A result that is too large to be stored reaches whoever waits for it.
func TestResultTooLargeToStore(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		large := strings.Repeat("x", maxStoredBytes+1)
		w.sandbox.set("large", func(p *program) error {
			if _, _, err := p.call(listPolicies, ""); err != nil {
				return err
			}
			return p.done(encode(large), true)
		})
		s := u.connect(t, nil)
		text, _ := execute(t, s, "large")
		id := pausedID(t, text)
		for range 2 {
			if _, r := resume(t, s, id, "accept"); field(t, r, "result") != large {
				t.Errorf("result of %d bytes", len(field(t, r, "result")))
			}
		}
		w.crash()
		if _, r := resume(t, u.connect(t, nil), id, "accept"); field(t, r, "status") != "execution_already_settled" {
			t.Errorf("after a crash = %s", encode(r))
		}
	})
}

func TestToolCalls(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		s := u.connect(t, nil)
		run := func(path, args string) string {
			t.Helper()
			w.sandbox.set("call", callOnce(path, args))
			text, _ := execute(t, s, "call")
			return strings.Join(strings.Fields(text), "")
		}
		const p = "executor.coreTools.policies."
		expect := func(got string, parts ...string) {
			t.Helper()
			for _, want := range parts {
				if !strings.Contains(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		}
		expect(run(p+"list", ""), `{"ok":true,"data":{"policies":[]}}`)
		expect(run("no.such.tool", ""), `"ok":false`, `"code":"tool_not_found"`)
		expect(run(p+"lists", ""), `"suggestions":["executor.coreTools.policies.list"`)
		expect(run(p+"create", `{"owner":"org"}`), `"code":"invalid_tool_arguments"`)
		expect(run("search", encode(strings.Repeat("x", maxArgumentBytes))), `"code":"invalid_tool_arguments"`, "morethan")
		created := run(p+"create", `{"owner":"user","pattern":"x.*","action":"block"}`)
		expect(created, `"ok":true`, `"id":"pol_`, `"position":0`)
		id := regexp.MustCompile(`pol_[0-9a-f-]+`).FindString(created)
		expect(run(p+"update", `{"id":"`+id+`","action":"approve"}`), `"action":"approve"`)
		expect(run(p+"update", `{"id":"`+id+`","pattern":"a..b"}`), `"code":"invalid_tool_arguments"`)
		expect(run(p+"remove", `{"id":"`+id+`","owner":"org"}`), `"code":"policy_not_found"`)
		expect(run(p+"remove", `{"id":"`+id+`","owner":"user"}`), `{"ok":true,"data":{"removed":true}}`)
		expect(run("search", `{"query":"policies","limit":1}`), `"total":4`, `"nextOffset":1`)
		expect(run("describe.tool", `{"path":"`+p+`remove"}`), `"inputSchema"`, `"required":["id","owner"]`)
		expect(run("describe.tool", `{"path":"x"}`), `"code":"tool_not_found"`)

		// An open session sees a new policy on its next call; wrong arguments are told of before anybody is asked.
		u.policy(t, props.OwnerOrganization, p+"create", props.ActionRequireApproval)
		u.policy(t, props.OwnerUser, p+"*", props.ActionBlock)
		expect(run(p+"list", ""), `"code":"tool_blocked"`)
		expect(run(p+"create", `{}`), `"code":"invalid_tool_arguments"`)
		expect(run("search", ``), `"ok":true`)
	})
}

// A caller that goes away does not stop its program.
func TestProgramIsDetached(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		ran := make(chan struct{})
		w.sandbox.set("slow", func(p *program) error {
			time.Sleep(time.Minute)
			close(ran)
			return p.done("1", false)
		})
		s := w.user("a", "o").connect(t, nil)
		ctx, cancel := timeout(t, time.Second)
		defer cancel()
		slow := &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "slow"}}
		if _, err := s.CallTool(ctx, slow); err == nil {
			t.Error("the call was not cancelled")
		}
		<-ran
	})
}

// In native mode the client's user is asked, as often as the program asks, and the model has no resume tool.
func TestNativeElicitation(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		u.mode = props.ElicitationNative
		asked, answer := 0, "accept"
		s := u.connect(t, &mcp.ClientOptions{ElicitationHandler: elicit(&asked, &answer)})
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "execute" {
			t.Errorf("tools %s, %v", encode(tools), err)
		}
		if text, r := execute(t, s, "twice"); r.IsError || asked != 2 || !strings.Contains(text, "pol_") {
			t.Errorf("asked %d times, execute = %s", asked, text)
		}
		answer = "decline"
		if text, r := execute(t, s, "once"); !r.IsError || !strings.Contains(text, "was declined") {
			t.Errorf("declined = %s", text)
		}
	})
}
