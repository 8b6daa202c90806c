package mcpsession

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/durableobject/mcpsession/sources"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/proto/props"
)

// fakeUpstream is a source that answers with what it was asked.
type fakeUpstream struct {
	// mu guards the fields below.
	mu    sync.Mutex
	tools []upstream.Tool
	err   error
	calls int
}

var (
	_ upstream.Connector = (*fakeUpstream)(nil)
	_ upstream.Source    = (*fakeUpstream)(nil)
)

// Connect implements upstream.Connector.
func (f *fakeUpstream) Connect(context.Context, upstream.Spec) (upstream.Source, error) {
	return f, nil
}

// Inspect implements upstream.Connector.
func (f *fakeUpstream) Inspect(ctx context.Context, _ upstream.Spec) (upstream.Inspection, error) {
	tools, err := f.Tools(ctx)
	return upstream.Inspection{Tools: tools}, err
}

// Tools implements upstream.Source.
func (f *fakeUpstream) Tools(context.Context) ([]upstream.Tool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools, f.err
}

// Call implements upstream.Source.
func (f *fakeUpstream) Call(_ context.Context, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return json.RawMessage(fmt.Sprintf(`{"called":%q,"with":%s}`, tool, arguments)), f.err
}

// Close implements upstream.Source.
func (f *fakeUpstream) Close() error { return nil }

