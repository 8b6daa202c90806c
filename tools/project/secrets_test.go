package project

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/runtime/bundle"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		more    string // keys of the configuration
		env     string
		files   map[string]string
		process map[string]string
		// want are the secrets, vars the names of what remains plain, warn what is said.
		want map[string]string
		vars []string
		warn string
	}{
		{name: "none", want: map[string]string{}},
		{name: ".dev.vars", files: map[string]string{".dev.vars": "A=1\nB='two'"}, want: map[string]string{"A": "1", "B": "two"}},
		{name: ".dev.vars before vars", more: `"vars": {"A": {"x": 1}, "B": "plain"}`, files: map[string]string{".dev.vars": "A=1"}, want: map[string]string{"A": "1"}, vars: []string{"B"}},
		{name: ".dev.vars excludes .env", files: map[string]string{".dev.vars": "A=1", ".env": "B=2"}, want: map[string]string{"A": "1"}},
		{name: ".dev.vars of the environment", env: "e", more: `"env": {"e": {}}`, files: map[string]string{".dev.vars": "A=1", ".dev.vars.e": "A=2"}, want: map[string]string{"A": "2"}},
		{name: ".dev.vars of no environment", env: "e", more: `"env": {"e": {}}`, files: map[string]string{".dev.vars": "A=1"}, want: map[string]string{"A": "1"}},
		{name: "later .env files come first", env: "e", more: `"env": {"e": {}}`, files: map[string]string{
			".env": "A=1\nB=1\nC=1\nD=1", ".env.local": "B=2\nC=2\nD=2", ".env.e": "C=3\nD=3", ".env.e.local": "D=4",
		}, want: map[string]string{"A": "1", "B": "2", "C": "3", "D": "4"}},
		{name: "no .env", process: map[string]string{"CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV": "false"}, files: map[string]string{".env": "A=1"}, want: map[string]string{}},
		{name: "references", files: map[string]string{".env": "B=b${C:-c}\nA=${B}/x$B\\$B\nD=$E\nE=e$D\nF=${B:+yes}${C:+no}\nG=${X:-${B}}\nH=$H"},
			want: map[string]string{"A": "bc/xbc$B", "B": "bc", "D": "", "E": "e", "F": "yes", "G": "bc", "H": ""}},
		{name: "no references in .dev.vars", files: map[string]string{".dev.vars": "A=$B"}, want: map[string]string{"A": "$B"}},
		{name: "the process's environment is not taken", process: map[string]string{"X": "1"}, files: map[string]string{".env": "A=$X"}, want: map[string]string{"A": ""}},
		{name: "the process's environment is taken when asked for", process: map[string]string{"X": "1", "CLOUDFLARE_INCLUDE_PROCESS_ENV": "true"}, files: map[string]string{".env": "A=$X"},
			want: map[string]string{"A": "1", "X": "1", "CLOUDFLARE_INCLUDE_PROCESS_ENV": "true"}},
		{name: "declared", more: `"secrets": {"required": ["A", "B"]}, "vars": {"V": "v"}`, process: map[string]string{"B": "2", "X": "3"}, files: map[string]string{".env": "A=1\nV=w\nY=4"},
			want: map[string]string{"A": "1", "B": "2", "V": "w"}},
		{name: "declared and missing", more: `"secrets": {"required": ["A"]}`, want: map[string]string{},
			warn: "2:26: warning: the secret \"A\" has no value: put it in .dev.vars\n"},
		{name: "a binding's name", more: `"kv_namespaces": [{"binding": "A"}]`, files: map[string]string{".dev.vars": "A=1"}, want: map[string]string{},
			warn: "1:1: warning: the secret \"A\" is not used: kv_namespaces has a binding of that name\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"wrangler.jsonc": minimal(tc.more)}
			maps.Copy(files, tc.files)
			dir := write(t, files)
			p, err := Load(Options{Path: dir, Environment: tc.env, Process: tc.process})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, p.Secrets); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
			var vars []string
			for _, v := range p.Manifest.Vars {
				vars = append(vars, v.Name)
			}
			if !cmp.Equal(vars, tc.vars) {
				t.Errorf("vars %q, want %q", vars, tc.vars)
			}
			var warn strings.Builder
			for _, g := range p.Diagnostics {
				warn.WriteString(strings.TrimPrefix(g.String(), g.File+":") + "\n")
			}
			if warn.String() != tc.warn {
				t.Errorf("said %q, want %q", warn.String(), tc.warn)
			}
			for name := range tc.want {
				if !slices.Contains(p.Manifest.Secrets, name) {
					t.Errorf("the manifest does not name the secret %q: %q", name, p.Manifest.Secrets)
				}
			}
			for name := range tc.files {
				if !slices.Contains(p.Files, filepath.Join(dir, name)) && tc.env == "" && !strings.HasPrefix(name, ".env") {
					t.Errorf("file %s is not among those that decide", name)
				}
			}
		})
	}
}

