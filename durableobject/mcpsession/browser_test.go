package mcpsession

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

const approvalPage = "https://worker.example/approve/"

// onPage is a world of approvals whose user approves on a page.
func onPage(t *testing.T, o Options, fn func(t *testing.T, w *world, u *user)) {
	t.Helper()
	approvals(t, o, func(t *testing.T, w *world, u *user) {
		u.mode, u.approvals = props.ElicitationBrowser, approvalPage
		fn(t, w, u)
	})
}

// page calls a method of the execution that has a pause, as the approval page does.
func page(t *testing.T, u *user, method, id string, arg any) props.PauseView {
	t.Helper()
	name, err := props.ExecutionName(id)
	if err != nil {
		t.Fatal(err)
	}
	stub := u.w.namespace(props.NamespaceExecution).GetByName(name).WithProps(u.id.Encode())
	view, err := durableobject.Call[props.PauseView](t.Context(), stub, method, arg)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return view
}

func look(t *testing.T, u *user, id string) props.PauseView {
	t.Helper()
	return page(t, u, props.MethodExecutionPause, id, props.PauseQuery{ID: id})
}

func answer(t *testing.T, u *user, id, action string) props.PauseView {
	t.Helper()
	return page(t, u, props.MethodExecutionAnswer, id, props.PauseAnswer{ID: id, Action: action})
}

// wait begins to wait for the answer on the page.
func wait(t *testing.T, s *mcp.ClientSession, id string) <-chan *mcp.CallToolResult {
	t.Helper()
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "resume", Arguments: map[string]any{"executionId": id}})
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		done <- r
	}()
	synctest.Wait()
	return done
}

func TestPageApproves(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, r := execute(t, s, "once")
		id := pausedID(t, text)
		url := approvalPage + id
		if field(t, r, "approvalUrl") != url || !strings.Contains(text, "\napprovalUrl: "+url+"\n") {
			t.Errorf("the pause names no page: %s", encode(r))
		}
		waiting := wait(t, s, id)
		time.Sleep(30 * time.Second)
		view := look(t, u, id)
		if d := cmp.Diff(props.PauseView{
			Status: props.PausePending, Tool: listPolicies, Arguments: []byte("{}"), Pattern: listPolicies,
			PolicyOwner: props.OwnerOrganization, Client: "test 1", Deadline: view.Deadline,
		}, view); d != "" || view.Deadline.Before(time.Now()) {
			t.Errorf("the page is told (-want +got):\n%s", d)
		}
		if got := answer(t, u, id, actionAccept); got.Status != props.PauseAnswered || got.Answer != actionAccept || !got.ByPage {
			t.Errorf("the page's answer gave %+v", got)
		}
		if r := <-waiting; r.IsError || field(t, r, "status") != "completed" {
			t.Errorf("the waiting resume got %s", encode(r))
		}
		// Sent again, whatever it says, it changes nothing.
		if got := answer(t, u, id, actionDecline); got.Answer != actionAccept {
			t.Errorf("a second answer gave %+v", got)
		}
		if got := <-wait(t, s, id); got.IsError || field(t, got, "status") != "completed" {
			t.Errorf("a repeated resume got %s", encode(got))
		}
	})
}

// The model can't approve, in no mode and era: what it says is no more than a question how things are.
func TestOnlyThePageAccepts(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "once")
		id := pausedID(t, text)
		if _, r := resume(t, s, id, "accept"); !r.IsError {
			t.Errorf("accept was taken: %s", encode(r))
		}
		other := w.user("a", "o")
		text, r := resume(t, other.connect(t, nil), id, "accept")
		if r.IsError || pausedID(t, text) != id || !strings.Contains(text, "still waiting") ||
			field(t, r, "approvalUrl") != approvalPage+id {
			t.Errorf("accept in another mode gave %s", text)
		}
		alone := alone{user: w.user("a", "o"), capabilities: `{"elicitation":{}}`}
		alone.intent = props.IntentStateless
		_, body := alone.post(t, "tools/call", "execute",
			`"arguments":{"code":"once"},"requestState":"`+id+`","inputResponses":{"approval":{"action":"accept","content":{}}}`)
		if !strings.Contains(body, "still waiting") {
			t.Errorf("accept without a session gave %s", body)
		}
		if view := look(t, u, id); view.Status != props.PausePending {
			t.Fatalf("the pause is %+v", view)
		}
		if text, r = resume(t, s, id, "decline"); !r.IsError || !strings.Contains(text, "was declined") {
			t.Errorf("the model may withdraw the call, and got %s", text)
		}
		if got := answer(t, u, id, actionAccept); got.Answer != actionDecline || got.ByPage {
			t.Errorf("the page came late and got %+v", got)
		}
	})
}

func TestPageDeclines(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "once")
		id := pausedID(t, text)
		waiting := wait(t, s, id)
		answer(t, u, id, actionDecline)
		if text, _ := shown(t, <-waiting); !strings.Contains(text, "was declined") {
			t.Errorf("the waiting resume got %s", text)
		}
	})
}

