package scenario

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tandem-do/tandem/e2e/harness"
)

// envScreenshots names a folder for pictures of the pages, for people to look at.
const envScreenshots = "TANDEM_E2E_SCREENSHOTS"

// approver is an account whose calls of the guarded tool are approved in a browser, with the browser.
type approver struct {
	guarded
	client  *harness.Client
	browser *harness.Browser
}

// newApprover makes the account, its policy and its client; the browser is not signed in yet.
func newApprover(t *testing.T, s *harness.Stack, b *harness.Browser) approver {
	t.Helper()
	g := newGuarded(t, s)
	g.opts.Query = "elicitation_mode=browser"
	return approver{guarded: g, client: g.node.Connect(t, g.opts), browser: b}
}

// pause executes code that pauses, and returns the pause's id and the address of its page.
func (a approver) pause(t *testing.T, code string) (id, page string) {
	t.Helper()
	r := a.client.Execute(t, code)
	id = pauseID(t, r)
	page, _ = r.StructuredContent["approvalUrl"].(string)
	if page != a.stack.MustReady(t).APIURL+"/approve/"+id || !strings.Contains(r.Text, "\napprovalUrl: "+page+"\n") {
		t.Fatalf("the pause names the page %q: %s", page, r.Text)
	}
	return id, page
}

// wait begins to wait for the answer to a pause.
func (a approver) wait(t *testing.T, id string) <-chan harness.ToolResult {
	t.Helper()
	done := make(chan harness.ToolResult, 1)
	go func() {
		r, err := a.client.CallTool("resume", map[string]any{"executionId": id})
		if err != nil {
			t.Errorf("resume: %v", err)
		}
		done <- r
	}()
	return done
}

// signIn opens a page that wants to know who is there, and signs in with the keyboard alone.
func signIn(t *testing.T, b *harness.Browser, page, email string) harness.Page {
	t.Helper()
	p := b.Goto(t, page)
	if !strings.Contains(p.Text, "Sign in") || p.Focus != "E-mail address" {
		t.Fatalf("no sign-in: %+v", p)
	}
	b.Type(t, email)
	if p = b.Follow(t, "Enter"); !strings.Contains(p.Text, "tandem approvals") {
		t.Fatalf("no consent: %+v", p)
	}
	b.TabTo(t, "Allow")
	return b.Follow(t, "Enter")
}

// picture keeps a picture of the page, if somebody wants to see it.
func picture(t *testing.T, b *harness.Browser, name string) {
	t.Helper()
	if dir, ok := os.LookupEnv(envScreenshots); ok {
		b.Screenshot(t, filepath.Join(dir, name+".png"))
	}
}

// A person signs in, sees the call, and approves it; whoever waits for that gets the result. Everything by keyboard.
func TestApproveInTheBrowser(t *testing.T) {
	t.Parallel()
	chromium := harness.StartChromium(t)
	b := chromium.NewBrowser(t, harness.BrowserOptions{})
	a := newApprover(t, shared.stack, b)
	id, page := a.pause(t, guardedCode)
	waiting := a.wait(t, id)
	p := signIn(t, b, page, a.email)
	for _, want := range []string{guardedTool, "Arguments\n{}", "needs approval", "a rule of your organization", a.email,
		"tandem-e2e 1.0.0", "left", "Approve", "Decline"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the page lacks %q:\n%s", want, p.Text)
		}
	}
	if p.URL != page || p.Status != http.StatusOK {
		t.Fatalf("after the sign-in: %d at %s", p.Status, p.URL)
	}
	picture(t, b, "pending")
	way := b.TabTo(t, "Decline")
	if want := []string{"Arguments", "Approve", "Decline"}; !slices.Equal(way, want) {
		t.Errorf("Tab leads to %q, want %q", way, want)
	}
	b.Press(t, "Shift+Tab")
	if p = b.Follow(t, "Enter"); p.URL != page || !strings.Contains(p.Text, "Approved") {
		t.Errorf("after Approve: %+v", p)
	}
	picture(t, b, "approved")
	expectResumed(t, <-waiting)
	expectResumed(t, <-a.wait(t, id))

	// Declined, in the same browser, which is signed in.
	id, page = a.pause(t, `try { await tools.executor.coreTools.policies.list({}); return "went on" }
		catch (e) { return "threw: " + e.message }`)
	waiting = a.wait(t, id)
	b.Goto(t, page)
	b.TabTo(t, "Decline")
	if p = b.Follow(t, "Enter"); !strings.Contains(p.Text, "Declined") {
		t.Errorf("after Decline: %+v", p)
	}
	if r := <-waiting; !strings.HasPrefix(r.Text, "threw: ") {
		t.Errorf("after a decline: %+v", r)
	}

	a.withoutSession(t)

	// Nobody can be there in the person's stead: the model, a bearer token, another account.
	id, page = a.pause(t, guardedCode)
	if r := a.client.Resume(t, id, "accept"); !r.IsError {
		t.Errorf("the model approved: %+v", r)
	}
	direct := harness.Do(t, "GET", page, map[string]string{"Authorization": "Bearer " + a.opts.Token}, nil)
	if direct.Status != http.StatusFound || strings.Contains(direct.Body, guardedTool) {
		t.Errorf("with a bearer token: %d %s", direct.Status, direct.Body)
	}
	other := chromium.NewBrowser(t, harness.BrowserOptions{Dark: true})
	p = signIn(t, other, page, "other-"+uuid.NewString()+"@example.com")
	if p.Status != http.StatusForbidden || !strings.Contains(p.Text, "another account or organization") ||
		strings.Contains(p.Text, guardedTool) || strings.Contains(p.Text, "Approve") {
		t.Errorf("another account sees %+v", p)
	}
	picture(t, other, "forbidden-dark")

	// Signed out, the page asks who is there.
	b.Goto(t, page)
	b.TabTo(t, "Sign out")
	if p = b.Follow(t, "Enter"); !strings.Contains(p.Text, "signed out here") {
		t.Errorf("after Sign out: %+v", p)
	}
	if p = b.Goto(t, page); strings.Contains(p.Text, guardedTool) || strings.HasPrefix(p.URL, page) {
		t.Errorf("signed out: %+v", p)
	}
	a.client.Resume(t, id, "cancel")
	for _, problem := range append(b.Problems(t), other.Problems(t)...) {
		if !strings.Contains(problem, "403 (Forbidden)") && !strings.Contains(problem, "favicon") {
			t.Errorf("the browser reports %s", problem)
		}
	}
}