func (f *fakeUpstream) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// withSource is a world in which organization o has a source "tracker".
func withSource(t *testing.T, fn func(t *testing.T, w *world, u *user, f *fakeUpstream)) {
	t.Helper()
	f := &fakeUpstream{tools: []upstream.Tool{
		{
			Name: "create-issue", Description: "Opens a ticket.",
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`),
		},
		{Name: "odd", InputSchema: json.RawMessage(`{"$ref":"#"}`)},
	}}
	in(t, Options{Sources: sources.Options{Connector: f}}, func(t *testing.T, w *world) {
		u := w.user("a", "o")
		u.vanishes = true
		_, err := durableobject.Call[props.Source](t.Context(), w.namespace(props.NamespaceSources).GetByName("o"),
			props.MethodSourcesCreate, props.SourceCreate{Name: "tracker", Kind: props.SourceMCP, URL: "https://x.example"})
		if err != nil {
			t.Fatal(err)
		}
		fn(t, w, u, f)
	})
}

func TestSourceTools(t *testing.T) {
	withSource(t, func(t *testing.T, w *world, u *user, f *fakeUpstream) {
		s := u.connect(t, nil)
		for i, tc := range []struct{ name, path, arguments, want string }{
			{"call", "tracker.create_issue", `{"title":"x"}`, `{"ok":true,"data":{"called":"create-issue","with":{"title":"x"}}}`},
			{"no arguments", "tracker.odd", ``, `{"ok":true,"data":{"called":"odd","with":{}}}`},
			{"wrong arguments", "tracker.create_issue", `{"title":5}`, `"code":"invalid_tool_arguments"`},
			{"no object", "tracker.odd", `[]`, `"code":"invalid_tool_arguments"`},
			{"typo", "tracker.create_isue", `{}`, `"suggestions":["tracker.create_issue"]`},
			{"typo in the source", "tracer.create_issue", `{}`, `"suggestions":["tracker.create_issue"]`},
			{"core tool's typo", "executor.coreTools.policies.lst", `{}`, `"executor.coreTools.policies.list"`},
			{"source alone", "tracker", `{}`, `"code":"tool_not_found"`},
			{"describe", "describe.tool", `{"path":"tracker.create_issue"}`, `"required":["title"]`},
			{"describe the result", "describe.tool", `{"path":"tracker.create_issue"}`, `"outputSchema":{"type":"object"}`},
			{"describe none", "describe.tool", `{"path":"tracker.none"}`, `"code":"tool_not_found"`},
			{"search", "search", `{"query":"ticket"}`, `{"items":[{"path":"tracker.create_issue","description":"Opens a ticket."}],"total":1}`},
			{"search over both", "search", `{"limit":5}`, `"total":6,"nextOffset":5`},
			{"second page", "search", `{"limit":5,"offset":5}`, `{"items":[{"path":"tracker.odd","description":""}],"total":6}`},
		} {
			code := fmt.Sprint("program ", i)
			w.sandbox.set(code, callOnce(tc.path, tc.arguments))
			text, _ := execute(t, s, code)
			if compact := strings.NewReplacer("\n", "", " ", "").Replace(text); !strings.Contains(compact, strings.ReplaceAll(tc.want, " ", "")) {
				t.Errorf("%s: %s", tc.name, compact)
			}
		}
		f.fail(&upstream.Error{
			Code: upstream.CodeUnavailable, Message: "nobody is there", Details: json.RawMessage(`{"status":502}`),
		})
		w.sandbox.set("down", callOnce("tracker.odd", ""))
		text, r := execute(t, s, "down")
		if r.IsError || !strings.Contains(text, `"code": "source_unavailable"`) || !strings.Contains(text, `"status": 502`) ||
			!strings.Contains(text, "tracker: nobody is there") {
			t.Errorf("a source that is down: %s", text)
		}
		// Another organization has none of it.
		stranger := w.user("b", "p")
		stranger.vanishes = true
		if text, _ := execute(t, stranger.connect(t, nil), "program 0"); !strings.Contains(text, "tool_not_found") {
			t.Errorf("another organization: %s", text)
		}
	})
}

func TestSourceToolPolicies(t *testing.T) {
	withSource(t, func(t *testing.T, w *world, u *user, f *fakeUpstream) {
		s := u.connect(t, nil)
		u.policy(t, props.OwnerOrganization, "tracker.create_issue", props.ActionRequireApproval)
		u.policy(t, props.OwnerOrganization, "tracker.*", props.ActionBlock)
		w.sandbox.set("create", callOnce("tracker.create_issue", `{"title":"x"}`))
		w.sandbox.set("wrong", callOnce("tracker.create_issue", `{}`))
		w.sandbox.set("blocked", callOnce("tracker.odd", `{}`))
		if text, _ := execute(t, s, "wrong"); !strings.Contains(text, "invalid_tool_arguments") {
			t.Errorf("arguments were not checked before the pause: %s", text)
		}
		if text, _ := execute(t, s, "blocked"); !strings.Contains(text, "tool_blocked") || f.calls != 0 {
			t.Errorf("blocked: %s", text)
		}
		text, _ := execute(t, s, "create")
		id := pausedID(t, text)
		if f.calls != 0 {
			t.Error("called before the approval")
		}
		if text, r := resume(t, s, id, actionAccept); r.IsError || !strings.Contains(text, `"called": "create-issue"`) || f.calls != 1 {
			t.Errorf("approved: %s after %d calls", text, f.calls)
		}
	})
}

// A program that calls no tool of a source does not need the sources object; one that does is told when it is broken.
func TestSourcesAreLazy(t *testing.T) {
	in(t, Options{}, func(t *testing.T, w *world) {
		broken := w.store.Object(props.NamespaceSources, w.namespace(props.NamespaceSources).IDs().FromName("o"), storage.Hooks{})
		if err := broken.Put(t.Context(), []storage.Entry{{Key: "source/x", Value: []byte("x")}}, storage.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := broken.Flush().Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		broken.Close()
		w.sandbox.set("core", callOnce(listPolicies, ""))
		w.sandbox.set("source", callOnce("tracker.odd", ""))
		u := w.user("a", "o")
		u.vanishes = true
		s := u.connect(t, nil)
		if text, r := execute(t, s, "core"); r.IsError || !strings.Contains(text, `"ok": true`) {
			t.Error(text)
		}
		if text, _ := execute(t, s, "source"); !strings.Contains(text, "source_unavailable") {
			t.Error(text)
		}
	})
}
