package openapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/egress"
)

const maxCompiled = 5

// one is a document with one operation, called one, without parameters.
const one = `{"openapi":"3.1.0","paths":{"/one":{"get":{"operationId":"one"}}}}`

const secret = "hush-\"/+ hush" // differs in each form in which it is sent

// serve returns a source whose one tool is answered by a handler.
func serve(t *testing.T, handler http.HandlerFunc, o Options) *Source {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.HTTP = egress.NewClient(egress.Options{AllowPrivate: true})
	t.Cleanup(o.HTTP.CloseIdleConnections)
	o.BaseURL = server.URL
	source, err := New([]byte(one), o)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func failureOf(t *testing.T, err error) *upstream.Error {
	t.Helper()
	worded, ok := errors.AsType[*upstream.Error](err)
	if !ok {
		t.Fatalf("%T (%v), want *upstream.Error", err, err)
	}
	return worded
}

func TestResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		want, code              string
	}{
		{"json", "application/json", `{"a": [1, 2.50]}`, 200, `{"a": [1, 2.50]}`, ""},
		{"json with parameters", "application/vnd.x+json; charset=utf-8", `[]`, 201, `[]`, ""},
		{"json of no type", "", `{"a":1}`, 200, `{"a":1}`, ""},
		{"nothing", "application/json", "", 200, "null", ""},
		{"no content", "", "", 204, "null", ""},
		{"text", "text/plain; charset=utf-8", "hé", 200, `{"text":"hé"}`, ""},
		{"not the json it says", "application/json", "<p>", 200, `{"text":"\u003cp\u003e"}`, ""},
		{"json of bad text", "application/json", "\"\xff\"", 200, `{"base64":"Iv8i","contentType":"application/json"}`, ""},
		{"binary", "image/png", "\x89PNG\x00", 200, `{"base64":"iVBORwA=","contentType":"image/png"}`, ""},
		{"large", "application/json", `"` + strings.Repeat("x", upstream.MaxResultBytes) + `"`, 200, "", upstream.CodeTooLarge},
		{"large as base64", "x/y", strings.Repeat("\xff", upstream.MaxResultBytes-9), 200, "", upstream.CodeTooLarge},
		{"not found", "application/json", `{"why":"gone"}`, 404, `{"status":404,"body":{"why":"gone"}}`, upstream.CodeFailed},
		{"unauthorized", "", "", 401, `{"status":401}`, upstream.CodeUnauthorized},
		{"forbidden", "text/plain", "no", 403, `{"status":403,"body":{"text":"no"}}`, upstream.CodeFailed},
		{"not modified", "", "", 304, `{"status":304}`, upstream.CodeFailed},
		{"retry", "", "", 429, `{"status":429,"retryAfter":"7"}`, upstream.CodeFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			source := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				if c.status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "7")
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}, Options{})
			result, err := source.Call(t.Context(), "one", nil)
			if c.code != "" {
				worded := failureOf(t, err)
				if worded.Code != c.code || string(worded.Details) != c.want {
					t.Errorf("got %s %s, want %s %s", worded.Code, worded.Details, c.code, c.want)
				}
				return
			}
			if err != nil || string(result) != c.want {
				t.Errorf("got %s, %v; want %s", result, err, c.want)
			}
		})
	}
}

// A long error is cut, and says so.
func TestLongFailure(t *testing.T) {
	t.Parallel()
	source := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `"`+strings.Repeat("é", 1<<20)+`"`)
	}, Options{})
	_, err := source.Call(t.Context(), "one", nil)
	var details struct {
		Cut  bool
		Body struct{ Text string }
	}
	if err := json.Unmarshal(failureOf(t, err).Details, &details); err != nil {
		t.Fatal(err)
	}
	if !details.Cut || len(details.Body.Text) > maxErrorBodyBytes || len(details.Body.Text) < maxErrorBodyBytes-4 {
		t.Errorf("cut %t, %d bytes", details.Cut, len(details.Body.Text))
	}
}

// auths are credentials of each scheme with the same secret.
func auths() map[string]Auth {
	key := url.QueryEscape(secret) // without what a cookie or header cannot hold
	return map[string]Auth{
		"bearer": {Scheme: SchemeBearer, Secret: secret},
		"basic":  {Scheme: SchemeBasic, User: "me", Secret: secret},
		"header": {Scheme: SchemeAPIKey, In: "header", Name: "X-Key", Secret: secret},
		"query":  {Scheme: SchemeAPIKey, In: "query", Name: "key", Secret: secret},
		"cookie": {Scheme: SchemeAPIKey, In: "cookie", Name: "sid", Secret: key},
	}
}

