package sources_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/props"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const (
	mcpURL = "https://mcp.example.com/mcp"
	token  = "tok-0123456789-secret"
)

func bearer(secret string) props.SourceCredentials {
	return props.SourceCredentials{Kind: props.SourceAuthBearer, Secret: secret}
}

func TestJourney(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		at := w.net.serve(mcpURL, "list-issues", "create_issue")
		at.secret = token
		if got := w.paths(""); got != "" {
			t.Errorf("tools before there is a source: %s", got)
		}
		made := w.create(props.SourceCreate{Name: "github", Kind: props.SourceMCP, URL: mcpURL, Auth: bearer(token)})
		if !strings.HasPrefix(made.ID, "src_") || made.Tools != 2 || made.Refresh.Status != props.RefreshOK ||
			!made.Enabled || made.CreatedBy != "a" || made.Auth.Kind != props.SourceAuthBearer {
			t.Errorf("made %+v", made)
		}
		for range 2 {
			if got := w.paths("issue"); got != "github.create_issue github.list_issues" {
				t.Errorf("search = %s", got)
			}
			if got := w.call("github.list_issues", `{"a":1}`); got != `{"tool":"list-issues","arguments":{"a":1}}` {
				t.Errorf("call = %s", got)
			}
			w.crash()
		}
		found := must[props.SourceFound](w, props.MethodSourcesLookup, props.SourceLookup{Path: "github.list_issues"})
		if found.Tool == nil || found.Tool.Description != "Does list-issues." || string(found.Tool.InputSchema) == "" ||
			string(found.Tool.OutputSchema) != `{"type":"string"}` {
			t.Errorf("lookup = %+v", found.Tool)
		}
		page := must[props.SourceToolPage](w, props.MethodSourcesTools, props.SourceQuery{ID: made.ID, Limit: 1, Offset: 1})
		if page.Total != 2 || len(page.Items) != 1 || page.Items[0].Name != "list-issues" {
			t.Errorf("tools = %+v", page)
		}
		must[props.SourceRemoved](w, props.MethodSourcesRemove, props.SourceQuery{ID: made.ID})
		if got := w.call("github.list_issues", `{}`); !strings.HasPrefix(got, "tool_not_found") || w.paths("") != "" {
			t.Errorf("after its removal: %s", got)
		}
		if keys := w.keys("o"); len(keys) > 0 {
			t.Errorf("left behind: %v", keys)
		}
		if _, closed := w.net.counts(); closed != 2 {
			t.Errorf("%d connections were closed", closed)
		}
		w.sees(token)
	})
}

// What the state holds, and what is logged, has no secret. Only the same host's key, for the same source, opens it.
func TestSecretsStaySealed(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.net.serve(mcpURL, "a").secret = token
		made := w.create(props.SourceCreate{Name: "one", Kind: props.SourceMCP, URL: mcpURL, Auth: bearer(token)})
		w.sees(token)
		if all, _ := json.Marshal(must[[]props.Source](w, props.MethodSourcesList, props.SourceQuery{})); strings.Contains(string(all), token) {
			t.Errorf("list = %s", all)
		}
		w.key++ // another key
		w.crash()
		if got := w.call("one.a", `{}`); !strings.HasPrefix(got, "source_unauthorized: one: the credentials of the source cannot be read") {
			t.Errorf("call under another key = %s", got)
		}
		refreshed := must[props.Source](w, props.MethodSourcesRefresh, props.SourceQuery{ID: made.ID})
		if refreshed.Refresh.Status != props.RefreshError || refreshed.Tools != 1 {
			t.Errorf("refresh under another key = %+v", refreshed)
		}
		if !strings.Contains(w.log.String(), "sealed under key") {
			t.Errorf("the log does not say why: %s", w.log)
		}
		credentials := bearer(token)
		must[props.Source](w, props.MethodSourcesUpdate, props.SourceUpdate{ID: made.ID, Auth: &credentials})
		if got := w.call("one.a", `{}`); !strings.HasPrefix(got, "{") {
			t.Errorf("call with new credentials = %s", got)
		}
		w.sees(token)
	})
}

