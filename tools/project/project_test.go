package project

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
)

// write writes files into a new directory.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// messages loads a configuration and returns what is said of it, one a line, without notes: line:column: severity:
// message.
func messages(t testing.TB, name, text, environment string) (*Project, string) {
	t.Helper()
	dir := write(t, map[string]string{name: text})
	p, err := Load(Options{Path: filepath.Join(dir, name), Environment: environment})
	var all []Diagnostic
	if failed, ok := errors.AsType[*Error](err); ok {
		all = failed.Diagnostics
	} else if err != nil {
		t.Fatal(err)
	} else {
		all = p.Diagnostics
	}
	var b strings.Builder
	for _, g := range all {
		if g.Severity != SeverityNote {
			b.WriteString(strings.TrimPrefix(g.String(), g.File+":") + "\n")
		}
	}
	return p, b.String()
}

// minimal is a configuration that has all it needs, and then the keys of more.
func minimal(more string) string {
	return `{"name": "w", "main": "i.js", "compatibility_date": "2026-04-01",` + "\n" + more + "}"
}

const full = `{
	// comments, trailing commas and all
	"$schema": "node_modules/wrangler/config-schema.json",
	"name": "shop", /* here too */
	"main": "src/index.ts",
	"compatibility_date": "2026-04-01",
	"compatibility_flags": ["nodejs_compat", "enable_ctx_exports"],
	"account_id": "0", "routes": ["example.com/*"], "observability": {"enabled": true},
	"vars": {"TEXT": "x", "NUMBER": 1.5, "LIST": [1, {"a": null}], "YES": true},
	"kv_namespaces": [{"binding": "CACHE", "id": "abc"}, {"binding": "NEW"}, {"binding": "P", "id": "a", "preview_id": "b"}],
	"durable_objects": {"bindings": [
		{"name": "ROOM", "class_name": "Room"}, {"name": "OTHER", "class_name": "Far", "script_name": "far", "environment": "eu"}
	]},
	"migrations": [
		{"tag": "v1", "new_classes": ["Old", "Gone"], "new_sqlite_classes": ["Sql"]},
		{"tag": "v2", "renamed_classes": [{"from": "Old", "to": "Room"}], "deleted_classes": ["Gone"]},
	],
	"services": [
		{"binding": "AUTH", "service": "auth", "entrypoint": "Api", "props": {"role": "x"}}, {"binding": "SELF", "service": "shop", "environment": "eu"}
	],
	"triggers": {"crons": ["*/5 * * * *", "0 0 LW * *"]},
	"rules": [{"type": "Text", "globs": ["**/*.md"], "fallthrough": true}],
	"define": {"VERSION": "\"1\""}, "alias": {"a": "./b"}, "tsconfig": "tsconfig.worker.json", "jsx_factory": "h", "jsx_fragment": "F",
	"base_dir": "src", "no_bundle": true, "keep_names": true,
	"build": {"command": "make", "cwd": "tool", "watch_dir": ["a", "b"]},
	"d1_databases": [{"binding": "DB", "database_name": "d"}],
	"queues": {"producers": [{"binding": "Q", "queue": "q"}]},
	"dev": {"port": 9000},
	"version_metadata": {"binding": "VERSION"},
}`

// fullTOML says the same.
const fullTOML = `
# comments
name = "shop"
main = "src/index.ts"
compatibility_date = "2026-04-01"
compatibility_flags = ["nodejs_compat", "enable_ctx_exports"]
account_id = "0"
routes = ["example.com/*"]
observability.enabled = true
tsconfig = "tsconfig.worker.json"
jsx_factory = "h"
jsx_fragment = 'F'
base_dir = "src"
no_bundle = true
keep_names = true
alias = { a = "./b" }
version_metadata.binding = "VERSION"
dev.port = 9_000
kv_namespaces = [
  { binding = "CACHE", id = "abc" },
  { binding = "NEW" }, # with a comment
  { binding = "P", id = "a", preview_id = "b" },
]

[vars]
TEXT = "x"
NUMBER = 1.5
LIST = [1, { a = 0 }]
YES = true

[durable_objects]
bindings = [{ name = "ROOM", class_name = "Room" }, { name = "OTHER", class_name = "Far", script_name = "far", environment = "eu" }]

[[migrations]]
tag = "v1"
new_classes = ["Old", "Gone"]
new_sqlite_classes = ["Sql"]
[[migrations]]
tag = "v2"
deleted_classes = ["Gone"]
[[migrations.renamed_classes]]
from = "Old"
to = "Room"

[[services]]
binding = "AUTH"
service = "auth"
entrypoint = "Api"
[services.props]
role = "x"
[[services]]
binding = "SELF"
service = "shop"
environment = "eu"

[triggers]
crons = ["*/5 * * * *", "0 0 LW * *"]
[[rules]]
type = "Text"
globs = ["**/*.md"]
fallthrough = true
[define]
VERSION = '"1"'
[build]
command = "make"
cwd = "tool"
watch_dir = ["a", "b"]
[[d1_databases]]
binding = "DB"
database_name = "d"
[[queues.producers]]
binding = "Q"
queue = "q"
`