// forms are all the ways in which a secret may show.
func forms(a Auth) []string {
	quoted, _ := json.Marshal(a.Secret)
	return []string{
		a.Secret, url.QueryEscape(a.Secret), url.PathEscape(a.Secret), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(a.User + ":" + a.Secret)),
	}
}

func wantNoSecret(t *testing.T, a Auth, where string, what ...any) {
	t.Helper()
	for _, w := range what {
		for _, form := range forms(a) {
			if text := fmt.Sprintf("%s %v %+v %#v", w, w, w, w); strings.Contains(text, form) {
				t.Errorf("%s shows the secret as %q: %.500s", where, form, text)
			}
		}
	}
}

// What a server echoes of a request holds no secret, whether it succeeds or fails; nor does the failure to reach it.
func TestSecretsAreNotEchoed(t *testing.T) {
	t.Parallel()
	for name, a := range auths() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := http.StatusOK
			var got string
			source := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = fmt.Sprint(r.Header, r.URL.Query())
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Retry-After", r.Header.Get("Authorization")+r.Header.Get("X-Key"))
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(map[string]any{"headers": r.Header, "url": r.RequestURI, "query": r.URL.Query()})
			}, Options{Auth: a})
			result, err := source.Call(t.Context(), "one", nil)
			if err != nil || !strings.Contains(string(result), "[secret]") {
				t.Errorf("result %s, %v", result, err)
			}
			if !strings.Contains(got, a.Secret) && !strings.Contains(got, forms(a)[4]) {
				t.Fatalf("the server did not get the secret: %s", got)
			}
			wantNoSecret(t, a, "result", string(result))
			for status = range map[int]bool{401: true, 500: true, 302: true} {
				_, err = source.Call(t.Context(), "one", nil)
				wantNoSecret(t, a, "failure", err.Error(), string(failureOf(t, err).Details))
			}
			source.server.Host = "127.0.0.1:1"
			source.operations["one"].server = source.server
			_, err = source.Call(t.Context(), "one", nil)
			wantNoSecret(t, a, "unreachable", err)
			if code := failureOf(t, err).Code; code != upstream.CodeUnavailable {
				t.Errorf("code %s", code)
			}
		})
	}
}

// A secret that lies across the end of what is kept of an error is found all the same.
func TestSecretAcrossTheCut(t *testing.T) {
	t.Parallel()
	a := Auth{Scheme: SchemeBearer, Secret: strings.Repeat("s3cr", 64)}
	source := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, strings.Repeat("-", maxErrorBodyBytes-20)+a.Secret+strings.Repeat("-", 1<<17))
	}, Options{Auth: a})
	_, err := source.Call(t.Context(), "one", nil)
	if details := string(failureOf(t, err).Details); strings.Contains(details, "s3cr") {
		t.Errorf("details end with %s", details[len(details)-60:])
	}
}

func TestAuthPrintsNoSecret(t *testing.T) {
	t.Parallel()
	for name, a := range auths() {
		marshalled, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "auth", a, "options", Options{Auth: a})
		wantNoSecret(t, a, name, a, Options{Auth: a}, &a, string(marshalled), log.String())
	}
}

func TestBadAuth(t *testing.T) {
	t.Parallel()
	for _, a := range []Auth{
		{Secret: secret}, {Scheme: SchemeBearer}, {Scheme: SchemeAPIKey, In: "header", Name: "X"},
		{Scheme: SchemeBearer, Secret: secret + "\r\nX: 1"}, {Scheme: SchemeBasic, User: "a:b", Secret: secret},
		{Scheme: SchemeAPIKey, In: "header", Name: "X Y", Secret: secret},
		{Scheme: SchemeAPIKey, In: "cookie", Name: "a", Secret: "hush; hush"},
		{Scheme: SchemeBearer, Secret: strings.Repeat("x", maxSecretBytes+1)},
	} {
		_, err := New([]byte(one), Options{HTTP: http.DefaultClient, Auth: a})
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v: %v", a, err)
		}
	}
}

// A redirect of an API to another origin carries no credentials.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	var got http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, `"there"`)
	}))
	defer other.Close()
	for _, a := range auths() {
		source := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusFound)
		}, Options{Auth: a})
		result, err := source.Call(t.Context(), "one", nil)
		if err != nil {
			t.Fatal(err)
		}
		wantNoSecret(t, a, string(result), fmt.Sprint(got))
	}
}