func TestRefused(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.net.serve(mcpURL, "a")
		w.create(props.SourceCreate{Name: "taken", Kind: props.SourceMCP, URL: mcpURL})
		good := props.SourceCreate{Name: "new", Kind: props.SourceMCP, URL: mcpURL}
		for _, tc := range []struct {
			name   string
			change func(c *props.SourceCreate)
			want   string
		}{
			{"no name", func(c *props.SourceCreate) { c.Name = "" }, "name must be"},
			{"name with a dot", func(c *props.SourceCreate) { c.Name = "a.b" }, "name must be"},
			{"name of the core tools", func(c *props.SourceCreate) { c.Name = "executor" }, "another meaning"},
			{"name of search", func(c *props.SourceCreate) { c.Name = "Search" }, "another meaning"},
			{"name of a promise", func(c *props.SourceCreate) { c.Name = "then" }, "another meaning"},
			{"name taken", func(c *props.SourceCreate) { c.Name = "taken" }, "taken by another"},
			{"no kind", func(c *props.SourceCreate) { c.Kind = "" }, "kind must be"},
			{"no URL", func(c *props.SourceCreate) { c.URL = "" }, "url must be"},
			{"file", func(c *props.SourceCreate) { c.URL = "file:///etc/passwd" }, "url must be"},
			{"password in the URL", func(c *props.SourceCreate) { c.URL = "https://u:p@example.com/" }, "password"},
			{"document for MCP", func(c *props.SourceCreate) { c.Document = "{}" }, "neither document"},
			{"document and URL", func(c *props.SourceCreate) { c.Kind, c.Document = "openapi", "{}" }, "one of them"},
			{"bad base", func(c *props.SourceCreate) { c.Kind, c.BaseURL = "openapi", "x" }, "baseUrl must be"},
			{"no token", func(c *props.SourceCreate) { c.Auth.Kind = "bearer" }, "no secret"},
			{"token without a kind", func(c *props.SourceCreate) { c.Auth.Secret = token }, "kind none has a secret"},
			{"unknown kind of auth", func(c *props.SourceCreate) { c.Auth = props.SourceCredentials{Kind: "basic", Secret: token} }, "auth kind must be"},
			{"line in a token", func(c *props.SourceCreate) { c.Auth = bearer(token + "\nx: y") }, "characters"},
			{"header that is ours", func(c *props.SourceCreate) {
				c.Auth = props.SourceCredentials{Kind: "header", Header: "host", Secret: token}
			}, "cannot hold"},
			{"OAuth for an API", func(c *props.SourceCreate) {
				c.Kind, c.Auth = "openapi", props.SourceCredentials{Kind: "oauth", Secret: "{}"}
			}, "kind mcp"},
			{"OAuth credentials", func(c *props.SourceCreate) { c.Auth = props.SourceCredentials{Kind: "oauth", Secret: token} }, "no JSON object"},
		} {
			c := good
			tc.change(&c)
			_, failure := on[props.Source](w, "o", props.MethodSourcesCreate, c)
			if !strings.HasPrefix(failure, props.ErrorNameInvalid+": ") || !strings.Contains(failure, tc.want) ||
				strings.Contains(failure, token) {
				t.Errorf("%s: %q", tc.name, failure)
			}
		}
		for name, arg := range map[string]any{
			props.MethodSourcesGet: props.SourceQuery{ID: "src_x"}, props.MethodSourcesUpdate: props.SourceUpdate{ID: "src_x"},
			props.MethodSourcesRemove: props.SourceQuery{}, props.MethodSourcesRefresh: props.SourceQuery{ID: "x"},
			props.MethodSourcesTools: props.SourceQuery{ID: "x"},
		} {
			if _, failure := on[any](w, "o", name, arg); !strings.HasPrefix(failure, props.ErrorNameNotFound) {
				t.Errorf("%s of none: %q", name, failure)
			}
		}
	})
}

