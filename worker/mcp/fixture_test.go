package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
	"github.com/tandem-do/tandem/worker/ingress"
	"github.com/tandem-do/tandem/worker/mcp"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// objects are the session objects: they know who owns which session and answer as the real ones do.
type objects struct {
	mu sync.Mutex // guards all below
	// owners is by session; a session that ended has the owner "ended".
	owners map[objectid.ID]string
	// calls is how many calls reached any object.
	calls int
	// last is the last request that an object got, with its body.
	last     *http.Request
	lastBody string
	lastID   objectid.ID
	// err answers every call, if set.
	err error
	// reply replaces the answer to requests, if set.
	reply func(ctx context.Context) (*http.Response, error)
}

// response builds an object's response.
func response(status int, contentType string, body io.Reader) *http.Response {
	h := http.Header{"Content-Type": {contentType}, "Tandem-Secret": {"x"}, "Set-Cookie": {"x"}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(body)}
}

// verdict returns the error for whoever may not use the session.
func (o *objects) verdict(id objectid.ID, identity props.Identity) *props.HTTPError {
	switch o.owners[id] {
	case "":
		return props.ErrSessionNotFound
	case "ended":
		return props.ErrSessionEnded
	case identity.AccountID:
		return nil
	}
	return props.ErrSessionForbidden
}

// Call implements sidecar.Caller.
func (o *objects) Call(ctx context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if o.err != nil {
		return nil, o.err
	}
	identity, err := props.DecodeIdentity(t.Props)
	if err != nil || method != props.MethodSessionCheck || len(args) != 0 {
		return nil, fmt.Errorf("call of %s with %q: %v", method, args, err)
	}
	names := map[*props.HTTPError]string{
		props.ErrSessionNotFound: props.SessionErrorNotFound, props.ErrSessionEnded: props.SessionErrorEnded,
		props.ErrSessionForbidden: props.SessionErrorForbidden,
	}
	if v := o.verdict(t.ID, identity); v != nil {
		return nil, &sidecar.Error{Reason: sidecar.ReasonException, Name: names[v], Message: "no", Remote: true}
	}
	return nil, nil
}

// Fetch implements sidecar.Caller.
func (o *objects) Fetch(ctx context.Context, t sidecar.Target, r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	o.calls++
	o.last, o.lastBody, o.lastID = r, string(body), t.ID
	reply, err := o.reply, o.err
	identity, identityErr := props.DecodeIdentity(t.Props)
	intent := r.Header.Get(props.HeaderIntent)
	var refusal *props.HTTPError
	switch intent {
	case props.IntentCreate:
		o.owners[t.ID] = identity.AccountID
	case props.IntentUse:
		refusal = o.verdict(t.ID, identity)
		if refusal == nil && r.Method == http.MethodDelete {
			o.owners[t.ID] = "ended"
		}
	}
	o.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case identityErr != nil:
		return nil, identityErr
	case reply != nil:
		return reply(ctx)
	case refusal != nil:
		w := httptest.NewRecorder()
		refusal.WriteTo(w)
		return w.Result(), nil
	case strings.Contains(string(body), `"notifications/`):
		return response(http.StatusAccepted, "", strings.NewReader("")), nil
	}
	event := "event: message\ndata: {\"intent\":\"" + intent + "\"}\n\n"
	return response(http.StatusOK, "text/event-stream", strings.NewReader(event)), nil
}

// set changes the objects' behavior.
func (o *objects) set(f func(o *objects)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(o)
}

// members makes every account a member of "org_1" but "user_none".
type members struct{}

func (members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	switch {
	case account == "user_directory_down":
		return directory.Membership{}, fmt.Errorf("%w: test", directory.ErrUnavailable)
	case account == "user_none" || organization != "org_1":
		return directory.Membership{}, directory.ErrNotMember
	}
	return directory.Membership{AccountID: account, OrganizationID: organization, OrganizationName: "One"}, nil
}

