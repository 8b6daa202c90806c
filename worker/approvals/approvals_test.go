package approvals

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/objectid"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/proto/sidecar"
	"github.com/tandem-do/tandem/proto/v8value"
	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/worker/auth"
	"github.com/tandem-do/tandem/worker/auth/authtest"
	"github.com/tandem-do/tandem/worker/directory"
	"github.com/tandem-do/tandem/worker/websession"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

const (
	origin  = "http://127.0.0.1:8787"
	pauseID = "exec_01234567-89ab-8def-8123-000000000002"
	path    = Path + pauseID
)

type members struct{}

func (members) Organization(_ context.Context, account, organization string) (directory.Membership, error) {
	switch account {
	case "removed":
		return directory.Membership{}, directory.ErrNotMember
	case "unlucky":
		return directory.Membership{}, directory.ErrUnavailable
	}
	return directory.Membership{OrganizationName: "ACME <b>", Email: account + "@example.test"}, nil
}

// object is the execution's object: it records the calls and answers what the test says.
type object struct {
	sidecar.Caller
	target  sidecar.Target
	methods []string
	args    map[string]any
	view    props.PauseView
	err     error
}

func (o *object) Call(_ context.Context, t sidecar.Target, method string, args []byte) ([]byte, error) {
	o.target, o.args = t, nil
	o.methods = append(o.methods, method)
	if err := v8value.UnmarshalArguments(args, &o.args); err != nil {
		return nil, err
	}
	if o.err != nil {
		return nil, o.err
	}
	if method == props.MethodExecutionAnswer && o.view.Status == props.PausePending {
		o.view.Status, o.view.ByPage, o.view.Answer = props.PauseAnswered, true, o.args["action"].(string)
	}
	return v8value.Marshal(o.view)
}

// visit is a browser in which somebody is signed in, unless account is empty, at a worker whose object answers.
type visit struct {
	t       *testing.T
	handler *Handler
	object  *object
	cookie  *http.Cookie
}

func newVisit(t *testing.T, account string) *visit {
	t.Helper()
	iss := authtest.NewIssuer(t)
	iss.SetMetadata(map[string]any{"client_id_metadata_document_supported": true})
	gate, err := auth.NewGate(auth.Options{PublicURL: origin, Issuer: iss.URL, Members: members{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	sessions, err := websession.New(websession.Options{Gate: gate, PublicURL: origin})
	if err != nil {
		t.Fatal(err)
	}
	o := &object{view: props.PauseView{
		Status: props.PausePending, Tool: "mail.send", Arguments: []byte(`{"to":"ada@example.test","n":[1,2]}`),
		Pattern: "mail.*", PolicyOwner: props.OwnerOrganization, Client: "Some Client 2",
		Deadline: time.Now().Add(3 * time.Minute),
	}}
	h, err := New(Options{Sessions: sessions, Executions: binding.NewNamespace(props.NamespaceExecution, o)})
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{t: t, handler: h, object: o}
	if account != "" {
		v.signIn(iss, sessions, account)
	}
	return v
}

// signIn signs the account in, by the issuer.
func (v *visit) signIn(iss *authtest.Issuer, sessions *websession.Sessions, account string) {
	v.t.Helper()
	mux := http.NewServeMux()
	for _, r := range sessions.Routes() {
		mux.Handle(r.Path, r.Handler)
	}
	begun := httptest.NewRecorder()
	mux.ServeHTTP(begun, httptest.NewRequestWithContext(v.t.Context(), "GET", origin+sessions.SignInURL(path, false), nil))
	to, err := url.Parse(begun.Header().Get("Location"))
	if err != nil || begun.Code != http.StatusFound {
		v.t.Fatalf("sign-in: %d %s", begun.Code, begun.Body)
	}
	iss.ServeTokens(func(url.Values) (int, any) {
		return 200, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": iss.Token(v.t,
			to.Query().Get("client_id"), map[string]any{"sub": account, "nonce": to.Query().Get("nonce")})}
	})
	r := httptest.NewRequestWithContext(v.t.Context(), "GET", origin+"/auth/callback?"+
		url.Values{"state": {to.Query().Get("state")}, "code": {"c"}}.Encode(), nil)
	r.AddCookie(begun.Result().Cookies()[0])
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge > 0 {
			v.cookie = &http.Cookie{Name: c.Name, Value: c.Value}
		}
	}
	if account != "removed" && (v.cookie == nil || w.Header().Get("Location") != path) {
		v.t.Fatalf("callback: %d %s", w.Code, w.Body)
	}
}