func TestUnreachable(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		c := props.SourceCreate{Name: "far", Kind: props.SourceMCP, URL: mcpURL, Auth: bearer(token)}
		if _, failure := on[props.Source](w, "o", props.MethodSourcesCreate, c); failure !=
			props.ErrorNameUnreachable+": nobody is at "+mcpURL || len(w.keys("o")) > 0 {
			t.Errorf("create = %q, keys %v", failure, w.keys("o"))
		}
		c.Unverified = true
		made := w.create(c)
		if made.Refresh.Status != props.RefreshNever || made.Tools != 0 {
			t.Errorf("made %+v", made)
		}
		at := w.net.serve(mcpURL, "a", "b")
		at.secret = token
		refresh := func() props.Source {
			return must[props.Source](w, props.MethodSourcesRefresh, props.SourceQuery{ID: made.ID})
		}
		if r := refresh(); r.Refresh.Status != props.RefreshOK || r.Tools != 2 {
			t.Errorf("refresh = %+v", r)
		}
		w.net.set(func() { at.err = upstream.Errorf(upstream.CodeUnavailable, "down for now") })
		if r := refresh(); r.Refresh.Status != props.RefreshError || r.Refresh.Message != "down for now" || r.Tools != 2 ||
			w.paths("") != "far.a far.b" {
			t.Errorf("refresh while it is down = %+v", r)
		}
		if got := w.call("far.a", `{}`); got != "source_unavailable: far: down for now" {
			t.Errorf("call while it is down = %s", got)
		}
		w.net.set(func() { at.err, at.tools = nil, []upstream.Tool{tool("b"), tool("c")} })
		if r := refresh(); r.Refresh.Status != props.RefreshOK || w.paths("") != "far.b far.c" {
			t.Errorf("refresh = %+v, %s", r, w.paths(""))
		}
		if got := w.call("far.c", `{}`); !strings.HasPrefix(got, "{") {
			t.Errorf("call when it is back = %s", got)
		}
		if got := w.call("far.a", `{}`); got != `tool_not_found: there is no tool "far.a"` {
			t.Errorf("call of what is gone = %s", got)
		}
		w.crash()
		if got := w.paths(""); got != "far.b far.c" || len(w.keys("o")) != 5 { // record, secret, index, two tools
			t.Errorf("after a crash %s, keys %v", got, w.keys("o"))
		}
	})
}

func TestUpdate(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		at := w.net.serve(mcpURL, "a")
		at.secret = token
		made := w.create(props.SourceCreate{Name: "one", Kind: props.SourceMCP, URL: mcpURL, Auth: bearer(token)})
		w.create(props.SourceCreate{Name: "two", Kind: props.SourceMCP, URL: mcpURL, Auth: bearer(token)})
		update := func(u props.SourceUpdate) (props.Source, string) {
			u.ID = made.ID
			return on[props.Source](w, "o", props.MethodSourcesUpdate, u)
		}
		taken, renamed, off, on := "two", "uno", false, true
		if _, failure := update(props.SourceUpdate{Name: &taken}); !strings.Contains(failure, "taken") {
			t.Errorf("taken name: %q", failure)
		}
		if s, failure := update(props.SourceUpdate{Name: &renamed, Enabled: &off}); failure != "" || s.Name != "uno" ||
			s.Enabled || w.paths("") != "two.a" {
			t.Errorf("update = %+v, %s; %s", s, failure, w.paths(""))
		}
		if got := w.call("uno.a", "{}"); !strings.HasPrefix(got, "tool_not_found") {
			t.Errorf("call of a disabled source = %s", got)
		}
		if s, _ := update(props.SourceUpdate{Enabled: &on}); !s.Enabled || w.paths("") != "two.a uno.a" {
			t.Errorf("update = %+v, %s", s, w.paths(""))
		}
		wrong, right := bearer("wrong"), bearer("other-"+token)
		if _, failure := update(props.SourceUpdate{Auth: &wrong}); failure !=
			props.ErrorNameUnreachable+": the server refused the credentials" {
			t.Errorf("wrong credentials: %q", failure)
		}
		if got := w.call("uno.a", "{}"); !strings.HasPrefix(got, "{") {
			t.Errorf("the old credentials are gone: %s", got)
		}
		w.net.set(func() { at.secret = right.Secret })
		if _, failure := update(props.SourceUpdate{Auth: &right}); failure != "" {
			t.Errorf("right credentials: %q", failure)
		}
		opened, _ := w.net.counts()
		if got := w.call("uno.a", "{}"); !strings.HasPrefix(got, "{") {
			t.Errorf("call = %s", got)
		}
		if again, closed := w.net.counts(); again != opened+1 || closed != 1 {
			t.Errorf("new credentials use the old connection: opened %d then %d, closed %d", opened, again, closed)
		}
	})
}

