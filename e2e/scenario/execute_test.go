package scenario

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/e2e/harness"
)

// TestOutcomes holds what programs come to, as a client sees it: text, structured content, and whether it is an error.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	s := shared.stack
	c := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: s.MustReady(t).MCPURL, Token: s.NewIdentity(t).Token})
	completed := func(result string) string { return `{"status":"completed","logs":[],"result":` + result + `}` }
	failed := func(message string) string { return `{"status":"error","logs":[],"error":` + message + `}` }
	for _, tt := range []struct {
		name, code, text string
		structured       string // empty: that of an error whose message follows "Error: " in text
	}{
		{"string", `return "a\n<b>"`, "a\n<b>", completed(`"a\n<b>"`)},
		{"number", `return 6 * 7`, "42", completed("42")},
		{"object", `return {b: 1, a: [true, null]}`, "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}",
			completed(`{"b":1,"a":[true,null]}`)},
		{"undefined", `1 + 1`, "(no result)", completed("null")},
		{"null", `return null`, "(no result)", completed("null")},
		{"logs", `console.log("one", {two: 2}); return 3`, "3\n\nLogs:\none { two: 2 }",
			`{"status":"completed","logs":["one { two: 2 }"],"result":3}`},
		{"logs of an error", `console.log("one"); throw new Error("boom")`, "Error: boom\n\nLogs:\none",
			`{"status":"error","logs":["one"],"error":"boom"}`},
		{"thrown", `throw new Error("boom")`, "Error: boom", ""},
		{"rejected", `await Promise.reject(new TypeError("no"))`, "Error: TypeError: no (line 1:22)", ""},
		{"syntax error", `return (`, "Error: SyntaxError: Unexpected end of input (line 1:9)", ""},
		{"not serializable", `return 1n`, "Error: result is not serializable: a BigInt has no JSON, convert it with String() or Number()", ""},
		{"no network", `try { await fetch("http://127.0.0.1") } catch (e) { return e.message }`,
			"fetch is not available: a program has no network, use tools instead",
			completed(`"fetch is not available: a program has no network, use tools instead"`)},
		{"fenced", "```ts\nconst n: number = await Promise.resolve(5)\nreturn n\n```", "5", completed("5")},
		{"arrow", `async () => 6`, "6", completed("6")},
		{"default export", `export default async function () { return 7 }`, "7", completed("7")},
		{"no promise", `return [typeof tools.then, (await tools.a) === tools.a]`, "[\n  \"undefined\",\n  true\n]",
			completed(`["undefined",true]`)},
		{"unknown tool", `const r = await tools.executor.coreTools.policies.lst(); return [r.ok, r.error.code, r.error.suggestions[0]]`,
			"[\n  false,\n  \"tool_not_found\",\n  \"executor.coreTools.policies.list\"\n]",
			completed(`[false,"tool_not_found","executor.coreTools.policies.list"]`)},
		{"wrong arguments", `return (await tools.executor.coreTools.policies.remove({})).error.code`, "invalid_tool_arguments",
			completed(`"invalid_tool_arguments"`)},
		{"no policies", `return tools.executor.coreTools.policies.list({})`,
			"{\n  \"ok\": true,\n  \"data\": {\n    \"policies\": []\n  }\n}", completed(`{"ok":true,"data":{"policies":[]}}`)},
		{"discovery", `const {data} = await tools.search({query: "policies", limit: 1, offset: 1})
			return [data.total, (await tools.describe.tool({path: data.items[0].path})).data.path]`,
			"[\n  4,\n  \"executor.coreTools.policies.list\"\n]", completed(`[4,"executor.coreTools.policies.list"]`)},
		{"something survives", `globalThis.kept = 1; Array.prototype.map = null; return typeof kept`, "number", completed(`"number"`)},
		{"nothing survived", `return [typeof kept, typeof [].map].join()`, "undefined,function", completed(`"undefined,function"`)},
	} {
		r := c.Execute(t, tt.code)
		if tt.structured == "" {
			message, err := json.Marshal(strings.TrimPrefix(tt.text, "Error: "))
			if err != nil {
				t.Fatal(err)
			}
			tt.structured = failed(string(message))
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(tt.structured), &want); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if r.Text != tt.text || r.IsError != (want["status"] == "error") {
			t.Errorf("%s: text %q, isError %v, want %q", tt.name, r.Text, r.IsError, tt.text)
		}
		if d := cmp.Diff(want, r.StructuredContent); d != "" {
			t.Errorf("%s: structured content (-want +got):\n%s", tt.name, d)
		}
	}
	long := c.Execute(t, `return "x".repeat(40000)`)
	if whole, _ := long.StructuredContent["result"].(string); len(whole) != 40_000 || len(long.Text) > 30_200 ||
		!strings.HasPrefix(long.Text, strings.Repeat("x", 30_000)+"\n") {
		t.Errorf("a long result: %d characters of text, %d in all", len(long.Text), len(whole))
	}
}