// A wait ends before clients lose their patience, and with the approval window.
func TestWaitIsBounded(t *testing.T) {
	onPage(t, Options{ApprovalWindow: 70 * time.Second}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "once")
		id := pausedID(t, text)
		before := time.Now()
		text, r := tool1(t, s, "resume", map[string]any{"executionId": id})
		if took := time.Since(before); took != pageWait {
			t.Errorf("it waited for %v", took)
		}
		if pausedID(t, text) != id || r.IsError || !strings.Contains(text, "still waiting") {
			t.Errorf("after the wait: %s", text)
		}
		text, r = tool1(t, s, "resume", map[string]any{"executionId": id})
		if took := time.Since(before); took != 70*time.Second || !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("after %v: %s", took, text)
		}
		if view := look(t, u, id); view.Status != props.PauseExpired {
			t.Errorf("the page is told %+v", view)
		}
		if got := answer(t, u, id, actionAccept); got.Status != props.PauseExpired {
			t.Errorf("a late answer gave %+v", got)
		}
	})
}

func TestPageIsTheOwners(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		text, _ := execute(t, s, "twice")
		id := pausedID(t, text)
		for _, other := range []*user{w.user("b", "o"), w.user("a", "p")} {
			forbidden := props.PauseView{Status: props.PauseForbidden}
			if d := cmp.Diff(forbidden, look(t, other, id)); d != "" {
				t.Errorf("another's look (-want +got):\n%s", d)
			}
			if d := cmp.Diff(forbidden, answer(t, other, id, actionAccept)); d != "" {
				t.Errorf("another's answer (-want +got):\n%s", d)
			}
		}
		answer(t, u, id, actionAccept)
		text, _ = tool1(t, s, "resume", map[string]any{"executionId": id})
		next := pausedID(t, text)
		if view := look(t, u, id); next == id || view.Status != props.PauseAnswered || view.Tool != "" {
			t.Errorf("the first pause is %+v, the next is %s", view, next)
		}
		if got := answer(t, u, id, actionAccept); look(t, u, next).Status != props.PausePending {
			t.Errorf("the first approval, sent again, approved the second call: %+v", got)
		}
		never := newExecutionID().At(1).String()
		if view := look(t, u, never); view.Status != props.PauseUnknown {
			t.Errorf("a pause that never was is %+v", view)
		}
	})
}

// Without a session the page approves as well.
func TestPageAlone(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		u.intent = props.IntentStateless
		client := alone{user: u, capabilities: `{}`}
		_, body := client.post(t, "tools/call", "execute", `"arguments":{"code":"once"}`)
		_, id, _ := strings.Cut(body, `"approvalUrl":"`+approvalPage)
		id, _, _ = strings.Cut(id, `"`)
		if view := look(t, u, id); view.Client != "c 1" {
			t.Errorf("the page is told %+v of the pause in %s", view, body)
		}
		answer(t, u, id, actionAccept)
		_, body = client.post(t, "tools/call", "resume", `"arguments":{"executionId":"`+id+`"}`)
		if !strings.Contains(body, `"status":"completed"`) {
			t.Errorf("resume gave %s", body)
		}
	})
}

// The worker finds an execution's object as the session does.
func TestExecutionName(t *testing.T) {
	t.Parallel()
	id := newExecutionID()
	if name, err := props.ExecutionName(id.At(7).String()); err != nil || name != id.Base() {
		t.Errorf("the name is %q, %v; want %q", name, err, id.Base())
	}
	for _, bad := range []string{"", "exec_", id.String() + "0", strings.ToUpper(id.String()), "exec_../../x"} {
		if name, err := props.ExecutionName(bad); err == nil {
			t.Errorf("%q names %q", bad, name)
		}
	}
}

// The page approves a call whose host was lost meanwhile, and whoever asks then gets the result.
func TestPageApprovesAfterCrash(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		text, _ := execute(t, u.connect(t, nil), "once")
		id := pausedID(t, text)
		w.crash()
		if view := look(t, u, id); view.Status != props.PausePending || view.Client != "test 1" {
			t.Fatalf("the page is told %+v", view)
		}
		answer(t, u, id, actionAccept)
		if r := <-wait(t, u.connect(t, nil), id); r.IsError || field(t, r, "status") != "completed" {
			t.Errorf("resume got %s", encode(r))
		}
	})
}

// The page and the client answer at the same moment: one of them wins, and everybody is told the same.
func TestPageAndClientRace(t *testing.T) {
	onPage(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		wins := map[bool]int{}
		for range 20 {
			text, _ := execute(t, s, "once")
			id := pausedID(t, text)
			byTheClient := make(chan *mcp.CallToolResult)
			go func() {
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "resume", Arguments: map[string]any{"executionId": id, "action": "decline"},
				})
				if err != nil {
					t.Errorf("resume: %v", err)
				}
				byTheClient <- r
			}()
			view := answer(t, u, id, actionAccept)
			text, _ = shown(t, <-byTheClient)
			accepted := view.Answer == actionAccept
			if view.Status != props.PauseAnswered || strings.Contains(text, "was declined") == accepted ||
				look(t, u, id).Answer != view.Answer {
				t.Errorf("the page was told %+v, the client %s", view, text)
			}
			wins[accepted]++
		}
		t.Logf("accepted: %d, declined: %d", wins[true], wins[false])
	})
}
