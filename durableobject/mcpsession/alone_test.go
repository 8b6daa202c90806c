package mcpsession

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/proto/props"
)

// alone sends requests of protocol version 2026-07-28.
type alone struct {
	*user
	// capabilities are the client's, as JSON.
	capabilities string
}

// post returns the status and the body of the answer to a request. params may be empty.
func (a alone) post(t *testing.T, method, name, params string) (int, string) {
	t.Helper()
	header := http.Header{props.HeaderProtocolVersion: {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		header.Set("Mcp-Name", name)
		params = fmt.Sprintf(`"name":%q,%s`, name, params)
	}
	if params != "" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, a.capabilities)
	resp, text := a.send(t, http.MethodPost, "", body, header)
	return resp.StatusCode, text
}

var requestState = regexp.MustCompile(`"requestState":"([^"]+)"`)

// A client that can show forms gets its approvals as input requests, one after the other, each answered by a repetition.
func TestInputRequired(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.intent = props.IntentStateless
		u.policy(t, props.OwnerOrganization, "*", props.ActionRequireApproval)
		ran := 0
		w.sandbox.set("twice", func(p *program) error {
			for range 2 {
				if _, thrown, err := p.call("executor.coreTools.policies.list", ""); err != nil || thrown != "" {
					return p.fail(thrown)
				}
				ran++
			}
			return p.done(`"twice"`, true)
		})
		client := alone{user: u, capabilities: `{"elicitation":{}}`}
		const call = `"arguments":{"code":"twice"}`
		ask := func(more string) (state, body string) {
			t.Helper()
			status, body := client.post(t, "tools/call", "execute", call+more)
			m := requestState.FindStringSubmatch(body)
			if status != 200 || m == nil || !strings.Contains(body, `"resultType":"input_required"`) ||
				!strings.Contains(body, `"elicitation/create"`) || !strings.Contains(body, "executor.coreTools.policies.list") {
				t.Fatalf("no input request: %d %s", status, body)
			}
			return m[1], body
		}
		answer := func(state, action string) string {
			return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":%q,"content":{}}}`, state, action)
		}
		first, _ := ask("")
		if again, _ := ask(fmt.Sprintf(`,"requestState":%q,"inputResponses":{"other":{"action":"accept"}}`, first)); again != first {
			t.Errorf("without the answer, the pause is %s, want %s", again, first)
		}
		if ran != 0 {
			t.Fatal("the call was made without an approval")
		}
		second, _ := ask(answer(first, "accept"))
		if replayed, _ := ask(answer(first, "accept")); second == first || replayed != second || ran != 1 {
			t.Errorf("pauses %s, %s, then %s; %d calls", first, second, replayed, ran)
		}
		if status, body := client.post(t, "tools/call", "execute", call+answer("nonsense", "accept")); status != 400 ||
			!strings.Contains(body, "-32602") {
			t.Errorf("a state of the client's own: %d %s", status, body)
		}
		if status, body := client.post(t, "tools/call", "execute", call+answer(second, "maybe")); status != 400 ||
			!strings.Contains(body, "-32602") {
			t.Errorf("an answer that is none: %d %s", status, body)
		}
		stranger := alone{user: w.user("b", "o"), capabilities: client.capabilities}
		stranger.intent = props.IntentStateless
		if _, body := stranger.post(t, "tools/call", "execute", call+answer(second, "accept")); ran != 1 ||
			!strings.Contains(body, "execution_forbidden") {
			t.Errorf("another account's answer: %s", body)
		}
		if _, body := client.post(t, "tools/call", "execute", call+answer(second, "accept")); ran != 2 ||
			!strings.Contains(body, `"resultType":"complete"`) || !strings.Contains(body, `"twice"`) {
			t.Errorf("after both answers: %s", body)
		}
		third, _ := ask("")
		if _, body := client.post(t, "tools/call", "execute", call+answer(third, "decline")); ran != 2 ||
			!strings.Contains(body, "declined") {
			t.Errorf("declined: %s", body)
		}
	})
}

// How a call that stands alone asks is the client's choice, as far as it can show forms.
func TestAloneElicitationModes(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.policy(t, props.OwnerOrganization, "*", props.ActionRequireApproval)
		w.sandbox.set("list", callOnce("executor.coreTools.policies.list", ""))
		for _, tc := range []struct {
			mode, capabilities string
			status             int
			want               string
		}{
			{"", `{}`, 200, "waiting_for_interaction"},
			{"", `{"elicitation":{"url":{}}}`, 200, "waiting_for_interaction"},
			{"", `{"elicitation":{"form":{}}}`, 200, "input_required"},
			{props.ElicitationModel, `{"elicitation":{}}`, 200, "waiting_for_interaction"},
			{props.ElicitationNative, `{"elicitation":{}}`, 200, "input_required"},
			{props.ElicitationNative, `{}`, 400, "-32021"},
			{props.ElicitationBrowser, `{"elicitation":{}}`, 400, "-32602"},
		} {
			client := alone{user: &user{w: w, id: u.id, intent: props.IntentStateless, mode: tc.mode}, capabilities: tc.capabilities}
			status, body := client.post(t, "tools/call", "execute", `"arguments":{"code":"list"}`)
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("mode %q, %s: %d %s, want %d %s", tc.mode, tc.capabilities, status, body, tc.status, tc.want)
			}
		}
		client := alone{user: &user{w: w, id: u.id, intent: props.IntentStateless}, capabilities: `{}`}
		for _, method := range []string{"prompts/list", "resources/list", "completion/complete"} {
			if status, body := client.post(t, method, "", ""); status != 404 || !strings.Contains(body, "-32601") {
				t.Errorf("%s, which is not declared: %d %s", method, status, body)
			}
		}
	})
}
