package project

import (
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// TestKeys holds what the checker relies on.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]Key{}
	for _, k := range Keys() {
		if _, again := seen[k.Path]; again {
			t.Errorf("%s is there twice", k.Path)
		}
		seen[k.Path] = k
		if k.Type == 0 {
			t.Errorf("%s has no type", k.Path)
		}
		if k.Status != Supported && k.Note == "" {
			t.Errorf("%s is %s without a reason", k.Path, k.Status)
		}
		if strings.HasSuffix(k.Note, ".") || strings.Contains(k.Note, "|") {
			t.Errorf("the note of %s has a stop or a bar", k.Path)
		}
		if strings.ContainsAny(k.Path, ".[") && k.Scope != Inherited {
			t.Errorf("%s has a scope, which only keys at the top level have", k.Path)
		}
		if (k.Binding != "") && k.Status != Unavailable {
			t.Errorf("%s has bindings and is %s", k.Path, k.Status)
		}
	}
	for path, k := range seen {
		parts := splitPath(path)
		for n := 1; n < len(parts); n++ {
			parent := strings.ReplaceAll(strings.Join(parts[:n], "."), ".[]", "[]")
			p, ok := seen[parent]
			if !ok {
				t.Errorf("%s has no row for %s", path, parent)
				continue
			}
			if p.Status != Supported {
				t.Errorf("%s is below %s, which is %s", path, parent, p.Status)
			}
			if want := map[bool]Type{true: Array, false: Object}[parts[n] == "[]"]; p.Type&want == 0 {
				t.Errorf("%s is below %s, which is %s", path, parent, p.Type)
			}
		}
		_ = k
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	d, _ := parse("wrangler.toml", []byte("a = 1\n\tb = \"é\" # x\n"))
	g := d.fault(7, 8, "odd")
	if want := "wrangler.toml:2:2: error: odd\n    2 │  b = \"é\" # x\n      │  ^\n"; g.Format(false) != want {
		t.Errorf("got\n%swant\n%s", g.Format(false), want)
	}
	if colored := g.Format(true); !strings.Contains(colored, "\x1b[31merror:\x1b[0m") {
		t.Errorf("colored %q", colored)
	}
	// A line that is too long is shown around the place.
	long, _ := parse("wrangler.json", []byte(`{"`+strings.Repeat("x", 500)+`": {"y": "here"}}`))
	lines := strings.Split(long.fault(506, 509, "far").Format(false), "\n")
	if mark := strings.Index(lines[2], "^"); !strings.HasPrefix(lines[1][mark:], `"y"`) || len(lines[1]) > 140 {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	whole := Diagnostic{File: "f", Message: "m"}
	if whole.Format(false) != "f: error: m\n" {
		t.Errorf("got %q", whole.Format(false))
	}
}

// FuzzParse holds that any file is either a document or a fault with a place.
func FuzzParse(f *testing.F) {
	f.Add(true, full)
	f.Add(false, fullTOML)
	f.Add(false, "[[a]]\n[a.b]\nc.d = 1\n[[a]]\n\"x y\" = { z = [1, [2]] }\nt = 1979-05-27T07:32:00Z\ni = 0x_ff\n")
	f.Add(true, "\ufeff{\"a\": [1e309, -0, \"\\ud800\"],}//")
	f.Fuzz(func(t *testing.T, json bool, text string) {
		name := "wrangler.toml"
		if json {
			name = "wrangler.json"
		}
		p := &Project{Dir: "/p", File: "/p/" + name}
		err := p.load(&Options{Production: true, Environment: "e"}, []byte(text))
		if err == nil {
			p.Manifest.Format = bundle.FormatModules // a build knows it
			if err := p.Manifest.Validate(); err != nil {
				t.Errorf("the manifest is not valid: %v", err)
			}
			return
		}
		failed, ok := err.(*Error) //nolint:errorlint // it is returned bare
		if !ok || len(failed.Diagnostics) == 0 {
			t.Fatalf("error %v", err)
		}
		for _, g := range failed.Diagnostics {
			if g.Line < 1 || g.Column < 1 || g.Message == "" || g.Format(true) == "" {
				t.Errorf("diagnostic %+v", g)
			}
		}
	})
}

// FuzzParseVars holds that a file of variables never fails, and ends.
func FuzzParseVars(f *testing.F) {
	f.Add("A='1\nB=\"x\\\"\nexport C: `")
	f.Fuzz(func(t *testing.T, text string) {
		vars := parseVars(text)
		if got := expand(vars, nil); len(got) != len(vars.values) || len(vars.names) != len(vars.values) {
			t.Errorf("%d values of %d", len(got), len(vars.values))
		}
	})
}
