package mcpsession

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

func request(ctx context.Context, method, session, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://worker/mcp", strings.NewReader(body))
	if err != nil {
		panic(err) // a constant address
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set(props.HeaderSessionID, session)
	}
	return r
}

const initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// in runs a test in a bubble, with a world.
func in(t *testing.T, o Options, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { fn(t, newWorld(t, o)) })
}

func TestJourney(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.vanishes = true
		s := u.connect(t, nil)
		info := s.InitializeResult().ServerInfo
		if info.Name != "executor" || info.Version != "1.0.0" || len(s.ID()) != 64 {
			t.Errorf("server info %v, session id %q", info, s.ID())
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 2 || tools.Tools[0].Name != "execute" || tools.Tools[1].Name != "resume" {
			t.Fatalf("tools %v, %v", encode(tools), err)
		}
		text, r := execute(t, s, "return 6 * 7")
		if text != "42" || r.IsError || field(t, r, "status") != "completed" {
			t.Errorf("execute = %s", encode(r))
		}
		id := s.ID()
		s.Close()

		// A client that has nothing but the session's id, and starts its JSON-RPC ids anew.
		w.crash()
		resp, body := u.post(t, id, `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"execute"`) {
			t.Errorf("after a crash: %d %s", resp.StatusCode, body)
		}
	})
}

// What a raw client sees of initialize: one message event, then the body ends.
func TestInitializeOnTheWire(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		resp, body := u.post(t, "", initializeBody)
		id := resp.Header.Get(props.HeaderSessionID)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || len(id) != 64 {
			t.Fatalf("initialize: %d %v", resp.StatusCode, resp.Header)
		}
		if strings.Count(body, "event:") != 1 || !strings.HasPrefix(body, "event: message\n") {
			t.Errorf("body %q", body)
		}
		resp, body = u.post(t, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if resp.StatusCode != http.StatusAccepted || body != "" {
			t.Errorf("notification: %d %q", resp.StatusCode, body)
		}
		resp, body = u.post(t, id, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if resp.StatusCode != http.StatusOK || strings.Count(body, "event:") != 1 {
			t.Errorf("tools/list: %d %q", resp.StatusCode, body)
		}
		header := http.Header{props.HeaderProtocolVersion: {"2025-11-25"}}
		_, body = u.send(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header)
		if !strings.HasPrefix(body, "event: prime\n") {
			t.Errorf("a client of 2025-11-25 can't resume: %q", body)
		}
	})
}

func TestRefusals(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		owner, other, stranger := w.user("a", "o"), w.user("b", "o"), w.user("a", "p")
		resp, _ := owner.post(t, "", initializeBody)
		id := resp.Header.Get(props.HeaderSessionID)
		none := w.namespace(props.NamespaceSession).IDs().NewUnique()
		const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		browser := w.user("a", "o")
		browser.mode = props.ElicitationBrowser
		native := w.user("a", "o")
		native.mode = props.ElicitationNative
		nonsense := w.user("a", "o")
		nonsense.mode = "telepathy"
		for _, tc := range []struct {
			name, method string
			u            *user
			session      string
			body         string
			status       int
			want         string
		}{
			{"never issued", http.MethodPost, owner, none.String(), list, 404, `"code":-32001,"message":"Session not found"`},
			{"another account", http.MethodPost, other, id, list, 403, `"code":-32003`},
			{"another organization", http.MethodPost, stranger, id, list, 403, `"code":-32003`},
			{"another account's DELETE", http.MethodDelete, other, id, "", 403, `"code":-32003`},
			{"initialize again", http.MethodPost, owner, id, initializeBody, 400, `"code":-32600`},
			{"initialize in a batch", http.MethodPost, owner, "", "[" + initializeBody + "]", 400, `"code":-32600`},
			{"not an initialize", http.MethodPost, owner, "", list, 400, `"code":-32600`},
			{"not JSON", http.MethodPost, owner, id, "{", 400, `"code":-32700`},
			{"not JSON-RPC", http.MethodPost, owner, id, `{"a":1}`, 400, `"code":-32`},
			{"empty batch", http.MethodPost, owner, id, `[]`, 400, `"code":-32`},
			{"another verb", http.MethodPut, owner, id, list, 405, `"code":-32001`},
			{"browser", http.MethodPost, browser, "", initializeBody, 400, `approval page`},
			{"native without the capability", http.MethodPost, native, "", initializeBody, 400, `capability`},
			{"unknown mode", http.MethodPost, nonsense, "", initializeBody, 400, `elicitation_mode must be`},
		} {
			resp, body := tc.u.send(t, tc.method, tc.session, tc.body, nil)
			ok := resp.StatusCode == tc.status && strings.Contains(body, tc.want)
			if !ok || !strings.HasPrefix(body, `{"jsonrpc":"2.0"`) {
				t.Errorf("%s: %d %s", tc.name, resp.StatusCode, body)
			}
		}
		header := http.Header{props.HeaderProtocolVersion: {"1999-01-01"}}
		if resp, body := owner.send(t, http.MethodPost, id, list, header); resp.StatusCode != 400 {
			t.Errorf("unsupported version: %d %s", resp.StatusCode, body)
		}
		if w.stored(props.NamespaceSession, none) {
			t.Error("a session that was never issued has durable state")
		}
		if resp, body := owner.post(t, id, list); resp.StatusCode != 200 {
			t.Errorf("owner after all this: %d %s", resp.StatusCode, body)
		}
	})
}

