package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// writeProject writes a project of a configuration and a script.
func writeProject(t *testing.T, configuration, script string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"wrangler.jsonc": configuration, "index.ts": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	goodConfiguration = `{"name": "shop", "main": "index.ts", "compatibility_date": "2026-04-01", "account_id": "x",
		"vars": {"A": "top"}, "triggers": {"crons": ["* * * * *"]}, "env": {"eu": {"vars": {"A": "eu"}}}}`
	goodScript = `export default { fetch(): Response { return new Response("hello") } }`
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := writeProject(t, goodConfiguration, goodScript)
	if r := command(t, nil, "check", dir); r.code != exitOK || !strings.HasPrefix(r.stdout, "shop: index.ts is well: ") ||
		!strings.Contains(r.stdout, "schedules: 1") || !strings.Contains(r.stderr, `note: "account_id" is ignored`) {
		t.Errorf("check: %+v", r)
	}
	if r := command(t, nil, "check", dir, "--quiet"); r.code != exitOK || r.stderr != "" {
		t.Errorf("check --quiet: %+v", r)
	}
	if r := command(t, []string{"CLOUDFLARE_ENV=eu"}, "check", dir); r.code != exitOK || !strings.HasPrefix(r.stdout, "shop-eu: ") {
		t.Errorf("check with an environment: %+v", r)
	}
	if r := command(t, nil, "check", dir, "-e", "us"); r.code != exitProject || !strings.Contains(r.stderr, `there is no environment "us"; there are eu`) {
		t.Errorf("check with another environment: %+v", r)
	}
}

func TestCheckFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, configuration, script, want string
		code                              int
	}{
		{"configuration", `{"main": "index.ts", "kv_namespace": []}`, goodScript, "    1 │ {\"main\": \"index.ts\", \"kv_namespace\": []}\n      │                      ^~~~~~~~~~~~~~", exitProject},
		{"script", goodConfiguration, "export default {", "index.ts:1:16:\n      1 │ export default {", exitProject},
		{"class", `{"main": "index.ts", "compatibility_date": "2026-04-01", "durable_objects": {"bindings": [{"name": "R", "class_name": "Room"}]}}`, goodScript,
			`the configuration names the Durable Object class "Room", which index.ts does not export`, exitProject},
		{"command", `{"main": "index.ts", "compatibility_date": "2026-04-01", "build": {"command": "echo said; exit 3"}}`, goodScript,
			`the custom build "echo said; exit 3" failed: exit status 3`, exitProject},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := command(t, nil, "check", writeProject(t, test.configuration, test.script))
			if r.code != test.code || !strings.Contains(r.stderr, test.want) {
				t.Errorf("exit %d, stderr\n%s\nwant %d and\n%s", r.code, r.stderr, test.code, test.want)
			}
		})
	}
	if r := command(t, nil, "check", t.TempDir()); r.code != exitFailure || !strings.Contains(r.stderr, "no wrangler.json, wrangler.jsonc or wrangler.toml") {
		t.Errorf("check of nothing: %+v", r)
	}
	if r := command(t, nil, "build", "a", "b"); r.code != exitUsage {
		t.Errorf("build of two: %+v", r)
	}
}

func TestCheckSeveral(t *testing.T) {
	t.Parallel()
	good := writeProject(t, goodConfiguration, goodScript)
	other := writeProject(t, strings.Replace(strings.Replace(goodConfiguration, `"shop"`, `"api"`, 1), `"account_id": "x"`,
		`"services": [{"binding": "S", "service": "shopp"}]`, 1), goodScript)
	if r := command(t, nil, "check", good, other); r.code != exitOK || strings.Count(r.stdout, " is well: ") != 2 ||
		!strings.Contains(r.stderr, `warning: the service S is the Worker "shopp", which is not here; did you mean "shop"?`) {
		t.Errorf("check of two: %+v", r)
	}
	if r := command(t, nil, "check", good, writeProject(t, goodConfiguration, goodScript)); r.code != exitProject || !strings.Contains(r.stderr, `error: the Worker is named "shop"`) {
		t.Errorf("check of one twice: %+v", r)
	}
	bad := writeProject(t, goodConfiguration, "export default {")
	if r := command(t, nil, "check", bad, other); r.code != exitProject || !strings.Contains(r.stdout, "api: index.ts is well") {
		t.Errorf("check of a bad and a good one: %+v", r)
	}
}

func TestBuildBundle(t *testing.T) {
	t.Parallel()
	dir := writeProject(t, goodConfiguration, goodScript)
	if err := os.WriteFile(filepath.Join(dir, ".dev.vars"), []byte("TOKEN=hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(dir, "a.bundle"), filepath.Join(dir, "b.bundle")
	for _, path := range []string{first, second} {
		if r := command(t, nil, "build", dir, "-o", path); r.code != exitOK || !strings.HasPrefix(r.stdout, path+" ") {
			t.Fatalf("build: %+v", r)
		}
	}
	b, err := bundle.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bundle.Open(second)
	if err != nil {
		t.Fatal(err)
	}
	m := b.Manifest()
	if b.Hash() != again.Hash() || m.Name != "shop" || m.Main != "index.ts" || len(m.Exports) != 1 || len(m.Secrets) != 0 {
		t.Errorf("bundle %s and %s: %+v", b.Hash(), again.Hash(), m)
	}
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || strings.Contains(string(b.Code()), dir) {
		t.Error("the bundle holds a secret or the project's place")
	}
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	dir := writeProject(t, strings.Replace(goodConfiguration, `"shop"`, `"<WORKER_NAME>"`, 1), "")
	for name, text := range map[string]string{"wrangler.a.jsonc": `{"main": "a.js", "containers": []}`, "wrangler.b.json": `{"pages_build_output_dir": "x"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := command(t, nil, "check", "--survey", dir)
	if r.code != exitOK || !strings.HasPrefix(r.stdout, "1 of 2 Worker configurations load; 1 are of Pages projects.\n\nRefused, by key:\n    1  containers\n") {
		t.Errorf("survey: %+v", r)
	}
}
