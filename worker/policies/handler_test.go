package policies_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/tandem-do/tandem/worker/policies"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const publicURL = "http://127.0.0.1:8787"

type members struct{}

func (members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	switch account {
	case "user_none":
		return directory.Membership{}, directory.ErrNotMember
	case "user_down":
		return directory.Membership{}, directory.ErrUnavailable
	}
	return directory.Membership{AccountID: account, OrganizationID: organization}, nil
}

// object is the organization's policies object: it records the call and answers what the test says.
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
	gate    *auth.Gate
	handler http.Handler
	object  *object
	token   func(account string) string
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
		gate:    gate,
		handler: policies.New(policies.Options{Gate: gate, Policies: binding.NewNamespace(props.NamespacePolicies, o)}),
		object:  o,
		token: func(account string) string {
			return "Bearer " + iss.Token(t, publicURL+"/mcp", map[string]any{"sub": account})
		},
	}
}

func (f *fixture) do(t *testing.T, account, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, publicURL+path, strings.NewReader(body))
	w := httptest.NewRecorder()
	if account != "" {
		r.Header.Set("Authorization", f.token(account))
	}
	f.handler.ServeHTTP(w, r)
	return w
}

func TestOperations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	rule := props.Policy{
		ID: "pol_1", Owner: "org", Pattern: "a.*", Action: "block", Position: 1, CreatedAt: at, UpdatedAt: at,
	}
	ruleJSON, err := json.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, method, path, body string
		answer                   any
		call                     string
		args                     map[string]any
		want                     string
	}{
		{"list", "GET", "/api/policies", "", []props.Policy{rule}, "list", map[string]any{}, "[" + string(ruleJSON) + "]"},
		{"list of none", "GET", "/api/policies", "", []props.Policy(nil), "list", map[string]any{}, "[]"},
		{"create", "POST", "/api/policies", `{"owner":"org","pattern":"a.*","action":"block"}`, rule, "create",
			map[string]any{"owner": "org", "pattern": "a.*", "action": "block"}, string(ruleJSON)},
		{"update", "PATCH", "/api/policies/pol_1", `{"position":0,"owner":"org"}`, rule, "update",
			map[string]any{"id": "pol_1", "owner": "org", "position": 0.0}, string(ruleJSON)},
		{"update pattern", "PATCH", "/api/policies/pol_1", `{"pattern":"b","action":"approve"}`, rule, "update",
			map[string]any{"id": "pol_1", "pattern": "b", "action": "approve"}, string(ruleJSON)},
		{"remove", "DELETE", "/api/policies/pol_1", `{"owner":"user"}`, props.PolicyRemoved{Removed: true}, "remove",
			map[string]any{"id": "pol_1", "owner": "user"}, `{"removed":true}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.object.answer = tc.answer
			w := f.do(t, "user_1", tc.method, tc.path, tc.body)
			if w.Code != 200 || w.Body.String() != tc.want || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("got %d %s, want %s", w.Code, w.Body, tc.want)
			}
			tc.args["accountId"] = "user_1"
			if d := cmp.Diff(tc.args, f.object.args); d != "" || f.object.method != tc.call {
				t.Errorf("called %s with %s", f.object.method, d)
			}
			identity, err := props.DecodeIdentity(f.object.target.Props)
			if err != nil || identity.AccountID != "user_1" || f.object.target.Name != "org_1" ||
				f.object.target.ID != objectid.NewNamespace(props.NamespacePolicies).FromName("org_1") {
				t.Errorf("target %+v, %v", f.object.target, err)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tc := range []struct {
		name, account, method, path, body string
		status                            int
		text                              string
	}{
		{"no bearer", "", "GET", "/api/policies", "", 401, "bearer"},
		{"no organization", "user_none", "GET", "/api/policies", "", 403, "rganization"},
		{"directory down", "user_down", "GET", "/api/policies", "", 503, ""},
		{"wrong method for all", "", "PUT", "/api/policies", "", 405, "GET, POST"},
		{"wrong method for one", "", "GET", "/api/policies/pol_1", "", 405, "PATCH, DELETE"},
		{"not JSON", "user_1", "POST", "/api/policies", `{`, 400, "JSON"},
		{"no body", "user_1", "POST", "/api/policies", ``, 400, "JSON"},
		{"an array", "user_1", "POST", "/api/policies", `[]`, 400, "object"},
		{"two values", "user_1", "POST", "/api/policies", `{"owner":"org","pattern":"*","action":"block"}{}`, 400,
			"more than one"},
		{"unknown field", "user_1", "POST", "/api/policies", `{"accountId":"user_2"}`, 400, "accountId"},
		{"unknown field of one", "user_1", "PATCH", "/api/policies/p", `{"id":"q"}`, 400, "id"},
		{"wrong type", "user_1", "POST", "/api/policies", `{"pattern":5}`, 400, "pattern must be a string, not a number"},
		{"wrong number", "user_1", "PATCH", "/api/policies/p", `{"position":"first"}`, 400,
			"position must be a whole number"},
		{"fraction", "user_1", "PATCH", "/api/policies/p", `{"position":1.5}`, 400, "position"},
		{"no owner", "user_1", "POST", "/api/policies", `{"pattern":"*","action":"block"}`, 400, "owner"},
		{"no pattern", "user_1", "POST", "/api/policies", `{"owner":"org","action":"block"}`, 400, "pattern"},
		{"no action", "user_1", "POST", "/api/policies", `{"owner":"org","pattern":"*"}`, 400, "action"},
		{"null owner", "user_1", "DELETE", "/api/policies/p", `{"owner":null}`, 400, "owner"},
		{"nothing to change", "user_1", "PATCH", "/api/policies/p", `{"owner":"org"}`, 400, "nothing to change"},
		{"too large", "user_1", "POST", "/api/policies", `{"pattern":"` + strings.Repeat("x", 70<<10) + `"}`, 413, "bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.object.method = ""
			w := f.do(t, tc.account, tc.method, tc.path, tc.body)
			assertError(t, w, tc.status, tc.text)
			if f.object.method != "" {
				t.Errorf("the object was called: %s", f.object.method)
			}
			if (w.Header().Get("WWW-Authenticate") != "") != (tc.status == 401) ||
				(w.Header().Get("Retry-After") != "") != (tc.status == 503) ||
				(w.Header().Get("Allow") != "") != (tc.status == 405) {
				t.Errorf("got headers %v", w.Header())
			}
		})
	}
}

func assertError(t *testing.T, w *httptest.ResponseRecorder, status int, text string) {
	t.Helper()
	var body struct{ Error, Message string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error == "" || body.Message == "" {
		t.Fatalf("got %d %s, want an error with a message", w.Code, w.Body)
	}
	if w.Code != status || !strings.Contains(body.Message, text) {
		t.Errorf("got %d %s, want %d with %q", w.Code, w.Body, status, text)
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r, w := httptest.NewRequest("POST", publicURL+"/api/policies", strings.NewReader("{}")), httptest.NewRecorder()
	r.Header.Set("Authorization", f.token("user_1"))
	r.Header.Set("Content-Type", "text/plain")
	f.handler.ServeHTTP(w, r)
	assertError(t, w, http.StatusUnsupportedMediaType, "application/json")
}

func TestObjectErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tc := range []struct {
		err    error
		status int
		text   string
	}{
		{&sidecar.Error{Name: props.ErrorNameInvalid, Message: "pattern is bad"}, 400, "pattern is bad"},
		{&sidecar.Error{Name: props.ErrorNameNotFound, Message: "no such policy"}, 404, "no such policy"},
		{&sidecar.Error{Name: props.ErrorNameLimit, Message: "too many"}, 409, "too many"},
		{&sidecar.Error{Reason: sidecar.ReasonDisconnected, Message: "secret"}, 503, ""},
		{&sidecar.Error{Reason: sidecar.ReasonException, Name: "TypeError", Message: "secret"}, 500, "Internal"},
		{fmt.Errorf("wrapped: %w", errors.New("secret")), 500, "Internal"},
	} {
		f.object.err = tc.err
		w := f.do(t, "user_1", "DELETE", "/api/policies/pol_1", `{"owner":"org"}`)
		assertError(t, w, tc.status, tc.text)
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("the detail got out: %s", w.Body)
		}
	}
}

// web is a browser in which user_1 is signed in; foreign is what its requests from other pages are refused with.
type web struct{ foreign error }

func (w web) Identify(*http.Request) auth.Verdict {
	return auth.Verdict{
		Outcome: auth.OutcomeVerified, Identity: props.Identity{AccountID: "user_1", OrganizationID: "org_1"},
	}
}

func (w web) CheckOrigin(*http.Request) error { return w.foreign }

func TestWebSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	withWeb := func(w web) {
		f.handler = policies.New(policies.Options{
			Gate: f.gate, Web: w, Policies: binding.NewNamespace(props.NamespacePolicies, f.object),
		})
	}
	withWeb(web{})
	f.object.answer = []props.Policy{}
	if w := f.do(t, "", "GET", "/api/policies", ""); w.Code != 200 || f.object.args["accountId"] != "user_1" {
		t.Errorf("got %d %s, object got %v", w.Code, w.Body, f.object.args)
	}
	// A bearer token counts before the session, a bad one too.
	if w := f.do(t, "user_none", "GET", "/api/policies", ""); w.Code != 403 {
		t.Errorf("with a bearer token as well: %d %s", w.Code, w.Body)
	}
	withWeb(web{foreign: errors.New("foreign")})
	f.object.method = ""
	w := f.do(t, "", "POST", "/api/policies", `{"owner":"org","pattern":"*","action":"approve"}`)
	assertError(t, w, 403, "no page of this worker")
	if f.object.method != "" {
		t.Errorf("the object was called: %s", f.object.method)
	}
	f.object.answer = []props.Policy{}
	if w := f.do(t, "user_1", "GET", "/api/policies", ""); w.Code != 200 {
		t.Errorf("a bearer token from anywhere: %d %s", w.Code, w.Body)
	}
}