func (v *visit) do(method, target string, form url.Values, header map[string]string) *httptest.ResponseRecorder {
	v.t.Helper()
	r := httptest.NewRequestWithContext(v.t.Context(), method, origin+target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for k, value := range header {
		r.Header.Set(k, value)
	}
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Frame-Options") != "DENY" {
		v.t.Errorf("%s %s: headers %v", method, target, w.Header())
	}
	return w
}

var ownPage = map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": origin}

// csrf returns the token of the form on the page.
func (v *visit) csrf() string {
	v.t.Helper()
	_, after, ok := strings.Cut(v.do("GET", path, nil, nil).Body.String(), `name="csrf" value="`)
	token, _, _ := strings.Cut(after, `"`)
	if !ok || token == "" {
		v.t.Fatal("there is no form")
	}
	return token
}

func TestShowsTheCall(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "ada")
	w := v.do("GET", path, nil, nil)
	body := html.UnescapeString(w.Body.String())
	for _, want := range []string{
		"mail.send", "\"to\": \"ada@example.test\",\n  \"n\": [\n    1,\n    2\n  ]", "mail.*", "a rule of your organization",
		"calls itself <strong>Some Client 2<", "ada@example.test", "ACME <b>", "3 min 0 s left", "Approve", "Decline",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if w.Code != 200 || strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	identity, err := props.DecodeIdentity(v.object.target.Props)
	if err != nil || identity.AccountID != "ada" || identity.OrganizationID != "org_1" || v.object.args["id"] != pauseID ||
		v.object.target.ID != objectid.NewNamespace(props.NamespaceExecution).FromName(pauseID[:len(pauseID)-1]+"0") {
		t.Errorf("asked %+v for %v, %v", v.object.target, v.object.args, err)
	}
	if w := v.do("HEAD", path, nil, nil); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{"accept": "Approved", "decline": "Declined"} {
		v := newVisit(t, "ada")
		form := url.Values{"csrf": {v.csrf()}, "action": {action}}
		for range 2 { // a double click does no harm
			w := v.do("POST", path, form, ownPage)
			if w.Code != http.StatusSeeOther || w.Header().Get("Location") != path || v.object.args["action"] != action {
				t.Fatalf("%s: %d %s, object got %v", action, w.Code, w.Body, v.object.args)
			}
		}
		if w := v.do("GET", path, nil, nil); w.Code != 200 || !strings.Contains(w.Body.String(), want) ||
			strings.Contains(w.Body.String(), `name="action"`) {
			t.Errorf("after %s: %d %s", action, w.Code, w.Body)
		}
	}
}

