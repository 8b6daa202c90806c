package build

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// sources is a project with a bit of everything.
func sources() map[string]string {
	return map[string]string{
		"worker.js":                   `import { a } from "p"; import t from "./sub/t.txt"; import "node:path"; export class Room {}; export default [a, t, import.meta.url]`,
		"sub/t.txt":                   "text",
		"node_modules/p/package.json": `{"name": "p", "main": "i.js"}`,
		"node_modules/p/i.js":         `exports.a = 1`,
	}
}

// TestReproducible holds that a bundle depends on the project alone, and not on where it is.
func TestReproducible(t *testing.T) {
	t.Parallel()
	var hashes []string
	for range 2 {
		o := project(t, "worker.js", sources())
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(o.Dir, link); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{o.Dir, link} {
			o.Dir, o.Entry = dir, filepath.Join(dir, "worker.js")
			r, err := Build(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := r.Bundle(bundle.Manifest{Name: "w"})
			if err != nil {
				t.Fatal(err)
			}
			if m := b.Manifest(); m.Main != "worker.js" || m.Format != bundle.FormatModules {
				t.Errorf("manifest %+v", m)
			}
			if bytes.Contains(r.Code, []byte("/tmp")) || bytes.Contains(r.SourceMap, []byte("/tmp")) {
				t.Errorf("the bundle knows where it was built:\n%s\n%s", r.Code, r.SourceMap)
			}
			hashes = append(hashes, b.Hash())
		}
	}
	for _, h := range hashes {
		if h != hashes[0] {
			t.Errorf("hashes %q, want one", hashes)
			break
		}
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	o := project(t, "worker.js", sources())
	r, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Inputs {
		got = append(got, relative(o.Dir, f))
	}
	if want := "node_modules/p/i.js sub/t.txt worker.js"; strings.Join(got, " ") != want {
		t.Errorf("inputs %q, want %s", got, want)
	}
}

// TestBuilder holds that a builder sees what has changed, and goes on after a fault.
func TestBuilder(t *testing.T) {
	t.Parallel()
	o := project(t, "worker.js", sources())
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, step := range []struct{ text, want string }{
		{"text", `"text"`}, {"other", `"other"`}, {"", "could not resolve"}, {"third", `"third"`},
	} {
		path := filepath.Join(o.Dir, "sub/t.txt")
		if step.text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, path, step.text)
		}
		r, err := b.Build(t.Context())
		switch {
		case step.text == "" && (err == nil || !strings.Contains(err.Error(), step.want)):
			t.Errorf("without the file: error %v", err)
		case step.text != "" && err != nil:
			t.Fatal(err)
		case step.text != "" && !bytes.Contains(r.Code, []byte(step.want)):
			t.Errorf("code has no %s:\n%s", step.want, r.Code)
		}
	}
}