// withoutSession approves a call of version 2026-07-28 in the browser, which is signed in.
func (a approver) withoutSession(t *testing.T) {
	t.Helper()
	endpoint := a.opts.URL + "?elicitation_mode=browser"
	code, err := json.Marshal(guardedCode)
	if err != nil {
		t.Fatal(err)
	}
	call := func(params string) map[string]any {
		t.Helper()
		result, r := laterAt(t, endpoint, a.opts.Token, "tools/call", params)
		content, ok := result["structuredContent"].(map[string]any)
		if !ok {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return content
	}
	paused := call(`"name":"execute","arguments":{"code":` + string(code) + `}`)
	page, _ := paused["approvalUrl"].(string)
	if p := a.browser.Goto(t, page); !strings.Contains(p.Text, "raw 1") {
		t.Errorf("the page of %v is %+v", paused, p)
	}
	a.browser.TabTo(t, "Approve")
	a.browser.Follow(t, "Enter")
	if done := call(fmt.Sprintf(`"name":"resume","arguments":{"executionId":%q}`, paused["executionId"])); done["status"] !=
		"completed" {
		t.Errorf("after the approval: %v", done)
	}
}

// What a program passes is text on the page, whatever it looks like.
func TestHostileArgumentsInTheBrowser(t *testing.T) {
	t.Parallel()
	b := harness.StartChromium(t).NewBrowser(t, harness.BrowserOptions{Dark: true, Width: 420, Height: 900})
	a := newApprover(t, shared.stack, b)
	const create = "executor.coreTools.policies.create"
	headers := map[string]string{"Authorization": "Bearer " + a.opts.Token, "Content-Type": "application/json"}
	api := a.stack.MustReady(t).APIURL + "/api/policies"
	if r := harness.Do(t, "POST", api, headers,
		[]byte(`{"owner":"user","pattern":"`+create+`","action":"require_approval"}`)); r.Status != http.StatusOK {
		t.Fatalf("create policy: %d %s", r.Status, r.Body)
	}
	id, page := a.pause(t, `const r = await tools.executor.coreTools.policies.create({owner: "org", action: "block",
		pattern: "</pre><script>document.title = 'taken'; alert(1)</script><img src=x onerror=alert(2)>\u202e\u200b"}); return r.error.code`)
	waiting := a.wait(t, id)
	p := signIn(t, b, page, a.email)
	for _, want := range []string{`"</pre><script>document.title = 'taken'; alert(1)</script><img src=x onerror=alert(2)>\u202e\u200b"`,
		create, "a rule of your own"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the page lacks %q:\n%s", want, p.Text)
		}
	}
	if p.Title != "Allow this call? · tandem" || b.Evaluate(t, "document.scripts.length + document.images.length") != 0.0 {
		t.Errorf("the page became %q", p.Title)
	}
	if wide := b.Evaluate(t, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0.0 {
		t.Errorf("a narrow window scrolls sideways by %v pixels", wide)
	}
	picture(t, b, "hostile-dark-narrow")

	a.forged(t, page)
	a.withSession(t, api)
	b.Goto(t, page)
	b.TabTo(t, "Approve")
	b.Follow(t, "Enter")
	if r := <-waiting; r.IsError || r.Text != "tool_failed" && r.Text != "invalid_tool_arguments" {
		t.Errorf("the call, approved, gave %+v", r)
	}
	for _, problem := range b.Problems(t) {
		if strings.HasPrefix(problem, "dialog") || strings.Contains(problem, "taken") {
			t.Errorf("the browser reports %s", problem)
		}
	}
}

// forged has the signed-in browser visit a page of another origin that would approve the call.
func (a approver) forged(t *testing.T, page string) {
	t.Helper()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>evil</title><iframe src=%q></iframe><form method=post action=%q>
			<input type=hidden name=action value=accept><button autofocus>Win a prize</button></form>`, page, page)
	}))
	defer evil.Close()
	a.browser.Goto(t, evil.URL)
	refused := func() bool {
		return slices.ContainsFunc(a.browser.Problems(t), func(p string) bool {
			return strings.Contains(p, "frame-ancestors") || strings.Contains(p, "X-Frame-Options")
		})
	}
	for deadline := time.Now().Add(30 * time.Second); !refused(); pause(t, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("the page was framed: %q", a.browser.Problems(t))
			break
		}
	}
	api := a.stack.MustReady(t).APIURL + "/api/policies"
	a.browser.Evaluate(t, `fetch("`+api+`", {method: "POST", credentials: "include", mode: "no-cors",
		body: JSON.stringify({owner: "org", pattern: "*", action: "approve"})}).then(() => 0, () => 1)`)
	if p := a.browser.Press(t, "Shift"); p.Focus != "Win a prize" {
		t.Fatalf("the focus is on %q", p.Focus)
	}
	p := a.browser.Follow(t, "Enter")
	if p.Status != http.StatusForbidden || !strings.Contains(p.Text, "Answer not taken") {
		t.Errorf("the forged answer: %+v", p)
	}
	if p = a.browser.Goto(t, page); !strings.Contains(p.Text, "Approve") {
		t.Errorf("the forged answer counted: %+v", p)
	}
}

// withSession checks what the browser's session is good for, and what not.
func (a approver) withSession(t *testing.T, api string) {
	t.Helper()
	listed := a.browser.Request(t, harness.BrowserRequest{Method: "GET", URL: api})
	if listed.Status != http.StatusOK || !strings.Contains(listed.Body, guardedTool) ||
		strings.Contains(listed.Body, `"pattern":"*"`) {
		t.Errorf("policies with the session: %d %s", listed.Status, listed.Body)
	}
	rule := `{"owner":"user","pattern":"a.b","action":"block"}`
	for origin, want := range map[string]int{
		"": http.StatusForbidden, "http://127.0.0.1:9": http.StatusForbidden, a.stack.MustReady(t).APIURL: http.StatusOK,
	} {
		header := map[string]string{"Content-Type": "application/json"}
		if origin != "" {
			header["Origin"] = origin
		}
		r := a.browser.Request(t, harness.BrowserRequest{Method: "POST", URL: api, Header: header, Body: rule})
		if r.Status != want {
			t.Errorf("a policy made from %q: %d %s, want %d", origin, r.Status, r.Body, want)
		}
	}
	mcp := a.browser.Request(t, harness.BrowserRequest{
		Method: "POST", URL: a.opts.URL, Body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		Header: map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
	})
	if mcp.Status != http.StatusUnauthorized {
		t.Errorf("a session of a browser under /mcp: %d %s", mcp.Status, mcp.Body)
	}
}

// A page that is left open says by itself that it is too late; a restart of the worker signs nobody out.
func TestExpiresInTheBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, harness.Options{Args: []string{"--approval-window", "8s"}})
	b := harness.StartChromium(t).NewBrowser(t, harness.BrowserOptions{})
	a := newApprover(t, s, b)
	id, page := a.pause(t, guardedCode)
	waiting := a.wait(t, id)
	signIn(t, b, page, a.email)
	p := b.WaitFor(t, "Too late")
	if p.Status != http.StatusGone || strings.Contains(p.Text, "Approve") {
		t.Errorf("after the window: %+v", p)
	}
	if r := <-waiting; !r.IsError || !strings.Contains(r.Text, "run the execute tool again") {
		t.Errorf("resume of an expired pause gave %+v", r)
	}
	s.Kill(t, "worker")
	if p = b.Goto(t, page); p.Status != http.StatusGone {
		t.Errorf("after a restart of the worker: %+v", p)
	}
	unknown := strings.Replace(page, id[len(id)-12:], "000000000009", 1)
	if p = b.Goto(t, unknown); p.Status != http.StatusNotFound || !strings.Contains(p.Text, "No such call") {
		t.Errorf("a pause that never was: %+v", p)
	}
}