// TestSecretsOfProduction holds that a bundle has names and no values.
func TestSecretsOfProduction(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"wrangler.jsonc": minimal(`"vars": {"V": "v"}, "secrets": {"required": ["A"]}, "kv_namespaces": [{"binding": "K", "id": "real", "preview_id": "preview"}]`),
		".dev.vars":      "A=1\nV=2\nW=3",
	})
	p, err := Load(Options{Path: dir, Production: true})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Manifest
	if len(p.Secrets) != 0 || !cmp.Equal(m.Secrets, []string{"A"}) || string(m.Vars[0].Value) != `"v"` || !cmp.Equal(m.KV, []bundle.KV{{Binding: "K", ID: "real"}}) {
		t.Errorf("secrets %q, manifest %+v", p.Secrets, m)
	}
}

func TestParseVars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"A=1\nB = 2 \n\n#C=3\n":                {"A": "1", "B": "2"},
		"export A=1\r\nB=2\rC=3":               {"A": "1", "B": "2", "C": "3"},
		"A=x # comment\nB=x#y\nC='a # b' # c":  {"A": "x", "B": "x", "C": "a # b"},
		`A="a\nb"` + "\n" + `B='a\nb'`:         {"A": "a\nb", "B": `a\nb`},
		"A=\"one\ntwo\"\nB=`it's \"three\"`":   {"A": "one\ntwo", "B": `it's "three"`},
		`A="say \"x\""`:                        {"A": `say \"x\"`},
		"A=\nB=''\nC":                          {"A": "", "B": ""},
		"A: 1\nB:2\na.b-c=3":                   {"A": "1", "a.b-c": "3"},
		"A='unfinished\nB=2":                   {"A": "'unfinished", "B": "2"},
		"A=1\nA=2":                             {"A": "2"},
		`A={"json": "x"}`:                      {"A": `{"json": "x"}`},
		"KEY='-----BEGIN\nx==\n-----END'\nB=1": {"KEY": "-----BEGIN\nx==\n-----END", "B": "1"},
	} {
		if diff := cmp.Diff(want, parseVars(text).values); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"wrangler.toml": "", "a/wrangler.jsonc": "", "a/b/c/x": "", "a/b/wrangler.toml": "", "other.toml": "", "a.txt": ""})
	for path, want := range map[string]string{
		"": "wrangler.toml", "a": "a/wrangler.jsonc", "a/b/c": "a/wrangler.jsonc", // the name counts more than the place
		"other.toml": "other.toml",
	} {
		got, err := Find(filepath.Join(dir, path))
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("Find(%q) is %q and %v, want %q", path, got, err, want)
		}
	}
	if _, err := Find(filepath.Join(dir, "a.txt")); err == nil || !strings.HasSuffix(err.Error(), "is neither a directory nor a .json, .jsonc or .toml file") {
		t.Errorf("error %v", err)
	}
	if _, err := Find(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := Find(t.TempDir()); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