func TestCheckAndDelete(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		s := u.connect(t, nil)
		sessions := w.namespace(props.NamespaceSession)
		id, err := sessions.IDs().Parse(s.ID())
		if err != nil {
			t.Fatal(err)
		}
		check := func(u *user, stub *durableobject.Stub) string {
			t.Helper()
			_, err := stub.WithProps(u.id.Encode()).Call(t.Context(), props.MethodSessionCheck, nil)
			if err == nil {
				return ""
			}
			return err.(*durableobject.Error).Name
		}
		for _, tc := range []struct{ got, want string }{
			{check(u, sessions.Get(id)), ""},
			{check(w.user("b", "o"), sessions.Get(id)), props.SessionErrorForbidden},
			{check(u, sessions.Get(sessions.IDs().NewUnique())), props.SessionErrorNotFound},
		} {
			if tc.got != tc.want {
				t.Errorf("check = %q, want %q", tc.got, tc.want)
			}
		}

		get, err := u.RoundTrip(request(t.Context(), http.MethodGet, s.ID(), ""))
		if err != nil {
			t.Fatal(err)
		}
		if resp, body := u.send(t, http.MethodDelete, s.ID(), "", nil); resp.StatusCode != 200 {
			t.Fatalf("DELETE: %d %s", resp.StatusCode, body)
		}
		rest(t, get) // the stream ends
		for range 2 {
			resp, body := u.post(t, s.ID(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if resp.StatusCode != 404 || !strings.Contains(body, "Session timed out, please reconnect") {
				t.Errorf("after DELETE: %d %s", resp.StatusCode, body)
			}
			w.crash() // the tombstone is on disk
		}
		if got := check(u, w.namespace(props.NamespaceSession).Get(id)); got != props.SessionErrorEnded {
			t.Errorf("check = %q", got)
		}
		noneLeft(t, w)
	})
}

// DELETE ends a session whatever is in flight in it; the program goes on, nobody waits for it.
func TestDeleteWhileBusy(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		w.sandbox.set("slow", func(p *program) error {
			time.Sleep(time.Minute)
			return p.done("1", false)
		})
		u := w.user("a", "o")
		s := u.connect(t, nil)
		answered := make(chan *http.Response)
		go func() {
			resp, _ := u.post(t, s.ID(), `{"jsonrpc":"2.0","id":9,"method":"tools/call",`+
				`"params":{"name":"execute","arguments":{"code":"slow"}}}`)
			answered <- resp
		}()
		synctest.Wait()
		began := time.Now()
		if resp, body := u.send(t, http.MethodDelete, s.ID(), "", nil); resp.StatusCode != 200 {
			t.Errorf("DELETE: %d %s", resp.StatusCode, body)
		}
		<-answered
		if d := time.Since(began); d > time.Second {
			t.Errorf("DELETE took %v", d)
		}
		noneLeft(t, w)
	})
}

// noneLeft checks that the SDK holds no session.
func noneLeft(t *testing.T, w *world) {
	t.Helper()
	synctest.Wait()
	for s := range w.env.model.Sessions() {
		t.Errorf("session %s is still in memory", s.ID())
	}
}

func TestIdleSessionIsDisposedAndRestored(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		s := u.connect(t, nil)
		execute(t, s, "return 6 * 7")
		get, err := u.RoundTrip(request(t.Context(), http.MethodGet, s.ID(), ""))
		if err != nil {
			t.Fatal(err)
		}
		// Not before the timeout, and activity puts it off.
		time.Sleep(4 * time.Minute)
		execute(t, s, "return 6 * 7")
		time.Sleep(4*time.Minute + 50*time.Second)
		if countSessions(w) != 1 {
			t.Error("disposed of too early")
		}
		time.Sleep(20 * time.Second)
		rest(t, get) // an open but silent stream does not keep it alive, and ends
		noneLeft(t, w)
		// The same client goes on, with a GET and a POST at once.
		got := make(chan int, 2)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			go func() {
				const list = `{"jsonrpc":"2.0","id":77,"method":"tools/list"}`
				resp, err := u.RoundTrip(request(t.Context(), method, s.ID(), list))
				if err != nil {
					t.Error(err)
				}
				resp.Body.Close()
				got <- resp.StatusCode
			}()
		}
		if a, b := <-got, <-got; a != 200 || b != 200 {
			t.Errorf("GET and POST at once: %d, %d", a, b)
		}
		if text, _ := execute(t, s, "return 6 * 7"); text != "42" || countSessions(w) != 1 {
			t.Errorf("after the restore: %s, %d sessions", text, countSessions(w))
		}
	})
}

