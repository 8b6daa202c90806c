package mcpsession

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/proto/props"
)

// The numbers that clients and operators count on.
func TestFigures(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	for _, tc := range []struct {
		name      string
		got, want any
	}{
		{"session timeout", o.SessionTimeout, 300 * time.Second},
		{"paused ceiling", o.PausedTimeout, 540 * time.Second},
		{"approval window", o.ApprovalWindow, 4 * time.Minute},
		{"keepalive", keepaliveInterval, 25 * time.Second},
		{"bytes for a slow reader", maxPendingBytes, 8 << 20},
		{"wall clock", wallClock, 5 * time.Minute},
		{"processor time", cpuTime, 30 * time.Second},
		{"memory", memoryBytes, 128 << 20},
		{"preview", maxPreview, 30_000},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}

// The limits of a program are those that its sandbox is told of.
func TestLimitsAreSent(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		execute(t, w.user("a", "o").connect(t, nil), "return 6 * 7")
		w.sandbox.mu.Lock()
		defer w.sandbox.mu.Unlock()
		l := w.sandbox.starts[0].GetLimits()
		if l.GetWallClock().AsDuration() != wallClock || l.GetCpu().AsDuration() != cpuTime ||
			l.GetMemoryBytes() != memoryBytes {
			t.Errorf("limits %v", l)
		}
	})
}

// What a client learns of the tools: their arguments, by elicitation mode.
func TestToolSchemas(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		type property struct {
			Type    string          `json:"type"`
			Enum    []string        `json:"enum"`
			Default json.RawMessage `json:"default"`
		}
		type schema struct {
			Required   []string            `json:"required"`
			Properties map[string]property `json:"properties"`
		}
		text := property{Type: "string"}
		executes := schema{[]string{"code"}, map[string]property{"code": text}}
		for mode, want := range map[string]map[string]schema{
			props.ElicitationModel: {"execute": executes, "resume": {
				[]string{"executionId", "action"}, map[string]property{
					"executionId": text,
					"action":      {Type: "string", Enum: []string{"accept", "decline", "cancel"}},
					"content":     {Type: "string", Default: json.RawMessage(`"{}"`)},
				},
			}},
			props.ElicitationNative: {"execute": executes},
			props.ElicitationBrowser: {"execute": executes, "resume": {
				[]string{"executionId"}, map[string]property{
					"executionId": text, "action": {Type: "string", Enum: []string{"decline", "cancel"}},
				},
			}},
		} {
			u := w.user("a", "o")
			u.mode, u.approvals = mode, approvalPage
			answer := "accept"
			s := u.connect(t, &mcp.ClientOptions{ElicitationHandler: elicit(new(int), &answer)})
			listed, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]schema{}
			for _, tool := range listed.Tools {
				var one schema
				if err := json.Unmarshal([]byte(encode(tool.InputSchema)), &one); err != nil {
					t.Fatal(err)
				}
				got[tool.Name] = one
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", mode, d)
			}
		}
	})
}

// What is kept of a session is who owns it, how it asks and where it was begun.
func TestNewMeta(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	who := props.Identity{AccountID: "a", OrganizationID: "o", OrganizationName: "O"}
	r := request(t.Context(), http.MethodPost, "", initializeBody)
	r.Header.Set(props.HeaderElicitationMode, props.ElicitationBrowser)
	r.Header.Set(props.HeaderApprovals, approvalPage)
	r.Header.Set(props.HeaderResource, "http://worker/mcp")
	asked, err := inspect(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := newMeta(who, r, asked, now)
	if err != nil {
		t.Fatal(err)
	}
	want := &sessionMeta{
		AccountID: "a", OrganizationID: "o", OrganizationName: "O", Mode: props.ElicitationBrowser,
		Approvals: approvalPage, Resource: "http://worker/mcp", Initialize: asked.params, CreatedAt: now,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("meta (-want +got):\n%s", d)
	}
}

// Content that is no object with something in it is none: the answer counts all the same.
func TestContentOfAnyForm(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		for _, content := range []string{"{}", "[1]", `{"a":`, "", `"x"`, `{"a":1}`} {
			text, _ := execute(t, s, "once")
			text, r := tool1(t, s, "resume", map[string]any{
				"executionId": pausedID(t, text), "action": "accept", "content": content,
			})
			if r.IsError || field(t, r, "status") != "completed" {
				t.Errorf("content %s: %s", content, text)
			}
		}
	})
}

