package sources_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/tools/sources"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// api is a fake of the worker's API with one source, which it notes the requests of.
type api struct {
	source props.Source
	tools  int
	// requests are "METHOD path body".
	requests []string
	refuse   int
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.requests = append(a.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	var out any = a.source
	switch {
	case r.Header.Get("Authorization") != "Bearer tok":
		w.WriteHeader(http.StatusUnauthorized)
		out = map[string]string{"message": "no"}
	case a.refuse != 0:
		w.WriteHeader(a.refuse)
		out = map[string]string{"message": "nobody is there\x1b]0;owned\a"}
	case r.URL.Path == "/api/sources" && r.Method == http.MethodGet:
		out = []props.Source{a.source}
	case strings.HasSuffix(r.URL.Path, "/tools"):
		var offset int
		_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &offset)
		page := props.SourceToolPage{Items: []props.SourceToolItem{}, Total: a.tools}
		for n := offset; n < min(a.tools, offset+500); n++ {
			page.Items = append(page.Items, props.SourceToolItem{Path: fmt.Sprintf("github.t%d", n), Description: "Does.\nMore."})
		}
		out = page
	case r.Method == http.MethodDelete:
		out = props.SourceRemoved{Removed: true}
	}
	_ = json.NewEncoder(w).Encode(out)
}

func newClient(t *testing.T, a *api, token string, asJSON bool) (*sources.Client, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(a)
	out := &bytes.Buffer{}
	c, err := sources.New(sources.Options{URL: server.URL, Token: token, JSON: asJSON, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	t.Cleanup(c.Close)
	return c, out
}

func newAPI() *api {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &api{tools: 3, source: props.Source{
		ID: "src_1", Name: "github", Kind: "mcp", URL: "https://x.example/mcp\x1b[31m", Auth: props.SourceAuth{Kind: "bearer"},
		Enabled: true, Tools: 3, Refresh: props.SourceRefresh{Status: "ok", At: &at}, CreatedAt: at, CreatedBy: "a",
	}}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	a := newAPI()
	c, out := newClient(t, a, "tok", false)
	off, ctx := false, t.Context()
	for _, tc := range []struct {
		name    string
		do      func() error
		request string
		want    string
	}{
		{"add", func() error {
			return c.Add(ctx, sources.Addition{
				Name: "github", Kind: "mcp", URL: "https://x.example/mcp", Enabled: true, Unverified: true,
				Auth: &sources.Auth{Kind: "bearer", Secret: "s3cret"},
			})
		}, `POST /api/sources?unverified=true {"name":"github","kind":"mcp","url":"https://x.example/mcp",` +
			`"auth":{"kind":"bearer","secret":"s3cret"},"enabled":true}`, "src_1"},
		{"list", func() error { return c.List(ctx) }, "GET /api/sources", "github  mcp   3      ok     https://x.example/mcp"},
		{"show", func() error { return c.Show(ctx, "src_1") }, "GET /api/sources", "2026-01-02T03:04:05Z"},
		{"update", func() error { return c.Update(ctx, "github", sources.Change{Enabled: &off}) },
			`PATCH /api/sources/src_1 {"enabled":false}`, "github"},
		{"refresh", func() error { return c.Refresh(ctx, "github") }, "POST /api/sources/src_1/refresh", "ok"},
		{"tools", func() error { return c.Tools(ctx, "github") },
			"GET /api/sources/src_1/tools?limit=500&offset=0", "tools.github.t2  Does.\n"},
		{"remove", func() error { return c.Remove(ctx, "github") }, "DELETE /api/sources/src_1", "removed github"},
	} {
		out.Reset()
		if err := tc.do(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if last := a.requests[len(a.requests)-1]; last != tc.request {
			t.Errorf("%s asked for %s", tc.name, last)
		}
		if got := out.String(); !strings.Contains(got, tc.want) || strings.ContainsAny(got, "\x1b") || strings.Contains(got, "s3cret") {
			t.Errorf("%s printed %q", tc.name, got)
		}
	}
}

func TestMachineReadable(t *testing.T) {
	t.Parallel()
	a := newAPI()
	a.tools = 1203
	c, out := newClient(t, a, "tok", true)
	if err := c.Tools(t.Context(), "github"); err != nil {
		t.Fatal(err)
	}
	var tool props.SourceToolItem
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &tool); err != nil || len(lines) != 1203 || tool.Path != "github.t1202" {
		t.Errorf("%d lines, %+v, %v", len(lines), tool, err)
	}
	out.Reset()
	var source props.Source
	if err := errors.Join(c.List(t.Context()), json.Unmarshal(out.Bytes(), &source)); err != nil || source.ID != "src_1" {
		t.Errorf("list = %s, %v", out, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	a := newAPI()
	c, _ := newClient(t, a, "tok", false)
	if err := c.Show(t.Context(), "gitlab"); err == nil || !strings.Contains(err.Error(), `no source "gitlab"`) {
		t.Errorf("unknown: %v", err)
	}
	a.source.Refresh = props.SourceRefresh{Status: "error", Message: "down\x1b[2J"}
	if err := c.Refresh(t.Context(), "github"); err == nil || err.Error() != "github could not be refreshed: down [2J" {
		t.Errorf("refresh: %v", err)
	}
	a.refuse = http.StatusBadGateway
	var refused *sources.APIError
	if err := c.Add(t.Context(), sources.Addition{}); !errors.As(err, &refused) || err.Error() != "nobody is there ]0;owned " {
		t.Errorf("add: %v", err)
	}
	wrong, _ := newClient(t, newAPI(), "other", false)
	if err := wrong.List(t.Context()); err == nil || !strings.Contains(err.Error(), "refused the token") {
		t.Errorf("token: %v", err)
	}
	if _, err := sources.New(sources.Options{URL: "localhost:8787"}); err == nil {
		t.Error("took a URL without a scheme")
	}
}

func TestReadSecret(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, file, stdin, want string }{
		{"file", file, "", "s3cret"},
		{"standard input", "-", "s3cret\n", "s3cret"},
		{"empty", "-", "\n", ""},
		{"no file", file + "x", "", ""},
		{"too long", "-", strings.Repeat("x", props.MaxSourceSecretBytes+1), ""},
	} {
		got, err := sources.ReadSecret(tc.file, strings.NewReader(tc.stdin))
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
	if shown := fmt.Sprintf("%v %+v %#v", sources.Auth{Secret: "s3cret"}, &sources.Auth{Secret: "s3cret"}, sources.Auth{Secret: "s3cret"}); strings.Contains(shown, "s3cret") {
		t.Errorf("credentials show: %s", shown)
	}
}