func countSessions(w *world) int {
	n := 0
	for range w.env.model.Sessions() {
		n++
	}
	return n
}

func TestCallInFlightKeepsTheSession(t *testing.T) {
	in(t, Options{SessionTimeout: time.Minute}, func(t *testing.T, w *world) {
		w.sandbox.set("slow", func(p *program) error {
			time.Sleep(3 * time.Minute)
			return p.done("1", false)
		})
		s := w.user("a", "o").connect(t, nil)
		if text, _ := execute(t, s, "slow"); text != "1" {
			t.Errorf("execute = %s", text)
		}
	})
}

// A session must not write for a request, and not wait for a commit that it does not need.
func TestCommits(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		var s *mcp.ClientSession
		if n := w.commits(func() { s = u.connect(t, nil) }); n != 1 {
			t.Errorf("initialize: %d commits, want 1", n)
		}
		if n := w.commits(func() { s.ListTools(t.Context(), nil) }); n != 0 {
			t.Errorf("tools/list: %d commits, want 0", n)
		}
		if n := w.commits(func() { execute(t, s, "return 6 * 7") }); n > 2 {
			t.Errorf("execute: %d commits, want at most 2", n)
		}
	})
}

// A host that drains need not wait for what only waits, and does wait for calls. What is paused goes on at the next host.
func TestDraining(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		draining := make(chan struct{}) // of this bubble
		w.env.Draining = draining
		w.sandbox.set("slow", func(p *program) error {
			time.Sleep(5 * time.Second)
			return p.done("1", false)
		})
		idle, busy, paused := u.connect(t, nil), u.connect(t, nil), u.connect(t, nil)
		get, err := u.RoundTrip(request(t.Context(), http.MethodGet, idle.ID(), ""))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := execute(t, paused, "once")
		answered := make(chan string)
		go func() {
			text, _ := execute(t, busy, "slow")
			answered <- text
		}()
		synctest.Wait()
		close(draining)
		rest(t, get)
		synctest.Wait()
		if n := countSessions(w); n != 1 {
			t.Errorf("%d sessions are left, want the busy one", n)
		}
		if text := <-answered; text != "1" {
			t.Errorf("call in flight = %s", text)
		}
		noneLeft(t, w)
		w.env.Draining = nil
		w.crash()
		if _, r := resume(t, u.connect(t, nil), pausedID(t, text), "accept"); field(t, r, "status") != "completed" {
			t.Errorf("resume after the drain = %s", encode(r))
		}
	})
}

// What a session does not know is an error of that request alone, under its id; a notification is ignored.
func TestUnknownMethods(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		r, _ := u.post(t, "", initializeBody)
		session := r.Header.Get(props.HeaderSessionID)
		for _, tc := range []struct {
			name, body string
			status     int
			want       string
		}{
			{"request", `{"jsonrpc":"2.0","id":"x","method":"no\"such"}`, 200,
				`{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Method not found: no\"such"}}`},
			{"without params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 200,
				`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid params: tools/call needs params"}}`},
			{"notification", `{"jsonrpc":"2.0","method":"notifications/nope"}`, 202, ""},
			{"the id again", `{"jsonrpc":"2.0","id":7,"method":"nope"}`, 200,
				`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found: nope"}}`},
		} {
			if r, body := u.post(t, session, tc.body); r.StatusCode != tc.status || body != tc.want {
				t.Errorf("%s: got %d %s", tc.name, r.StatusCode, body)
			}
		}
	})
}

// A drain has paused programs give their process back; it approves nothing.
func TestDrainingApprovesNothing(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.vanishes = true
		const create = policiesPrefix + "create"
		u.policy(t, props.OwnerOrganization, create, props.ActionRequireApproval)
		arguments := `{"owner":"org","pattern":"x","action":"block"}`
		w.sandbox.set("create", callOnce(create, arguments))
		draining := make(chan struct{}) // of this bubble
		w.env.Draining = draining
		s := u.connect(t, nil)
		for range 64 {
			execute(t, s, "create")
		}
		close(draining)
		synctest.Wait()
		stub := w.namespace(props.NamespacePolicies).GetByName("o")
		all, err := durableobject.Call[[]props.Policy](t.Context(), stub, props.MethodPoliciesList,
			props.PolicyQuery{AccountID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 {
			t.Errorf("%d of 64 calls ran without an approval", len(all)-1)
		}
	})
}