// A document that comes to name another server does not send the secret there.
func TestDocumentOfAnotherServer(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const url = "https://api.example.com/openapi.json"
		at := w.net.serve(url, "get")
		at.secret, at.origin, at.document = token, "https://api.example.com", []byte(`{"openapi":"3.1.0"}`)
		made := w.create(props.SourceCreate{
			Name: "api", Kind: props.SourceOpenAPI, URL: url,
			Auth: props.SourceCredentials{Kind: props.SourceAuthHeader, Header: "X-Key", Secret: token},
		})
		w.net.set(func() {
			at.origin, at.document, at.tools = "https://evil.example.com", []byte(`{}`), []upstream.Tool{tool("steal")}
		})
		r := must[props.Source](w, props.MethodSourcesRefresh, props.SourceQuery{ID: made.ID})
		if r.Refresh.Status != props.RefreshError || !strings.Contains(r.Refresh.Message, "evil.example.com") ||
			w.paths("") != "api.get" {
			t.Errorf("refresh = %+v, %s", r, w.paths(""))
		}
	})
}

func TestRotatedCredentials(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		at := w.net.serve(mcpURL, "a")
		at.secret, at.rotate = `{"n":1}`, `{"n":2}`
		made := w.create(props.SourceCreate{
			Name: "one", Kind: props.SourceMCP, URL: mcpURL,
			Auth: props.SourceCredentials{Kind: props.SourceAuthOAuth, Secret: `{"n":1}`},
		})
		for n, use := range []func() string{
			func() string { return w.call("one.a", `{}`) },
			func() string {
				return must[props.Source](w, props.MethodSourcesRefresh, props.SourceQuery{ID: made.ID}).Refresh.Message
			},
		} {
			w.net.set(func() { at.rotate = fmt.Sprintf(`{"n":%d}`, n+3) })
			use()
			w.crash() // only what is stored is left
			if got := w.call("one.a", `{}`); !strings.HasPrefix(got, "{") {
				t.Errorf("after rotation %d: %s", n, got)
			}
		}
		// A source that renews its credentials and then fails has renewed them all the same.
		w.net.set(func() { at.rotate, at.tools = `{"n":9}`, make([]upstream.Tool, 0) })
		must[props.Source](w, props.MethodSourcesRefresh, props.SourceQuery{ID: made.ID})
		if r := must[props.Source](w, props.MethodSourcesRefresh, props.SourceQuery{ID: made.ID}); r.Refresh.Status != props.RefreshOK {
			t.Errorf("refresh = %+v", r)
		}
	})
}

// A source that does not answer holds up nobody, and its calls end.
func TestSlowSource(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.net.serve(mcpURL, "a").call = func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		w.net.serve("https://fast.example.com", "a")
		w.create(props.SourceCreate{Name: "slow", Kind: props.SourceMCP, URL: mcpURL})
		w.create(props.SourceCreate{Name: "fast", Kind: props.SourceMCP, URL: "https://fast.example.com"})
		start := time.Now()
		var calls sync.WaitGroup
		for range 20 { // more than may be under way at once
			calls.Go(func() {
				if got := w.call("slow.a", `{}`); !strings.HasPrefix(got, "source_unavailable: slow: the source did not answer within 1m0s") {
					t.Errorf("slow call = %s", got)
				}
			})
		}
		synctest.Wait()
		if got := w.call("fast.a", `{}`); !strings.HasPrefix(got, "{") || time.Since(start) > time.Second {
			t.Errorf("fast call = %s after %v", got, time.Since(start))
		}
		calls.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("calls took %v", took)
		}
	})
}

func TestBadResults(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		at := w.net.serve(mcpURL, "a")
		w.create(props.SourceCreate{Name: "one", Kind: props.SourceMCP, URL: mcpURL})
		for _, tc := range []struct {
			name   string
			result string
			err    error
			panics bool
			want   string
		}{
			{"nothing", "", nil, false, "null"},
			{"not JSON", "{", nil, false, "tool_failed: one: the source answered with what is not JSON"},
			{"too large", `"` + strings.Repeat("x", upstream.MaxResultBytes) + `"`, nil, false, "result_too_large: one: "},
			{"an error of its own", "", upstream.Errorf(upstream.CodeFailed, "no such issue"), false, "tool_failed: one: no such issue"},
			{"a defect", "", errors.New("secret detail"), false, "tool_failed: one: the source failed"},
			{"a panic", "", nil, true, "tool_failed: one: the source failed"},
		} {
			w.net.set(func() {
				at.call = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					if tc.panics {
						panic("secret detail")
					}
					return json.RawMessage(tc.result), tc.err
				}
			})
			if got := w.call("one.a", `{}`); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s: %.200s", tc.name, got)
			}
		}
	})
}

