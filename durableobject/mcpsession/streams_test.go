package mcpsession

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/proto/props"
)

// rest reads a response to its end.
func rest(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("read body: %v", err)
	}
	r.Body.Close()
	return string(b)
}

func TestKeepaliveAndSupersession(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		resp, _ := u.post(t, "", initializeBody)
		id := resp.Header.Get(props.HeaderSessionID)
		open := func() *http.Response {
			t.Helper()
			began := time.Now()
			resp, err := u.RoundTrip(request(t.Context(), http.MethodGet, id, ""))
			if err != nil || resp.StatusCode != 200 || time.Since(began) > 0 {
				t.Fatalf("GET: %v, %v after %v", resp, err, time.Since(began))
			}
			return resp
		}
		first := open()
		lines := bufio.NewReader(first.Body)
		if l, _ := lines.ReadString('\n'); l != ": ok\n" {
			t.Errorf("first line %q", l)
		}
		lines.ReadString('\n')
		began := time.Now()
		if l, _ := lines.ReadString('\n'); l != ": keepalive\n" || time.Since(began) != keepaliveInterval {
			t.Errorf("line %q after %v", l, time.Since(began))
		}
		second := open()
		if _, err := io.ReadAll(lines); err != nil {
			t.Errorf("superseded stream: %v", err)
		}
		third, fourth := open(), open()
		rest(t, second)
		rest(t, third)
		fourth.Body.Close()
		synctest.Wait()
	})
}

// Streams that are asked for together supersede each other, some before they have begun. None is refused.
func TestSupersessionAtOnce(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		resp, _ := u.post(t, "", initializeBody)
		id := resp.Header.Get(props.HeaderSessionID)
		for range 10 {
			ctx, end := context.WithCancel(t.Context())
			var g sync.WaitGroup
			for range 8 {
				g.Go(func() {
					resp, err := u.RoundTrip(request(ctx, http.MethodGet, id, ""))
					if err != nil || resp.StatusCode != http.StatusOK ||
						resp.Header.Get("Content-Type") != "text/event-stream" {
						t.Errorf("GET: %v, %v", resp, err)
						return
					}
					defer resp.Body.Close()
					io.ReadAll(resp.Body)
				})
			}
			synctest.Wait() // all but one have ended
			end()
			g.Wait()
			time.Sleep(defaultSessionTimeout + time.Second) // the next ones restore the runtime
		}
	})
}

var eventID = regexp.MustCompile(`(?m)^id: (\S+)$`)

// A client that lost its connection in a long call comes back with the last event's id and gets the answer.
func TestResumeStream(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.sandbox.set("slow", func(p *program) error {
			<-release
			return p.done(`"late"`, true)
		})
		u := w.user("a", "o")
		s := u.connect(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		r := request(ctx, http.MethodPost, s.ID(),
			`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"execute","arguments":{"code":"slow"}}}`)
		r.Header.Set(props.HeaderProtocolVersion, "2025-11-25")
		resp, err := u.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1000)
		n, _ := resp.Body.Read(buf)
		id := eventID.FindSubmatch(buf[:n])
		if id == nil {
			t.Fatalf("no event id in %q", buf[:n])
		}
		cancel()
		resp.Body.Close()
		synctest.Wait()

		close(release)
		synctest.Wait()
		back := http.Header{headerLastEventID: {string(id[1])}}
		if _, body := u.send(t, http.MethodGet, s.ID(), "", back); !strings.Contains(body, `"late"`) {
			t.Errorf("resumed stream: %q", body)
		}
		other := u.connect(t, nil)
		resp, body := u.send(t, http.MethodGet, other.ID(), "", back)
		if resp.StatusCode != 400 || strings.Contains(body, "late") {
			t.Errorf("resumed by another session: %d %q", resp.StatusCode, body)
		}
	})
}

// A call whose client has gone must not block the next client's call with the same id.
func TestReusedID(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		w.sandbox.set("stuck", func(p *program) error {
			<-p.stream.Context().Done()
			return p.stream.Context().Err()
		})
		u := w.user("a", "o")
		s := u.connect(t, nil)
		const call = `{"jsonrpc":"2.0","id":"x","method":"tools/call",` +
			`"params":{"name":"execute","arguments":{"code":"CODE"}}}`
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			resp, err := u.RoundTrip(request(ctx, http.MethodPost, s.ID(), strings.Replace(call, "CODE", "stuck", 1)))
			if err == nil {
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		// While its client is there, it is a duplicate.
		if resp, body := u.post(t, s.ID(), strings.Replace(call, "CODE", "return 6 * 7", 1)); resp.StatusCode != 400 {
			t.Errorf("duplicate: %d %s", resp.StatusCode, body)
		}
		cancel()
		<-gone
		synctest.Wait()
		began := time.Now()
		resp, body := u.post(t, s.ID(), strings.Replace(call, "CODE", "return 6 * 7", 1))
		if resp.StatusCode != 200 || !strings.Contains(body, "42") || time.Since(began) >= replaceTimeout {
			t.Errorf("reused id: %d %s after %v", resp.StatusCode, body, time.Since(began))
		}
	})
}

func TestStateless(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.intent = props.IntentStateless
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		post := func(method, name, params string) (int, string) {
			t.Helper()
			header := http.Header{props.HeaderProtocolVersion: {"2026-07-28"}, "Mcp-Method": {method}}
			if name != "" {
				header.Set("Mcp-Name", name)
			}
			resp, body := u.send(t, http.MethodPost, "",
				`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`, header)
			return resp.StatusCode, body
		}
		n := w.commits(func() {
			if code, body := post("server/discover", "", ""); code != 200 || !strings.Contains(body, `"executor"`) {
				t.Errorf("discover: %d %s", code, body)
			}
			code, body := post("tools/call", "execute", `"name":"execute","arguments":{"code":"return 6 * 7"},`)
			if code != 200 || !strings.Contains(body, `"42"`) {
				t.Errorf("execute: %d %s", code, body)
			}
		})
		if n != 0 {
			t.Errorf("%d commits", n)
		}
		// An execution that pauses is resumed on any connection of the same account, without a session.
		u.policy(t, props.OwnerOrganization, "*", props.ActionRequireApproval)
		w.sandbox.set("list", callOnce("executor.coreTools.policies.list", ""))
		_, body := post("tools/call", "execute", `"name":"execute","arguments":{"code":"list"},`)
		id := regexp.MustCompile(`exec_[0-9a-f-]+`).FindString(body)
		_, body = post("tools/call", "resume", `"name":"resume","arguments":{"executionId":"`+id+`","action":"accept"},`)
		if !strings.Contains(body, "completed") {
			t.Errorf("resume: %s", body)
		}
		u.id.AccountID = "b"
		_, body = post("tools/call", "resume", `"name":"resume","arguments":{"executionId":"`+id+`","action":"accept"},`)
		if !strings.Contains(body, "execution_forbidden") {
			t.Errorf("another's resume: %s", body)
		}
	})
}