// Answers that contradict each other come at the same moment: one counts, and everybody is told what came of that one.
func TestAnswersRace(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		s := u.connect(t, nil)
		for range 10 {
			text, _ := execute(t, s, "once")
			id := pausedID(t, text)
			texts := make([]string, 6)
			var g sync.WaitGroup
			for i := range texts {
				g.Go(func() { texts[i], _ = resume(t, s, id, []string{"accept", "decline", "cancel"}[i%3]) })
			}
			g.Wait()
			for _, text := range texts {
				if text != texts[0] {
					t.Errorf("told %q and %q", texts[0], text)
				}
			}
		}
	})
}

// Whatever arrives while a session's runtime is taken down finds another one, or, after a DELETE, that the session has
// ended. Nothing fails.
func TestRequestsDuringDestruction(t *testing.T) {
	const timeout = 3 * time.Second
	in(t, Options{SessionTimeout: timeout}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		for _, ended := range []bool{false, true} {
			resp, _ := u.post(t, "", initializeBody)
			id := resp.Header.Get(props.HeaderSessionID)
			for round := range 5 {
				var g sync.WaitGroup
				try := func(method, body string) {
					g.Go(func() {
						resp, err := u.RoundTrip(request(t.Context(), method, id, body))
						if err != nil {
							t.Errorf("%s: %v", method, err)
							return
						}
						defer resp.Body.Close()
						unavailable := resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "2"
						gone := ended && resp.StatusCode == http.StatusNotFound
						if resp.StatusCode != http.StatusOK && !unavailable && !gone {
							t.Errorf("%s: %d %s", method, resp.StatusCode, rest(t, resp))
						} else if method == http.MethodPost {
							rest(t, resp)
						}
					})
				}
				time.Sleep(timeout - time.Duration(2-round)*time.Millisecond) // before the alarm, with it and after it
				for i := range 8 {
					try(http.MethodPost, strings.Replace(`{"jsonrpc":"2.0","id":N,"method":"tools/list"}`, "N", string(rune('1'+i)), 1))
					try(http.MethodGet, "")
					if ended && i == 4 {
						try(http.MethodDelete, "")
					}
				}
				g.Wait()
			}
			want := map[bool]int{false: http.StatusOK, true: http.StatusNotFound}[ended]
			if resp, body := u.post(t, id, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); resp.StatusCode != want {
				t.Errorf("afterwards: %d %s", resp.StatusCode, body)
			}
		}
		time.Sleep(2 * timeout)
		synctest.Wait()
		noneLeft(t, w)
	})
}

// A call that waits when its session is ended is answered, in words that are no defect.
func TestCallOfAnEndedSession(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		w.sandbox.set("slow", func(p *program) error {
			time.Sleep(time.Minute)
			return p.done("1", false)
		})
		u := w.user("a", "o")
		resp, _ := u.post(t, "", initializeBody)
		id := resp.Header.Get(props.HeaderSessionID)
		answered := make(chan string, 1)
		go func() {
			resp, body := u.post(t, id, `{"jsonrpc":"2.0","id":9,"method":"tools/call",`+
				`"params":{"name":"execute","arguments":{"code":"slow"}}}`)
			answered <- resp.Status + " " + body
		}()
		synctest.Wait()
		u.send(t, http.MethodDelete, id, "", nil)
		if got := <-answered; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "-32001") {
			t.Errorf("the call was answered with %s", got)
		}
	})
}