// stuck never answers.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, err := New([]byte(one), Options{HTTP: &http.Client{Transport: stuck{}}, BaseURL: "http://x.example"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = source.Call(t.Context(), "one", nil)
		worded := failureOf(t, err)
		if worded.Code != upstream.CodeUnavailable || !strings.Contains(worded.Message, "in time") {
			t.Errorf("%s: %s", worded.Code, worded.Message)
		}
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestFetch(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/v1/api.json?key=2", http.StatusFound)
		case "/v1/api.json":
			_, _ = io.WriteString(w, one)
		case "/large":
			_, _ = w.Write(make([]byte, MaxDocumentBytes+1))
		case "/secret":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	c := egress.NewClient(egress.Options{AllowPrivate: true})
	defer c.CloseIdleConnections()
	document, err := Fetch(t.Context(), c, server.URL+"/moved?key=hush")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Document{[]byte(one), server.URL + "/v1/api.json?key=2"}, document); diff != "" {
		t.Error(diff)
	}
	source, err := New(document.Content, Options{HTTP: c, DocumentURL: document.URL})
	if err != nil || source.Server() != server.URL {
		t.Errorf("server %s, %v", source.Server(), err)
	}
	for address, code := range map[string]string{
		server.URL + "/large?key=hush":  upstream.CodeTooLarge,
		server.URL + "/none?key=hush":   upstream.CodeFailed,
		server.URL + "/secret?key=hush": upstream.CodeUnauthorized,
		"http://127.0.0.1:1/?key=hush":  upstream.CodeUnavailable,
		"api.json?key=hush":             upstream.CodeFailed,
		"file:///etc/hush":              upstream.CodeRefused,
		"http://[::hush/":               upstream.CodeFailed,
	} {
		_, err := Fetch(t.Context(), c, address)
		if worded := failureOf(t, err); worded.Code != code || strings.Contains(worded.Message, "hush") {
			t.Errorf("%s: %s, %s", address, worded.Code, worded.Message)
		}
	}
}

// Every address that is not public is refused without the flag, with an error that names it.
func TestRefusedAddress(t *testing.T) {
	t.Parallel()
	c := egress.NewClient(egress.Options{})
	source, err := New([]byte(one), Options{HTTP: c, BaseURL: "http://169.254.169.254/latest"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = source.Call(t.Context(), "one", nil)
	worded := failureOf(t, err)
	if worded.Code != upstream.CodeRefused || !strings.Contains(worded.Message, "--allow-private-sources") {
		t.Errorf("%s: %s", worded.Code, worded.Message)
	}
}

// Both documents of testdata have tools whose schemas a validator takes and judges rightly.
func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"petstore.yaml", "forge.json"} {
		document, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		source, err := New(document, Options{HTTP: http.DefaultClient, BaseURL: "https://x.example"})
		if err != nil {
			t.Fatal(err)
		}
		checkTools(t, source)
	}
}

// compile checks that a validator takes a schema.
func compile(schema json.RawMessage) error {
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return fmt.Errorf("it is not JSON Schema: %w", err)
	}
	if _, err := parsed.Resolve(nil); err != nil {
		return fmt.Errorf("it is not JSON Schema: %w", err)
	}
	return nil
}

// checkTools checks what New promises of its tools.
//
// It compiles the schemas of the first few only, since that may take long.
func checkTools(t *testing.T, source *Source) {
	t.Helper()
	tools, err := source.Tools(t.Context())
	if err != nil || len(tools) == 0 || len(tools) > upstream.MaxTools {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	names := map[string]bool{}
	for i, tool := range tools {
		if names[tool.Name] || tool.Name == "" || len(tool.Name) > maxNameBytes {
			t.Errorf("name %q", tool.Name)
		}
		names[tool.Name] = true
		if len(tool.Description) > upstream.MaxDescriptionBytes {
			t.Errorf("%s: a description of %d bytes", tool.Name, len(tool.Description))
		}
		for _, schema := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			if schema == nil {
				continue
			}
			if len(schema) > upstream.MaxSchemaBytes {
				t.Errorf("%s: a schema of %d bytes", tool.Name, len(schema))
			}
			if i > maxCompiled {
				continue
			}
			if err := compile(schema); err != nil {
				t.Errorf("%s: %v: %s", tool.Name, err, schema)
			}
		}
	}
}