func TestExportsThatAreMissing(t *testing.T) {
	t.Parallel()
	r, err := Build(t.Context(), project(t, "i.js", map[string]string{"i.js": `export class Api {}; export default {}`}))
	if err != nil {
		t.Fatal(err)
	}
	m := bundle.Manifest{
		Name: "w", Classes: []bundle.Class{{Name: "Room"}, {Name: "Api"}, {Name: "Old"}},
		DurableObjects: []bundle.DurableObject{{Binding: "R", Class: "Room", Script: "w"}, {Binding: "F", Class: "Far", Script: "x"}},
		Services: []bundle.Service{
			{Binding: "A", Worker: "w", Entrypoint: "Api"}, {Binding: "B", Worker: "w", Entrypoint: "Gone"}, {Binding: "C", Worker: "x", Entrypoint: "Far"},
		},
	}
	want := "the configuration names the Durable Object class \"Room\", which i.js does not export\n" +
		"the configuration names the entrypoint \"Gone\", which i.js does not export"
	if _, err := r.Bundle(m); !IsProjectError(err) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	m.DurableObjects, m.Services = nil, nil
	b, err := r.Bundle(m)
	if err != nil {
		t.Fatal(err)
	}
	if c := b.Manifest().Classes; len(c) != 1 || c[0].Name != "Api" || len(r.Warnings) != 2 ||
		r.Warnings[1].String() != `the configuration declares the Durable Object class "Old", which i.js does not export` {
		t.Errorf("classes %+v, warnings %+v", c, r.Warnings)
	}
	m.DurableObjects = []bundle.DurableObject{{Binding: "R", Class: "Room", Script: "w"}}
	r, err = Build(t.Context(), project(t, "i.js", map[string]string{"i.js": `addEventListener("fetch", () => {})`}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Bundle(m); err == nil || !strings.Contains(err.Error(), "it exports nothing, so that it is a script of the Service Worker format") {
		t.Errorf("error %v", err)
	}
}

func TestVersionMetadata(t *testing.T) {
	t.Parallel()
	o := project(t, "i.js", map[string]string{"i.js": `export default 1`})
	o.VersionMetadata = "VERSION"
	value := func() string {
		r, err := Build(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Bundle(bundle.Manifest{Name: "w"})
		if err != nil {
			t.Fatal(err)
		}
		if v := b.Manifest().Vars; len(v) != 1 || v[0].Name != "VERSION" {
			t.Fatalf("vars %+v", v)
		}
		return string(b.Manifest().Vars[0].Value)
	}
	first, again := value(), value()
	write(t, o.Entry, `export default 2`)
	if other := value(); first != again || other == first || !strings.Contains(first, `,"tag":"","timestamp":"`) {
		t.Errorf("versions %s, %s and %s", first, again, other)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	o := project(t, "i.js", map[string]string{"i.js": `import x from "./a.md"; export default typeof x == "strin"`, "a.md": "x"})
	o.Rules = []Rule{{Type: Text, Globs: []string{"**/*.md"}}}
	r, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.String())
	}
	want := `the module rule for Text ["**/*.md"] hides the one for ["**/*.txt" "**/*.html" "**/*.sql"]; set its fallthrough to true to have both, or to false to say so
i.js:1:52: The "typeof" operator will never evaluate to "strin"`
	if strings.Join(got, "\n") != want {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if f := r.Warnings[1].Format(false); !strings.Contains(f, "[WARNING]") || !strings.Contains(f, "1 │ import x") {
		t.Errorf("formatted\n%s", f)
	}
	no := false
	o.Rules[0].Fallthrough = &no
	if r, err = Build(t.Context(), o); err != nil || len(r.Warnings) != 1 {
		t.Errorf("warnings %v and %v, want one", r.Warnings, err)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	c := Command{Shell: `echo one; printf 'two\r\nthree' >&2; echo "$NAME" > out; pwd >> out`, Dir: dir}
	if err := c.Run(t.Context(), []string{"NAME=value", "PATH=" + os.Getenv("PATH")}, &out); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "out"))
	if real, _ := filepath.EvalSymlinks(dir); string(text) != "value\n"+real+"\n" && string(text) != "value\n"+dir+"\n" {
		t.Errorf("file %q", text)
	}
	for _, line := range []string{"[custom build] one\n", "[custom build] two\n", "[custom build] three\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("output %q has no %q", out.String(), line)
		}
	}
	if err := (&Command{Shell: "exit 3", Dir: dir}).Run(t.Context(), nil, &out); !IsProjectError(err) || err.Error() != `the custom build "exit 3" failed: exit status 3` {
		t.Errorf("error %v", err)
	}
	if err := (&Command{Shell: "true", Dir: filepath.Join(dir, "gone")}).Run(t.Context(), nil, &out); !IsProjectError(err) {
		t.Errorf("error %v", err)
	}
}

// TestCommandCanceled holds that what the command has started ends with it.
func TestCommandCanceled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := (&Command{Shell: "sleep 60 & sleep 60", Dir: dir}).Run(ctx, []string{"PATH=" + os.Getenv("PATH")}, &bytes.Buffer{})
	if err != context.DeadlineExceeded { //nolint:errorlint // it is returned bare
		t.Errorf("error %v, want the deadline", err)
	}
}

func BenchmarkRebuild(b *testing.B) {
	o := project(b, "worker.js", sources())
	builder, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	defer builder.Close()
	for n := 0; b.Loop(); n++ {
		write(b, filepath.Join(o.Dir, "sub/t.txt"), strings.Repeat("x", n%100))
		if _, err := builder.Build(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