// TestNativeElicitation holds that in the native mode the client's own form asks, and the model has no way to answer.
func TestNativeElicitation(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, shared.stack)
	g.opts.Query = "elicitation_mode=native"
	if _, err := g.node.TryConnect(g.opts); err == nil || !strings.Contains(err.Error(), "elicitation capability") {
		t.Errorf("a client that shows no forms: %v", err)
	}
	g.opts.Capabilities = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
	for action, want := range map[string]string{
		"accept": guardedTool, "decline": "was declined", "cancel": "was cancelled",
	} {
		g.opts.Elicit = map[string]any{"action": action}
		c := g.node.Connect(t, g.opts)
		if tools, err := c.ListTools(time.Minute); err != nil || !slices.Equal(tools, []string{"execute"}) {
			t.Errorf("tools are %q, %v", tools, err)
		}
		if r := c.Execute(t, guardedCode); !strings.Contains(r.Text, want) || r.IsError != (action != "accept") {
			t.Errorf("%s: %+v", action, r)
		}
	}
}

// TestPolicyLife holds what the policies API answers from a policy's creation to its removal, and that an open session
// feels each change with its next call.
func TestPolicyLife(t *testing.T) {
	t.Parallel()
	s := shared.stack
	ready, token := s.MustReady(t), s.NewIdentity(t).Token
	c := harness.StartNode(t).Connect(t, harness.ConnectOptions{URL: ready.MCPURL, Token: token})
	api := func(method, path, body string, out any) {
		t.Helper()
		r := harness.Do(t, method, ready.APIURL+"/api/policies"+path,
			map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}, []byte(body))
		if err := json.Unmarshal([]byte(r.Body), out); err != nil || r.Status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
		}
	}
	expect := func(want string) {
		t.Helper()
		r := c.Execute(t, `const r = await tools.executor.coreTools.policies.list({}); return r.ok ? "ran" : r.error.code`)
		if got, _, _ := strings.Cut(r.Text, ":"); got != want {
			t.Errorf("the call gave %q, want %q", r.Text, want)
		}
	}
	var list []map[string]any
	if api("GET", "", "", &list); len(list) != 0 {
		t.Errorf("a new organization has %v", list)
	}
	expect("ran")
	var own, all map[string]any
	api("POST", "", `{"owner":"user","pattern":"executor.coreTools.*","action":"block"}`, &own)
	expect("tool_blocked")
	api("POST", "", `{"owner":"org","pattern":"executor.*.policies.list","action":"require_approval"}`, &all)
	for _, field := range []string{"id", "owner", "pattern", "action", "position", "createdAt", "updatedAt"} {
		if own[field] == nil || all[field] == nil {
			t.Errorf("a policy lacks its %s: %v", field, own)
		}
	}
	expect("tool_blocked") // the stricter of two owners' policies
	var changed map[string]any
	id, _ := own["id"].(string)
	api("PATCH", "/"+id, `{"action":"approve"}`, &changed)
	if changed["action"] != "approve" || changed["id"] != id || changed["pattern"] != own["pattern"] {
		t.Errorf("changed to %v", changed)
	}
	expect("Execution paused")
	if api("GET", "", "", &list); len(list) != 2 || list[0]["id"] != all["id"] || list[1]["id"] != id {
		t.Errorf("listed are %v", list)
	}
	for _, p := range list {
		var removed map[string]any
		api("DELETE", "/"+p["id"].(string), `{"owner":"`+p["owner"].(string)+`"}`, &removed)
		if d := cmp.Diff(map[string]any{"removed": true}, removed); d != "" {
			t.Error(d)
		}
	}
	expect("ran")
}

// TestEmittedBlocks holds that images and files that a program emits are content blocks of their own.
func TestEmittedBlocks(t *testing.T) {
	t.Parallel()
	r := newRaw(t, shared.stack, shared.stack.NewIdentity(t).Token)
	got := r.post(executeBody(2, `emit({type: "image", data: btoa("x"), mimeType: "image/png"});
		emit({type: "file", name: "a.csv", text: "x,y"}); emit("plain"); return 1`))
	want := `"content":[{"type":"text","text":"1"},{"type":"image","mimeType":"image/png","data":"eA=="},` +
		`{"type":"resource","resource":{"uri":"file:///a.csv","text":"x,y"}},{"type":"text","text":"plain"}]`
	if !strings.Contains(got.Body, want) {
		t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
	}
}