// No answer reaches the object but that of the form on the page of the same session.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "ada")
	csrf, other := v.csrf(), newVisit(t, "eve").csrf()
	for _, tc := range []struct {
		name   string
		form   url.Values
		header map[string]string
		status int
	}{
		{"another site", url.Values{"csrf": {csrf}, "action": {"accept"}},
			map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403},
		{"another port", url.Values{"csrf": {csrf}, "action": {"accept"}},
			map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9"}, 403},
		{"no origin", url.Values{"csrf": {csrf}, "action": {"accept"}}, nil, 403},
		{"no token", url.Values{"action": {"accept"}}, ownPage, 403},
		{"another session's token", url.Values{"csrf": {other}, "action": {"accept"}}, ownPage, 403},
		{"no action", url.Values{"csrf": {csrf}}, ownPage, 400},
		{"another action", url.Values{"csrf": {csrf}, "action": {"cancel"}}, ownPage, 400},
	} {
		v.object.methods = nil
		if w := v.do("POST", path, tc.form, tc.header); w.Code != tc.status || len(v.object.methods) != 0 {
			t.Errorf("%s: got %d, object called with %v", tc.name, w.Code, v.object.methods)
		}
	}
	out := newVisit(t, "")
	if w := out.do("POST", path, url.Values{"action": {"accept"}}, ownPage); w.Code != 401 || len(out.object.methods) != 0 ||
		!strings.Contains(w.Body.String(), "/auth/signin?return=") {
		t.Errorf("signed out: %d %s", w.Code, w.Body)
	}
	if w := v.do("GET", path+"?action=accept&csrf="+csrf, nil, nil); w.Code != 200 || v.object.view.Status != props.PausePending {
		t.Errorf("a GET answered: %d, %+v", w.Code, v.object.view)
	}
}

func TestOtherViews(t *testing.T) {
	t.Parallel()
	secret := "mail.send"
	for _, tc := range []struct {
		name, account, path string
		view                props.PauseView
		err                 error
		status              int
		want                string
		shows               bool // the call
	}{
		{name: "signed out", path: path, status: 302},
		{name: "another's", account: "eve", view: props.PauseView{Status: props.PauseForbidden, Tool: secret},
			status: 403, want: "another account or organization"},
		{name: "no member any more", account: "removed", status: 302},
		{name: "directory away", account: "unlucky", status: 503, want: "try again"},
		{name: "expired", account: "ada", view: props.PauseView{Status: props.PauseExpired, Tool: secret},
			status: 410, want: "Too late", shows: true},
		{name: "unknown", account: "ada", view: props.PauseView{Status: props.PauseUnknown}, status: 404, want: "No such call"},
		{name: "no id", account: "", path: Path + "exec_1", status: 404, want: "No such call"},
		{name: "withdrawn", account: "ada", view: props.PauseView{Status: props.PauseAnswered, Tool: secret, Answer: "decline"},
			status: 200, want: "Withdrawn", shows: true},
		{name: "answered before", account: "ada", view: props.PauseView{Status: props.PauseAnswered}, status: 200,
			want: "answered before"},
		{name: "host away", account: "ada", err: &sidecar.Error{Reason: sidecar.ReasonDisconnected, Message: "leak"},
			status: 503, want: "try again"},
		{name: "defect", account: "ada", err: &sidecar.Error{Reason: sidecar.ReasonException, Message: "leak"},
			status: 500, want: "fault of the worker"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := newVisit(t, tc.account)
			v.object.view, v.object.err = tc.view, tc.err
			if tc.path == "" {
				tc.path = path
			}
			w := v.do("GET", tc.path, nil, nil)
			body := w.Body.String()
			if w.Code != tc.status || !strings.Contains(body, tc.want) || strings.Contains(body, secret) != tc.shows ||
				strings.Contains(body, "leak") || strings.Contains(body, `name="action"`) {
				t.Errorf("got %d %s, want %d with %q", w.Code, body, tc.status, tc.want)
			}
			if w.Code == 503 && w.Header().Get("Retry-After") == "" {
				t.Error("it does not say when to come again")
			}
		})
	}
	if w := newVisit(t, "ada").do("PUT", path, nil, ownPage); w.Code != 405 || w.Header().Get("Allow") == "" {
		t.Errorf("PUT: %d", w.Code)
	}
}

