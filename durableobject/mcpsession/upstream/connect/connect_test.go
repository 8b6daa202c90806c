package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream"
	"github.com/tandem-do/tandem/durableobject/mcpsession/upstream/connect"
	"github.com/tandem-do/tandem/proto/props"
)

const token = "tok-0123456789-secret"

func newConnector(t *testing.T, allow bool) *connect.Connector {
	t.Helper()
	c := connect.New(connect.Options{AllowPrivate: allow})
	t.Cleanup(c.Close)
	return c
}

// only lets requests with a header through.
func only(header, value string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != value {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func mcpServer(t *testing.T, header, value string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	type in struct {
		Title string `json:"title"`
	}
	type out struct {
		Made string `json:"made"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "create-issue", Description: "Opens an issue."},
		func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, out, error) {
			return nil, out{in.Title}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	s := httptest.NewServer(only(header, value, handler))
	t.Cleanup(s.Close)
	return s.URL
}

func TestMCP(t *testing.T) {
	t.Parallel()
	c := newConnector(t, true)
	bearer := props.SourceCredentials{Kind: props.SourceAuthBearer, Secret: token}
	key := props.SourceCredentials{Kind: props.SourceAuthHeader, Header: "X-Key", Secret: token}
	spec := upstream.Spec{Kind: props.SourceMCP, URL: mcpServer(t, "Authorization", "Bearer "+token), Auth: bearer}
	for _, s := range []upstream.Spec{spec, {Kind: props.SourceMCP, URL: mcpServer(t, "X-Key", token), Auth: key}} {
		found, err := c.Inspect(t.Context(), s)
		if err != nil || len(found.Tools) != 1 || found.Tools[0].Name != "create-issue" || len(found.Tools[0].OutputSchema) == 0 {
			t.Fatalf("inspect = %+v, %v", found, err)
		}
		source, err := c.Connect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		result, err := source.Call(t.Context(), "create-issue", json.RawMessage(`{"title":"x"}`))
		if err != nil || !strings.Contains(string(result), `"made":"x"`) {
			t.Errorf("call = %s, %v", result, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
	spec.Auth.Secret = "wrong-" + token
	wantCode(t, upstream.CodeUnauthorized, func() error { _, err := c.Inspect(t.Context(), spec); return err })
	spec.Auth = props.SourceCredentials{Kind: props.SourceAuthOAuth, Secret: token}
	wantCode(t, upstream.CodeUnauthorized, func() error { _, err := c.Connect(t.Context(), spec); return err })
	spec.URL = "http://127.0.0.1:1/"
	spec.Auth = bearer
	wantCode(t, upstream.CodeUnavailable, func() error { _, err := c.Connect(t.Context(), spec); return err })
}

// wantCode checks the code of an error, and that it holds no secret.
func wantCode(t *testing.T, code string, do func() error) {
	t.Helper()
	var e *upstream.Error
	if err := do(); !errors.As(err, &e) || e.Code != code || strings.Contains(err.Error(), token) {
		t.Errorf("got %#v, want %s", err, code)
	}
}

const document = `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{
	"/pets/{id}":{"get":{"operationId":"getPet","summary":"Gets a pet.",
		"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
		"responses":{"200":{"description":"ok"}}}}}}`

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/openapi.json", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(document)) })
	mux.Handle("/pets/", only("X-Key", token, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"path":"` + r.URL.Path + `"}`))
	})))
	server := httptest.NewServer(mux)
	defer server.Close()
	c := newConnector(t, true)
	auth := props.SourceCredentials{Kind: props.SourceAuthHeader, Header: "X-Key", Secret: token}
	for _, s := range []upstream.Spec{
		{Kind: props.SourceOpenAPI, URL: server.URL + "/openapi.json", Auth: auth},
		{Kind: props.SourceOpenAPI, Document: []byte(document), BaseURL: server.URL, Auth: auth},
	} {
		found, err := c.Inspect(t.Context(), s)
		if err != nil || len(found.Tools) != 1 || found.Tools[0].Name != "getPet" || found.Server != server.URL ||
			string(found.Document) != document {
			t.Fatalf("inspect = %+v, %v", found, err)
		}
		s.Document = found.Document
		source, err := c.Connect(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		result, err := source.Call(t.Context(), "getPet", json.RawMessage(`{"id":"7"}`))
		if err != nil || string(result) != `{"path":"/pets/7"}` {
			t.Errorf("call = %s, %v", result, err)
		}
	}
	bad := upstream.Spec{Kind: props.SourceOpenAPI, Document: []byte("nonsense"), BaseURL: server.URL}
	wantCode(t, upstream.CodeFailed, func() error { _, err := c.Connect(t.Context(), bad); return err })
}

// Calls and credentials go to the server that an inspection names, where the document's own address redirects too.
func TestRedirectedDocument(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/openapi.json", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(document)) })
	mux.HandleFunc("/pets/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"key":"` + strings.ToUpper(r.Header.Get("X-Key")) + `"}`))
	})
	target := httptest.NewServer(mux)
	defer target.Close()
	var leaked atomic.Int32
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			leaked.Add(1)
		}
		http.Redirect(w, r, target.URL+"/v2/openapi.json?signature=hush", http.StatusFound)
	}))
	defer origin.Close()
	c := newConnector(t, true)
	s := upstream.Spec{
		Kind: props.SourceOpenAPI, URL: origin.URL + "/openapi.json",
		Auth: props.SourceCredentials{Kind: props.SourceAuthHeader, Header: "X-Key", Secret: token},
	}
	found, err := c.Inspect(t.Context(), s)
	if err != nil || found.Server != target.URL || found.DocumentURL != target.URL+"/v2/openapi.json" {
		t.Fatalf("inspect = %+v, %v", found, err)
	}
	s.Document, s.DocumentURL = found.Document, found.DocumentURL
	source, err := c.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	result, err := source.Call(t.Context(), "getPet", json.RawMessage(`{"id":"7"}`))
	if err != nil || !strings.Contains(string(result), strings.ToUpper(token)) || leaked.Load() != 0 {
		t.Errorf("call = %s, %v; the address of the document got the secret %d times", result, err, leaked.Load())
	}
}

// Without the flag neither kind reaches this machine, and the error names the flag.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	c := newConnector(t, false)
	for _, s := range []upstream.Spec{
		{Kind: props.SourceMCP, URL: mcpServer(t, "Accept", "x"), Auth: props.SourceCredentials{Kind: props.SourceAuthNone}},
		{Kind: props.SourceOpenAPI, URL: mcpServer(t, "Accept", "x"), Auth: props.SourceCredentials{Kind: props.SourceAuthNone}},
	} {
		_, err := c.Inspect(t.Context(), s)
		var e *upstream.Error
		if !errors.As(err, &e) || e.Code != upstream.CodeRefused || !strings.Contains(e.Message, "--allow-private-sources") {
			t.Errorf("%s: %#v", s, err)
		}
	}
}