// fixture is the endpoint behind the ingress, with an issuer and objects of the test.
type fixture struct {
	t       *testing.T
	issuer  *authtest.Issuer
	objects *objects
	url     string
	ids     objectid.Namespace
	client  *http.Client
	drain   context.CancelFunc
	handler http.Handler
	// noPage is why there is no approval page, if so.
	noPage *props.HTTPError
}

// approvalPage is the worker's.
const approvalPage = "https://worker.example/approve/"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, issuer: authtest.NewIssuer(t), objects: &objects{owners: map[objectid.ID]string{}},
		ids: objectid.NewNamespace(props.NamespaceSession),
	}
	s := httptest.NewUnstartedServer(nil)
	f.url = "http://" + s.Listener.Addr().String() + "/mcp"
	gate, err := auth.NewGate(auth.Options{
		PublicURL: strings.TrimSuffix(f.url, "/mcp"), Issuer: f.issuer.URL, Members: members{},
	})
	if err != nil {
		t.Fatal(err)
	}
	lifetime, drain := context.WithCancel(t.Context())
	f.drain = drain
	f.handler = mcp.New(lifetime, mcp.Options{
		Gate: gate, Sessions: binding.NewNamespace(props.NamespaceSession, f.objects),
		Approvals: func(context.Context) (string, *props.HTTPError) { return approvalPage, f.noPage },
	})
	in, err := ingress.New(ingress.Options{Routes: []ingress.Route{{Path: "/mcp", Handler: f.handler}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = in
	s.Start()
	f.client = s.Client()
	t.Cleanup(func() { drain(); s.Close(); gate.Close() })
	return f
}

// request is one request of a test. Zero fields take what a good request has; "-" leaves a header out.
type request struct {
	method  string // POST
	query   string
	account string // user_1
	bearer  string // a good one of account
	accept  string // both types
	content string // application/json
	session string // none
	version string // none
	body    string
	header  http.Header
}

const (
	bodyInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"tester","version":"9.1"}}}`
	bodyList = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	bodyCall = `{"jsonrpc":"2.0","id":"call-3","method":"tools/call","params":{"name":"execute","arguments":{"code":"1"}}}`
)

// build returns the HTTP request.
func (f *fixture) build(ctx context.Context, q request) *http.Request {
	f.t.Helper()
	if q.method == "" {
		q.method = http.MethodPost
	}
	if q.account == "" {
		q.account = "user_1"
	}
	if q.bearer == "" {
		q.bearer = f.issuer.Token(f.t, f.url, map[string]any{"sub": q.account})
	}
	r, err := http.NewRequestWithContext(ctx, q.method, f.url+q.query, strings.NewReader(q.body))
	if err != nil {
		f.t.Fatal(err)
	}
	for name, v := range map[string]struct{ given, usual string }{
		"Authorization": {q.bearer, ""}, "Accept": {q.accept, "application/json, text/event-stream"},
		"Content-Type": {q.content, "application/json"}, "Mcp-Session-Id": {q.session, "-"},
		"Mcp-Protocol-Version": {q.version, "-"},
	} {
		value := v.given
		if value == "" {
			value = v.usual
		}
		if name == "Authorization" && value != "-" && !strings.Contains(value, " ") {
			value = "Bearer " + value
		}
		if value != "-" {
			r.Header.Set(name, value)
		}
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	return r
}

// reply is a response read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func (f *fixture) do(q request) reply {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	resp, err := f.client.Do(f.build(ctx, q))
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// session makes a session of user_1.
func (f *fixture) session() string {
	f.t.Helper()
	got := f.do(request{body: bodyInitialize})
	id := got.header.Get("Mcp-Session-Id")
	if got.status != 200 || len(id) != 64 {
		f.t.Fatalf("initialize: got %d %q %s", got.status, id, got.body)
	}
	return id
}