// An approval that comes after its window counts no more, also if the host was away at the deadline, and whether or not
// it has come to its alarms since.
func TestLateAnswer(t *testing.T) {
	approvals(t, Options{}, func(t *testing.T, w *world, u *user) {
		text, _ := execute(t, u.connect(t, nil), "once")
		id := pausedID(t, text)
		w.stop()
		time.Sleep(defaultApprovalWindow + time.Second)
		w.start()
		text, r := resume(t, u.connect(t, nil), id, "accept")
		if !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("resume = %s", encode(r))
		}

		deadline := time.Now()
		j := &journal{Phase: phasePaused, Pauses: 1, Pause: &pause{Deadline: deadline}}
		if !j.overdue(deadline, 0) || j.overdue(deadline.Add(-time.Nanosecond), 0) {
			t.Error("the window ends at its deadline")
		}
	})
}

// A stream that is resumed takes the place of none but itself: the session's own goes on.
func TestResumedStreamSupersedesItself(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.sandbox.set("slow", func(p *program) error {
			<-release
			return p.done(`"late"`, true)
		})
		u := w.user("a", "o")
		s := u.connect(t, nil)
		open := func(method, body string, header http.Header) *http.Response {
			t.Helper()
			r := request(t.Context(), method, s.ID(), body)
			r.Header.Set(props.HeaderProtocolVersion, "2025-11-25")
			for k, v := range header {
				r.Header[http.CanonicalHeaderKey(k)] = v
			}
			resp, err := u.RoundTrip(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v, %v", method, resp, err)
			}
			return resp
		}
		own := open(http.MethodGet, "", nil)
		call := open(http.MethodPost,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"execute","arguments":{"code":"slow"}}}`, nil)
		buf := make([]byte, 1000)
		n, _ := call.Body.Read(buf)
		id := eventID.FindSubmatch(buf[:n])
		if id == nil {
			t.Fatalf("no event id in %q", buf[:n])
		}
		back := http.Header{headerLastEventID: {string(id[1])}}
		first := open(http.MethodGet, "", back) // takes the call's place
		rest(t, call)
		second := open(http.MethodGet, "", back)
		rest(t, first)
		close(release)
		if body := rest(t, second); !strings.Contains(body, "late") {
			t.Errorf("the resumed stream: %q", body)
		}
		ended := make(chan string, 1)
		go func() { ended <- rest(t, own) }()
		synctest.Wait()
		select {
		case body := <-ended:
			t.Errorf("the session's own stream has ended: %q", body)
		default:
		}
		u.send(t, http.MethodDelete, s.ID(), "", nil)
		if body := <-ended; strings.Contains(body, "late") {
			t.Errorf("a call's answer is on the session's own stream: %q", body)
		}
	})
}

// The paused ceiling holds for a pause whose host was lost, and with it what the session knew. Who has no session has no
// ceiling.
func TestCeilingAfterLoss(t *testing.T) {
	o := Options{SessionTimeout: 3 * time.Second, PausedTimeout: 30 * time.Second}
	approvals(t, o, func(t *testing.T, w *world, u *user) {
		pause := func() string {
			t.Helper()
			text, _ := execute(t, u.connect(t, nil), "once")
			return pausedID(t, text)
		}
		alone := alone{user: w.user("a", "o"), capabilities: `{}`}
		alone.intent = props.IntentStateless
		_, body := alone.post(t, "tools/call", "execute", `"arguments":{"code":"once"}`)
		_, unbound, _ := strings.Cut(body, `"executionId":"`)
		unbound, _, _ = strings.Cut(unbound, `"`)
		early, late := pause(), pause()
		w.crash()
		time.Sleep(29 * time.Second)
		if text, r := resume(t, u.connect(t, nil), early, "accept"); r.IsError {
			t.Errorf("before the ceiling: %s", text)
		}
		time.Sleep(time.Second)
		text, r := resume(t, u.connect(t, nil), late, "accept")
		if !saysAgain(t, text, r, "execution_expired") {
			t.Errorf("after the ceiling: %s", text)
		}
		if text, r := resume(t, u.connect(t, nil), unbound, "accept"); r.IsError {
			t.Errorf("without a session: %s", text)
		}
	})
}