// What programs and clients send is text, whatever it looks like, and does not fill the page.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "ada")
	v.object.view.Tool = "a\u202eb<script>"
	v.object.view.Client = "<img src=x onerror=alert(1)>"
	v.object.view.Pattern = strings.Repeat("p", 5000)
	v.object.view.Arguments = []byte(`{"</pre><script>alert(1)</script>":"\u202e` + "\u200b\u00a0" + `"}`)
	body := v.do("GET", path, nil, nil).Body.String()
	for _, never := range []string{"<script", "<img", "\u202e", "\u200b", "\u00a0", strings.Repeat("p", 301)} {
		if strings.Contains(body, never) {
			t.Errorf("the page has %q", never)
		}
	}
	for _, want := range []string{`\u202e`, `\u200b\u00a0`, "&lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	long, err := json.Marshal(map[string]string{"a": strings.Repeat("x", 100<<10), "z": "the end"})
	if err != nil {
		t.Fatal(err)
	}
	v.object.view.Arguments = long
	body = v.do("GET", path, nil, nil).Body.String()
	if len(body) > 40<<10 || !strings.Contains(body, "This is not all") || !strings.Contains(body, path+"?all") ||
		strings.Contains(body, "the end") {
		t.Errorf("a page of %d bytes", len(body))
	}
	body = v.do("GET", path+"?all", nil, nil).Body.String()
	if strings.Contains(body, "This is not all") || !strings.Contains(body, "the end") {
		t.Errorf("not all is shown in %d bytes", len(body))
	}
}

func TestIndent(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":[`, 20000) + strings.Repeat(`]}`, 20000)
	for _, tc := range []struct {
		name, in string
		limit    int
		want     string
		cut      bool
	}{
		{"object", `{"a":1,"b":[true,null,"x\ty"],"c":{},"d":[]}`, 1000,
			"{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null,\n    \"x\\ty\"\n  ],\n  \"c\": {},\n  \"d\": []\n}", false},
		{"number", `12345678901234567890.5`, 100, "12345678901234567890.5", false},
		{"markup", `"<&>"`, 100, `"<&>"`, false},
		{"not JSON", `{"a":`, 100, `{"a":`, false},
		{"two values", `1 2`, 100, `1 2`, false},
		{"control", "{\x00", 100, `{\u0000`, false},
		{"no shape", "\u3164\u115f\ufe0f\U000e0100\u034f\u2800\u180b\uffa0", 100,
			`\u3164\u115f\ufe0f\u{e0100}\u034f\u2800\u180b\uffa0`, false},
		{"many blanks", `{"a b":"x` + strings.Repeat(" ", 16) + "y" + strings.Repeat(" ", 17) + `z"}`, 1000,
			"{\n  \"a b\": \"x" + strings.Repeat(" ", 16) + "y" + strings.Repeat(`\u0020`, 17) + "z\"\n}", false},
		{"letters and marks", "\u00e9e\u0301\u0939\u093f\ud55c", 100, "\u00e9e\u0301\u0939\u093f\ud55c", false},
		{"beyond the plane", "\U000e0041", 100, `\u{e0041}`, false},
		{"cut", `"abcdef"`, 3, `"ab`, true},
		{"just fits", `"ab"`, 4, `"ab"`, false},
	} {
		if got, cut := indent([]byte(tc.in), tc.limit); got != tc.want || cut != tc.cut {
			t.Errorf("%s: got %q, cut %v; want %q", tc.name, got, cut, tc.want)
		}
	}
	if got, cut := indent([]byte(deep), allBytes); !cut || len(got) > allBytes+16 {
		t.Errorf("deep: %d bytes, cut %v", len(got), cut)
	}
}

// What is shown of well-formed JSON is that JSON, laid out: nothing is dropped, nothing is added.
func FuzzIndent(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\u202e"}],"":null}`)
	f.Add(`[[],{},"",0]`)
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) || len(in) > 4096 {
			return
		}
		got, cut := indent([]byte(in), allBytes)
		if cut {
			return
		}
		var want, shown any
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			return // a number that is too large for float64
		}
		if strings.Contains(got, `\u{`) {
			return // JSON has no such escape
		}
		if err := json.Unmarshal([]byte(got), &shown); err != nil {
			t.Fatalf("%q is shown as %q: %v", in, got, err)
		}
		a, errA := json.Marshal(want)
		b, errB := json.Marshal(shown)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%q is shown as %q", in, got)
		}
	})
}
