package project

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTogether(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a/wrangler.jsonc": minimal(`"services": [{"binding": "B", "service": "bee"}, {"binding": "SELF", "service": "w"}, {"binding": "C", "service": "be"}],
			"durable_objects": {"bindings": [{"name": "R", "class_name": "Room", "script_name": "bee"}, {"name": "S", "class_name": "Gone", "script_name": "bee"},
				{"name": "T", "class_name": "X", "script_name": "far"}]}`),
		"b/wrangler.jsonc": strings.Replace(minimal(`"migrations": [{"tag": "1", "new_classes": ["Room"]}]`), `"w"`, `"bee"`, 1),
		"c/wrangler.jsonc": strings.Replace(minimal(`"no_bundle": true`), `"w"`, `"bee"`, 1),
	})
	var projects []*Project
	for _, name := range []string{"a", "b", "c"} {
		p, err := Load(Options{Path: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		projects = append(projects, p)
	}
	var got []string
	for _, g := range Together(projects) {
		got = append(got, strings.ReplaceAll(g.String(), dir, ""))
	}
	want := `/c/wrangler.jsonc: error: the Worker is named "bee", as is that of /b/wrangler.jsonc
/a/wrangler.jsonc: warning: the service C is the Worker "be", which is not here; did you mean "bee"?
/a/wrangler.jsonc: warning: the objects of S are of the class "Gone", which the Worker "bee" does not declare
/a/wrangler.jsonc: warning: the objects of T are of the Worker "far", which is not here`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}
