package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSourcesAdd(t *testing.T) {
	t.Parallel()
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Header.Get("Authorization") + " " + string(body)
		_, _ = io.WriteString(w, `{"name":"x","kind":"mcp"}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"TANDEM_TOKEN=tok", "TANDEM_URL=" + server.URL, "SECRET=s3cret"}
	for _, tc := range []struct {
		name string
		args string
		want string
	}{
		{"MCP", "--mcp https://x.example", `{"name":"x","kind":"mcp","url":"https://x.example","enabled":true}`},
		{"bearer", "--mcp https://x.example --bearer-env SECRET",
			`"auth":{"kind":"bearer","secret":"s3cret"},"enabled":true`},
		{"bearer of a file", "--mcp https://x.example --bearer-file " + file, `"auth":{"kind":"bearer","secret":"{}"}`},
		{"header", "--openapi https://x.example --header-env X-Key=SECRET --disabled",
			`"auth":{"kind":"header","header":"X-Key","secret":"s3cret"},"enabled":false`},
		{"header of a file", "--openapi https://x.example --header-file X-Key=" + file,
			`"auth":{"kind":"header","header":"X-Key","secret":"{}"}`},
		{"document", "--base-url https://x.example --openapi " + file,
			`"kind":"openapi","baseUrl":"https://x.example","document":"{}\n"`},
	} {
		got = ""
		r := command(t, env, append([]string{"sources", "add", "x"}, strings.Fields(tc.args)...)...)
		if r.code != 0 || !strings.HasPrefix(got, "Bearer tok {") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: code %d, %s, sent %s", tc.name, r.code, r.stderr, got)
		}
		if strings.Contains(r.stdout+r.stderr, "s3cret") {
			t.Errorf("%s: the secret is printed", tc.name)
		}
	}
	for _, tc := range []struct {
		name string
		env  []string
		args string
		want string
	}{
		{"no token", nil, "add x --mcp https://x.example", "a token is needed"},
		{"neither", env, "add x", "--mcp or --openapi"},
		{"both", env, "add x --mcp https://x.example --openapi " + file, "one of them"},
		{"no file", env, "add x --openapi " + file + "x", "no such file"},
		{"two credentials", env, "add x --mcp https://x.example --bearer-env SECRET --oauth", "give one of"},
		{"OAuth for an API", env, "add x --openapi https://x.example --oauth", "goes with --mcp"},
		{"header without a name", env, "add x --mcp https://x.example --header-env SECRET", "must be HEADER="},
		{"empty variable", env, "add x --mcp https://x.example --bearer-env NONE", "NONE holds no secret"},
		{"nothing to change", env, "update x", "nothing to change"},
		{"two states", env, "update x --enable --disable", "exclude each other"},
		{"no name", env, "show", "a source's name or ID"},
		{"bad URL", append([]string{"TANDEM_URL=x"}, env...), "list", "origin such as"},
	} {
		r := command(t, tc.env, append([]string{"sources"}, strings.Fields(tc.args)...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%s: code %d, %s", tc.name, r.code, r.stderr)
		}
	}
}
