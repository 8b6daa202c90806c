package sources_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
	"github.com/tandem-do/tandem/worker/sources"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const publicURL = "http://127.0.0.1:8787"

type members struct{}

func (members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	return directory.Membership{AccountID: account, OrganizationID: organization}, nil
}

// object is the organization's sources object: it records the call and answers what the test says.
type object struct {
	sidecar.Caller
	target sidecar.Target
	method string
	args   map[string]any
	answer any
	err    error
}

func (o *object) Call(_ context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	o.target, o.method, o.args = t, method, nil
	if err := v8value.UnmarshalArguments(args, &o.args); err != nil {
		return nil, err
	}
	if o.err != nil {
		return nil, o.err
	}
	return v8value.Marshal(o.answer)
}

type fixture struct {
	handler http.Handler
	object  *object
	token   string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	iss := authtest.NewIssuer(t)
	gate, err := auth.NewGate(auth.Options{PublicURL: publicURL, Issuer: iss.URL, Members: members{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	o := &object{}
	return &fixture{
		handler: sources.New(sources.Options{Gate: gate, Sources: binding.NewNamespace(props.NamespaceSources, o)}),
		object:  o, token: "Bearer " + iss.Token(t, publicURL+"/mcp", map[string]any{"sub": "user_1"}),
	}
}

func (f *fixture) do(t *testing.T, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, publicURL+path, strings.NewReader(body))
	w := httptest.NewRecorder()
	r.Header.Set("Authorization", f.token)
	f.object.method = ""
	f.handler.ServeHTTP(w, r)
	return w
}

func TestOperations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	source := props.Source{
		ID: "src_1", Name: "github", Kind: "mcp", URL: "https://x.example", Auth: props.SourceAuth{Kind: "bearer"}, Enabled: true,
		Tools: 2, Refresh: props.SourceRefresh{Status: "ok", At: &at}, CreatedBy: "user_1", CreatedAt: at, UpdatedAt: at,
	}
	sourceJSON, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	page := props.SourceToolPage{Items: []props.SourceToolItem{{Path: "github.a", Name: "a", Description: "A."}}, Total: 3}
	none := map[string]any{"kind": "", "secret": nil}
	delete(none, "secret")
	for _, tc := range []struct {
		name, method, path, body string
		answer                   any
		call                     string
		args                     map[string]any
		want                     string
	}{
		{"list", "GET", "", "", []props.Source{source}, "list", map[string]any{}, "[" + string(sourceJSON) + "]"},
		{"list of none", "GET", "", "", []props.Source(nil), "list", map[string]any{}, "[]"},
		{"get", "GET", "/src_1", "", source, "get", map[string]any{"id": "src_1"}, string(sourceJSON)},
		{"create", "POST", "?unverified", `{"name":"github","kind":"mcp","url":"https://x.example","enabled":false,
			"auth":{"kind":"bearer","secret":"s"}}`, source, "create",
			map[string]any{
				"accountId": "user_1", "name": "github", "kind": "mcp", "url": "https://x.example", "disabled": true,
				"unverified": true, "auth": map[string]any{"kind": "bearer", "secret": "s"},
			}, string(sourceJSON)},
		{"create of a document", "POST", "", `{"name":"api","kind":"openapi","document":"{}","baseUrl":"https://x.example"}`, source, "create",
			map[string]any{
				"accountId": "user_1", "name": "api", "kind": "openapi", "document": "{}", "baseUrl": "https://x.example", "auth": none,
			}, string(sourceJSON)},
		{"update", "PATCH", "/src_1?unverified=true", `{"name":"x","enabled":true,"auth":{"kind":"header","header":"X-Key","secret":"s"}}`,
			source, "update", map[string]any{
				"id": "src_1", "name": "x", "enabled": true, "unverified": true,
				"auth": map[string]any{"kind": "header", "header": "X-Key", "secret": "s"},
			}, string(sourceJSON)},
		{"remove", "DELETE", "/src_1", "", props.SourceRemoved{Removed: true}, "remove", map[string]any{"id": "src_1"}, `{"removed":true}`},
		{"refresh", "POST", "/src_1/refresh", "", source, "refresh", map[string]any{"id": "src_1"}, string(sourceJSON)},
		{"tools", "GET", "/src_1/tools?limit=1&offset=2", "", page, "tools",
			map[string]any{"id": "src_1", "limit": 1.0, "offset": 2.0},
			`{"items":[{"path":"github.a","name":"a","description":"A."}],"total":3}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.object.answer = tc.answer
			w := f.do(t, tc.method, "/api/sources"+tc.path, tc.body)
			if w.Code != 200 || w.Body.String() != tc.want {
				t.Errorf("got %d %s, want %s", w.Code, w.Body, tc.want)
			}
			if d := cmp.Diff(tc.args, f.object.args); d != "" || f.object.method != tc.call {
				t.Errorf("called %s with %s", f.object.method, d)
			}
			if f.object.target.Name != "org_1" ||
				f.object.target.ID != objectid.NewNamespace(props.NamespaceSources).FromName("org_1") {
				t.Errorf("target %+v", f.object.target)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		text                     string
	}{
		{"wrong method for all", "PUT", "", "", 405, "GET, POST"},
		{"wrong method for one", "POST", "/src_1", "", 405, "GET, PATCH, DELETE"},
		{"wrong method to refresh", "GET", "/src_1/refresh", "", 405, "POST"},
		{"wrong method for tools", "POST", "/src_1/tools", "", 405, "GET"},
		{"no such path", "GET", "/src_1/secret", "", 404, "nothing"},
		{"no name", "POST", "", `{"kind":"mcp"}`, 400, "name is missing"},
		{"no kind", "POST", "", `{"name":"x"}`, 400, "kind is missing"},
		{"unknown field", "POST", "", `{"name":"x","kind":"mcp","token":"s3cret"}`, 400, "unknown field"},
		{"wrong type", "POST", "", `{"name":"x","kind":"mcp","auth":"s3cret"}`, 400, "auth must be an object"},
		{"flag", "POST", "?unverified=maybe", `{"name":"x","kind":"mcp"}`, 400, "unverified must be true or false"},
		{"nothing to change", "PATCH", "/src_1", `{}`, 400, "nothing to change"},
		{"address cannot change", "PATCH", "/src_1", `{"url":"https://x.example"}`, 400, "url"},
		{"page", "GET", "/src_1/tools?limit=-1", "", 400, "limit must be"},
		{"too large", "POST", "", `{"name":"` + strings.Repeat("x", 9<<20) + `"}`, 413, "bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := f.do(t, tc.method, "/api/sources"+tc.path, tc.body)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.text) || strings.Contains(w.Body.String(), "s3cret") {
				t.Errorf("got %d %s, want %d with %q", w.Code, w.Body, tc.status, tc.text)
			}
			if f.object.method != "" {
				t.Errorf("the object was called: %s", f.object.method)
			}
		})
	}
	f.token = "Bearer nonsense"
	if w := f.do(t, "GET", "/api/sources", ""); w.Code != 401 {
		t.Errorf("without a good token: %d", w.Code)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.object.err = &sidecar.Error{
		Reason: sidecar.ReasonException, Name: props.ErrorNameUnreachable, Message: "nobody is there",
	}
	w := f.do(t, "POST", "/api/sources", `{"name":"x","kind":"mcp","url":"https://x.example"}`)
	if w.Code != 502 || w.Body.String() != `{"error":"bad_gateway","message":"nobody is there"}` {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