func TestLoad(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"wrangler.jsonc": full, "wrangler.toml": fullTOML} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{name: text})
			p, err := Load(Options{Path: dir})
			if err != nil {
				t.Fatal(err)
			}
			list := json.RawMessage(`[1,{"a":null}]`)
			if name == "wrangler.toml" {
				list = json.RawMessage(`[1,{"a":0}]`)
			}
			want := bundle.Manifest{
				Name: "shop", CompatibilityDate: "2026-04-01", CompatibilityFlags: []string{"nodejs_compat", "enable_ctx_exports"},
				Vars: []bundle.Var{
					{Name: "TEXT", Value: json.RawMessage(`"x"`)}, {Name: "NUMBER", Value: json.RawMessage(`1.5`)},
					{Name: "LIST", Value: list}, {Name: "YES", Value: json.RawMessage(`true`)},
				},
				Classes: []bundle.Class{{Name: "Room", Previous: []string{"Old"}, Key: "shop-Old"}, {Name: "Sql", SQLite: true}},
				DurableObjects: []bundle.DurableObject{
					{Binding: "ROOM", Class: "Room", Script: "shop", Key: "shop-Old"}, {Binding: "OTHER", Class: "Far", Script: "far-eu"},
				},
				Services: []bundle.Service{
					{Binding: "AUTH", Worker: "auth", Entrypoint: "Api", Props: json.RawMessage(`{"role":"x"}`)},
					{Binding: "SELF", Worker: "shop-eu"},
				},
				KV: []bundle.KV{{Binding: "CACHE", ID: "abc"}, {Binding: "NEW", ID: "NEW"}, {Binding: "P", ID: "b"}},
				Unavailable: []bundle.Unavailable{
					{Binding: "DB", Key: "d1_databases", Reason: "D1 databases are not yet there"},
					{Binding: "Q", Key: "queues", Reason: "queues are not yet there"},
				},
				Crons: []string{"*/5 * * * *", "0 0 LW * *"},
			}
			if diff := cmp.Diff(want, p.Manifest); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			yes := true
			options := build.Options{
				Dir: dir, Entry: filepath.Join(dir, "src/index.ts"), Mode: build.Development, CompatibilityDate: "2026-04-01",
				CompatibilityFlags: want.CompatibilityFlags, Define: map[string]string{"VERSION": `"1"`}, Alias: map[string]string{"a": "./b"},
				Rules:   []build.Rule{{Type: build.Text, Globs: []string{"**/*.md"}, Fallthrough: &yes}},
				BaseDir: filepath.Join(dir, "src"), FindAdditionalModules: true, TSConfig: filepath.Join(dir, "tsconfig.worker.json"),
				JSXFactory: "h", JSXFragment: "F", KeepNames: true, VersionMetadata: "VERSION",
			}
			if diff := cmp.Diff(options, p.Build); diff != "" {
				t.Errorf("build (-want +got):\n%s", diff)
			}
			command := &build.Command{
				Shell: "make", Dir: filepath.Join(dir, "tool"), Watch: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")},
			}
			if diff := cmp.Diff(command, p.Command); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			if p.Port != 9000 {
				t.Errorf("port %d, want 9000", p.Port)
			}
			keys := []string{"$schema", "account_id", "d1_databases", "observability", "queues", "routes"}
			if name == "wrangler.toml" {
				keys = keys[1:]
			}
			if diff := cmp.Diff(keys, p.Keys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, text, want string
	}{
		{"JSON that ends early", "wrangler.jsonc", `{"name": "a",`, "1:14: error: parsing value: unexpected EOF\n"},
		{"JSON that is none", "wrangler.jsonc", "{\n  name: 1}", "2:3: error: invalid literal: name\n"},
		{"TOML that is none", "wrangler.toml", "name = \"a\"\nmain = \n", "2:8: error: unexpected character U+000A at start of value\n"},
		{"a TOML key twice", "wrangler.toml", "name = \"a\"\nname = \"b\"\n", "2:1: error: key name is already defined\n"},
		{"no object", "wrangler.json", `[]`, "1:1: error: a configuration is an object, not an array\n"},
		{"too deep", "wrangler.json", strings.Repeat("[", 200), "1:101: error: values are nested more than 100 deep\n"},
		{"not UTF-8", "wrangler.json", "{\n\"name\": \"\xff\"}", "2:10: error: the file is not UTF-8\n"},
		{"a byte order mark", "wrangler.json", "\ufeff" + minimal(`"x": 1`), "2:1: error: unknown key \"x\"\n"},
		{"an unknown key", "wrangler.jsonc", minimal(`"kv_namespace": []`), "2:1: error: unknown key \"kv_namespace\"; did you mean \"kv_namespaces\"?\n"},
		{"an unknown key below", "wrangler.jsonc", minimal(`"kv_namespaces": [{"binding": "A", "Id": "x"}]`),
			"2:36: error: unknown key \"kv_namespaces[0].Id\"; did you mean \"id\"?\n"},
		{"an unknown key of TOML", "wrangler.toml", "name = \"w\"\nmain = \"i\"\ncompatibility_date = \"2026-04-01\"\n[[service]]\nbinding = \"A\"\n",
			"4:3: error: unknown key \"service\"; did you mean \"services\"?\n"},
		{"a refused key", "wrangler.jsonc", minimal(`"containers": []`), "2:1: error: \"containers\" is not supported: there are no containers\n"},
		{"an unavailable key", "wrangler.jsonc", minimal(`"r2_buckets": [{"binding": "B"}]`), "2:1: warning: \"r2_buckets\" is not available: R2 buckets are not yet there\n"},
		{"an unavailable key with nothing", "wrangler.jsonc", minimal(`"r2_buckets": []`), ""},
		{"null", "wrangler.jsonc", minimal(`"vars": null`), "2:9: error: \"vars\" is null; it is an object\n"},
		{"a wrong kind", "wrangler.jsonc", minimal(`"vars": [1], "no_bundle": "yes"`),
			"2:9: error: \"vars\" is an array; it is an object\n2:27: error: \"no_bundle\" is a string; it is a boolean\n"},
		{"a wrong kind of two", "wrangler.jsonc", minimal(`"build": {"command": "x", "watch_dir": 1}`), "2:40: error: \"build.watch_dir\" is a number; it is a string or an array\n"},
		{"a wrong value", "wrangler.jsonc", minimal(`"rules": [{"type": "text", "globs": []}]`),
			"2:20: error: \"rules[0].type\" is \"text\"; it is one of \"ESModule\", \"CommonJS\", \"CompiledWasm\", \"Text\", \"Data\"; did you mean \"Text\"?\n"},
		{"missing keys", "wrangler.jsonc", minimal(`"services": [{}]`), "2:14: error: \"services[0]\" has no \"binding\"\n2:14: error: \"services[0]\" has no \"service\"\n"},
		{"a key twice", "wrangler.jsonc", minimal(`"name": "a"`), "2:1: warning: \"name\" is there twice; the last one counts\n"},
		{"no main", "wrangler.jsonc", `{"compatibility_date": "2026-04-01"}`, "1:1: error: there is no \"main\": a project without a script has nothing to run\n"},
		{"assets alone", "wrangler.jsonc", `{"compatibility_date": "2026-04-01", "assets": {"directory": "a"}}`,
			"1:48: error: there is no \"main\": a project of static assets alone has nothing to run\n"},
		{"Python", "wrangler.jsonc", `{"compatibility_date": "2026-04-01", "main": "a.py"}`, "1:46: error: \"main\" is \"a.py\": Python Workers are not supported\n"},
		{"a bad name", "wrangler.jsonc", `{"compatibility_date": "2026-04-01", "main": "a.js", "name": "My Worker"}`,
			"1:62: error: \"name\" is \"My Worker\"; it has lower-case letters, digits, hyphens and underscores, and does not begin with a hyphen\n"},
		{"no date", "wrangler.jsonc", `{"main": "a.js"}`, "1:1: warning: there is no \"compatibility_date\"; 2026-11-17 is used\n"},
		{"a bad date", "wrangler.jsonc", `{"main": "a.js", "compatibility_date": "2026-4-1"}`, "1:40: error: \"compatibility_date\" is \"2026-4-1\"; it is a date as YYYY-MM-DD\n"},
		{"a date of TOML", "wrangler.toml", "main = \"a.js\"\ncompatibility_date = 2026-04-01\n", "2:22: error: \"compatibility_date\" is a TOML date; write it as a string\n"},
		{"a new date", "wrangler.jsonc", `{"main": "a.js", "compatibility_date": "2031-01-01"}`,
			"1:40: warning: 2031-01-01 is newer than 2026-11-17, the newest date that this version knows\n"},
		{"an unknown flag", "wrangler.jsonc", minimal(`"compatibility_flags": ["nodejs_compta"]`),
			"2:25: error: there is no compatibility flag \"nodejs_compta\"; did you mean \"nodejs_compat\"?\n"},
		{"flags that exclude each other", "wrangler.jsonc", minimal(`"compatibility_flags": ["rpc", "no_rpc"]`), "2:32: error: the flags \"rpc\" and \"no_rpc\" exclude each other\n"},
		{"an experimental flag", "wrangler.jsonc", minimal(`"compatibility_flags": ["unsafe_module"]`), "2:25: warning: \"unsafe_module\" is experimental and has no effect here\n"},
		{"Python flag", "wrangler.jsonc", minimal(`"compatibility_flags": ["python_workers"]`), "2:25: error: \"python_workers\": Python Workers are not supported\n"},
		{"a bad schedule", "wrangler.jsonc", minimal(`"triggers": {"crons": ["* * * *", "* * * * 8"]}`),
			"2:24: error: \"triggers.crons[0]\" is no schedule: it has 4 fields, not 5 (minute, hour, day of the month, month, day of the week)\n" +
				"2:35: error: \"triggers.crons[1]\" is no schedule: day of the week: \"8\" is not from 1 to 7\n"},
		{"a name twice", "wrangler.jsonc", minimal(`"vars": {"A": 1}, "kv_namespaces": [{"binding": "A"}, {"binding": "B"}, {"binding": "B"}]`),
			"2:49: error: the name \"A\" is taken: it is in vars already\n2:85: error: the name \"B\" is taken: it is in kv_namespaces already\n"},
		{"a name of two kinds", "wrangler.jsonc", minimal(`"d1_databases": [{"binding": "A"}], "services": [{"binding": "A", "service": "s"}]`),
			"2:30: error: the name \"A\" is taken: it is in services already\n"},
		{"an empty name", "wrangler.jsonc", minimal(`"kv_namespaces": [{"binding": "", "id": ""}]`), "2:31: error: \"binding\" is empty\n2:41: error: \"id\" is empty\n"},
		{"a port", "wrangler.jsonc", minimal(`"dev": {"port": 99999}`), "2:17: error: \"dev.port\" is 99999; it is a port\n"},
		{"https", "wrangler.jsonc", minimal(`"dev": {"local_protocol": "https"}`), "2:27: error: \"dev.local_protocol\" is \"https\"; it is one of \"http\"; did you mean \"http\"?\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, got := messages(t, tc.file, tc.text, ""); got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
		})
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, want string
		classes          []bundle.Class
	}{
		{name: "renamed twice", text: `"migrations": [{"tag": "1", "new_sqlite_classes": ["A"]}, {"tag": "2", "renamed_classes": [{"from": "A", "to": "B"}]},
			{"tag": "3", "renamed_classes": [{"from": "B", "to": "C"}]}]`, classes: []bundle.Class{{Name: "C", SQLite: true, Previous: []string{"B", "A"}, Key: "w-A"}}},
		{name: "transferred", text: `"migrations": [{"tag": "1", "transferred_classes": [{"from": "A", "from_script": "s", "to": "B"}]}]`, classes: []bundle.Class{{Name: "B", Key: "s-A"}}},
		{name: "deleted and new in one", text: `"migrations": [{"tag": "1", "new_classes": ["A"]}, {"tag": "2", "deleted_classes": ["A"], "new_sqlite_classes": ["A"]}]`,
			classes: []bundle.Class{{Name: "A", SQLite: true, Key: "w-A.2"}}},
		{name: "new after a rename", text: `"migrations": [{"tag": "1", "new_classes": ["A"]}, {"tag": "2", "renamed_classes": [{"from": "A", "to": "B"}]},
			{"tag": "3", "new_classes": ["A"]}, {"tag": "4", "renamed_classes": [{"from": "A", "to": "C"}]}]`, classes: []bundle.Class{
			{Name: "B", Previous: []string{"A"}, Key: "w-A"}, {Name: "C", Previous: []string{"A"}, Key: "w-A.2"}}},
		{name: "new twice", text: `"migrations": [{"tag": "1", "new_classes": ["A"], "new_sqlite_classes": ["A"]}]`,
			want: "2:74: error: \"migrations[0].new_sqlite_classes[0]\": there is a class \"A\" already\n"},
		{name: "renamed from nothing", text: `"migrations": [{"tag": "1", "renamed_classes": [{"from": "A", "to": "B"}]}]`,
			want: "2:49: error: \"migrations[0].renamed_classes[0]\": there is no class \"A\" to rename\n"},
		{name: "renamed onto one", text: `"migrations": [{"tag": "1", "new_classes": ["A", "B"]}, {"tag": "2", "renamed_classes": [{"from": "A", "to": "B"}]}]`,
			want: "2:90: error: \"migrations[1].renamed_classes[0]\": there is a class \"B\" already\n"},
		{name: "deleted from nothing", text: `"migrations": [{"tag": "1", "deleted_classes": ["A"]}]`,
			want: "2:49: error: \"migrations[0].deleted_classes[0]\": there is no class \"A\" to delete\n"},
		{name: "no name of a class", text: `"migrations": [{"tag": "1", "new_classes": ["a-b"]}]`, want: "2:45: error: \"a-b\" is no name of a class\n"},
		{name: "no tag", text: `"migrations": [{"new_classes": ["A"]}]`, want: "2:16: error: \"migrations[0]\" has no \"tag\"\n"},
		{name: "a tag twice", text: `"migrations": [{"tag": "1"}, {"tag": "1"}]`, want: "2:38: warning: \"migrations[1].tag\" is \"1\", as in one before\n"},
		{name: "exports", text: `"exports": {"A": {"type": "durable-object", "storage": "sqlite"}, "B": {"type": "durable-object", "state": "expecting-transfer", "storage": "legacy-kv", "transfer_from": "s"},
			"C": {"type": "durable-object", "state": "renamed", "renamed_to": "A"}, "D": {"type": "durable-object", "state": "deleted"}, "E": {"type": "worker"}}`,
			classes: []bundle.Class{{Name: "A", SQLite: true, Previous: []string{"C"}, Key: "w-C"}, {Name: "B"}}},
		{name: "exports without storage", text: `"exports": {"A": {"type": "durable-object"}}`,
			want: "2:13: error: \"exports.A\" has no \"storage\", which the state \"created\" needs\n"},
		{name: "exports with what does not belong", text: `"exports": {"A": {"type": "durable-object", "state": "deleted", "storage": "sqlite"}}`,
			want: "2:65: error: \"exports.A.storage\" does not go with the state \"deleted\"\n"},
		{name: "renamed to nothing", text: `"exports": {"A": {"type": "durable-object", "state": "renamed", "renamed_to": "B"}}`,
			want: "2:79: error: \"exports.A.renamed_to\" is \"B\", which is no class that \"exports\" has in the state \"created\"\n"},
		{name: "both", text: `"migrations": [{"tag": "1", "new_classes": ["A"]}], "exports": {"B": {"type": "durable-object", "storage": "sqlite"}}`,
			want: "2:65: error: \"exports.B\" excludes \"migrations\": declare the classes in one of them\n"},
		{name: "both, but of Workers only", text: `"migrations": [{"tag": "1", "new_classes": ["A"]}], "exports": {"B": {"type": "worker"}}`, classes: []bundle.Class{{Name: "A"}}},
		{name: "a binding without either", text: `"durable_objects": {"bindings": [{"name": "A", "class_name": "A"}, {"name": "B", "class_name": "A"}]}`,
			want: "2:62: warning: the class \"A\" is in no migration and not in \"exports\": its objects have no SQL storage\n", classes: []bundle.Class{{Name: "A"}}},
		{name: "an environment without a script", text: `"durable_objects": {"bindings": [{"name": "A", "class_name": "A", "environment": "e", "script_name": ""}]}, "exports": {"A": {"type": "durable-object", "storage": "sqlite"}}`,
			want: "2:82: error: \"environment\" needs a \"script_name\"\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, got := messages(t, "wrangler.jsonc", minimal(tc.text), "")
			if got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
			if diff := cmp.Diff(tc.classes, p.Manifest.Classes); tc.classes != nil && diff != "" {
				t.Errorf("classes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironments(t *testing.T) {
	t.Parallel()
	text := minimal(`"vars": {"A": 1}, "triggers": {"crons": ["* * * * *"]}, "send_metrics": false, "containers": [],
"env": {
  "bare": {},
  "own": {"name": "other", "vars": {"B": 2}, "triggers": {"crons": []}, "containers": []},
  "bad": {"send_metrics": true, "vras": {}, "vars": {"A": 1}},
  "none": 1
}`)
	for _, tc := range []struct {
		environment, worker, want string
		vars                      []string
		crons                     int
	}{
		{environment: "", worker: "w", want: "2:80: error: \"containers\" is not supported: there are no containers\n", vars: []string{"A"}, crons: 1},
		{environment: "bare", worker: "w-bare", want: "2:1: warning: \"vars\" is not inherited: environment \"bare\" has none unless it says so itself\n" +
			"2:80: warning: \"containers\" is not inherited: environment \"bare\" has none unless it says so itself\n", crons: 1},
		{environment: "own", worker: "other", want: "5:73: error: \"containers\" is not supported: there are no containers\n", vars: []string{"B"}},
		{environment: "bad", worker: "w-bad", want: "6:11: error: \"env.bad.send_metrics\" stands at the top level only\n6:33: error: unknown key \"vras\"; did you mean \"vars\"?\n",
			vars: []string{"A"}, crons: 1},
		{environment: "none", worker: "w-none", want: "2:80: error: \"containers\" is not supported: there are no containers\n7:11: error: \"env.none\" is a number; it is an object\n", vars: []string{"A"}, crons: 1},
		{environment: "own2", worker: "w-own2", want: "2:80: error: \"containers\" is not supported: there are no containers\n" +
			"3:1: error: there is no environment \"own2\"; there are bad, bare, none, own; did you mean \"own\"?\n", vars: []string{"A"}, crons: 1},
	} {
		t.Run(tc.environment, func(t *testing.T) {
			t.Parallel()
			p, got := messages(t, "wrangler.jsonc", text, tc.environment)
			if tc.environment == "bad" { // the refused key of the top level is not inherited
				got = strings.ReplaceAll(got, "2:80: warning: \"containers\" is not inherited: environment \"bad\" has none unless it says so itself\n", "")
			}
			if got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
			var vars []string
			for _, v := range p.Manifest.Vars {
				vars = append(vars, v.Name)
			}
			if p.Manifest.Name != tc.worker || !cmp.Equal(vars, tc.vars) || len(p.Manifest.Crons) != tc.crons {
				t.Errorf("worker %q with vars %q and %d schedules, want %q with %q and %d", p.Manifest.Name, vars, len(p.Manifest.Crons), tc.worker, tc.vars, tc.crons)
			}
		})
	}
	if p, got := messages(t, "wrangler.jsonc", minimal(`"no_bundle": false`), "x"); p.Manifest.Name != "w-x" ||
		got != "1:1: warning: there is no environment \"x\"; the top level is used\n" {
		t.Errorf("Worker %q, got %s", p.Manifest.Name, got)
	}
}