func TestConnectionsAreSharedAndEnd(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.net.serve(mcpURL, "a")
		w.create(props.SourceCreate{Name: "one", Kind: props.SourceMCP, URL: mcpURL})
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() { w.call("one.a", `{}`) })
		}
		calls.Wait()
		if opened, closed := w.net.counts(); opened != 1 || closed != 0 {
			t.Errorf("opened %d, closed %d", opened, closed)
		}
		time.Sleep(6 * time.Minute)
		if opened, closed := w.net.counts(); opened != 1 || closed != 1 {
			t.Errorf("after a while opened %d, closed %d", opened, closed)
		}
		if got := w.call("one.a", `{}`); !strings.HasPrefix(got, "{") {
			t.Errorf("call = %s", got)
		}
	})
}

// Another organization has sources of its own.
func TestOrganizationsAreApart(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.net.serve(mcpURL, "a")
		made := w.create(props.SourceCreate{Name: "one", Kind: props.SourceMCP, URL: mcpURL})
		if list, _ := on[[]props.Source](w, "other", props.MethodSourcesList, props.SourceQuery{}); len(list) != 0 {
			t.Errorf("list = %v", list)
		}
		if _, failure := on[props.Source](w, "other", props.MethodSourcesGet, props.SourceQuery{ID: made.ID}); failure == "" {
			t.Error("another organization's source was found")
		}
		if r, _ := on[props.SourceResult](w, "other", props.MethodSourcesCall, props.SourceCall{Path: "one.a"}); r.Error == nil {
			t.Error("another organization's source was called")
		}
	})
}

func TestSuggestions(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.net.serve(mcpURL, "list_issues", "create_issue")
		w.create(props.SourceCreate{Name: "github", Kind: props.SourceMCP, URL: mcpURL})
		for path, want := range map[string]string{
			"github.list_isues": "github.list_issues", "githib.list_issues": "github.list_issues", "github": "",
			"zzz.zzz": "", strings.Repeat("x", 10_000): "",
		} {
			found := must[props.SourceFound](w, props.MethodSourcesLookup, props.SourceLookup{Path: path})
			got := ""
			if len(found.Suggestions) > 0 {
				got = found.Suggestions[0]
			}
			if found.Tool != nil || got != want {
				t.Errorf("%.40s: %+v", path, found)
			}
		}
		for query, want := range map[string]string{
			"GITHUB issue": "github.create_issue github.list_issues", "github.list": "github.list_issues",
			"list zebra": "", "github": "github.create_issue github.list_issues",
		} {
			if got := w.paths(query); got != want {
				t.Errorf("search for %q = %q", query, got)
			}
		}
	})
}

// Many large sources are searched within the bound on memory.
func TestManyTools(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		names := make([]string, upstream.MaxTools)
		for i := range names {
			names[i] = fmt.Sprintf("tool_%04d", i)
		}
		at := w.net.serve(mcpURL, names...)
		for i := range at.tools {
			at.tools[i].Description = strings.Repeat("x", 600)
		}
		for i := range 3 {
			w.create(props.SourceCreate{Name: fmt.Sprintf("s%d", i), Kind: props.SourceMCP, URL: mcpURL})
		}
		found := must[props.SourceToolPage](w, props.MethodSourcesSearch,
			props.SourceSearch{Query: "tool_", Limit: 20, Offset: 2*upstream.MaxTools - 5})
		if found.Total != 3*upstream.MaxTools || len(found.Items) != 20 || found.Items[0].Path != "s1.tool_1995" ||
			found.Items[19].Path != "s2.tool_0014" || len(found.Items[0].Description) > 512 {
			t.Errorf("search = %d, %v", found.Total, found.Items)
		}
		w.net.set(func() { at.tools = append(at.tools, tool("one_more")) })
		_, failure := on[props.Source](w, "o", props.MethodSourcesCreate, props.SourceCreate{Name: "more", Kind: props.SourceMCP, URL: mcpURL})
		if !strings.Contains(failure, "more than 2000 tools") {
			t.Errorf("too many tools: %q", failure)
		}
	})
}
