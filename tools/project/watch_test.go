package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/proto/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// patient is how long a test waits for an update that must come.
const patient = 20 * time.Second

// watching watches a project until the test ends.
type watching struct {
	t       *testing.T
	dir     string
	updates chan Update
}

func watch(t *testing.T, files map[string]string) *watching {
	t.Helper()
	w := &watching{t: t, dir: write(t, files), updates: make(chan Update, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Watch(ctx, WatchOptions{Options: Options{Path: w.dir}, MakeOptions: MakeOptions{Env: os.Environ()}}, func(u Update) { w.updates <- u })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	return w
}

// next returns the next update.
func (w *watching) next() Update {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patient)
	defer cancel()
	select {
	case u := <-w.updates:
		return u
	case <-ctx.Done():
		w.t.Fatal("no update came")
		return Update{}
	}
}

// good returns the next update, which must have a bundle.
func (w *watching) good() Update {
	w.t.Helper()
	u := w.next()
	if u.Err != nil {
		w.t.Fatalf("update: %v", u.Err)
	}
	return u
}

// bad returns the next update's error.
func (w *watching) bad(want string) {
	w.t.Helper()
	u := w.next()
	if u.Err == nil || !strings.Contains(u.Err.Error(), want) || u.Bundle != nil {
		w.t.Fatalf("update with the error %v, want %q", u.Err, want)
	}
}

func (w *watching) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	// Like many editors: the file is replaced.
	if err := os.WriteFile(path+"~", []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		w.t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := watch(t, map[string]string{
		"wrangler.jsonc": minimal(`"vars": {"A": 1}`), "i.js": `import { x } from "./lib/x.js"; export default x`, "lib/x.js": `export const x = 1`,
	})
	first := w.good()
	if string(first.Project.Manifest.Vars[0].Value) != "1" {
		t.Errorf("vars %s", first.Project.Manifest.Vars)
	}

	w.write("lib/x.js", `export const x = 2`)
	second := w.good()
	if !strings.Contains(string(second.Bundle.Code()), "x = 2") || second.Bundle.Hash() == first.Bundle.Hash() {
		t.Errorf("code %s", second.Bundle.Code())
	}

	// A fault is said once, and what mends it may be a file that was not there.
	w.write("i.js", `import { x } from "./y.js"; export default x`)
	w.bad(`Could not resolve "./y.js"`)
	w.write("y.js", `export const x = 3`)
	w.good()

	w.write("wrangler.jsonc", `{`)
	w.bad("wrangler.jsonc:1:2: error")
	w.write("wrangler.jsonc", minimal(`"vars": {"A": 2}`))
	if u := w.good(); string(u.Project.Manifest.Vars[0].Value) != "2" {
		t.Errorf("vars %s", u.Project.Manifest.Vars)
	}

	w.write(".dev.vars", "A=secret")
	if u := w.good(); u.Project.Secrets["A"] != "secret" || len(u.Bundle.Manifest().Vars) != 0 {
		t.Errorf("secrets %q, manifest %+v", u.Project.Secrets, u.Bundle.Manifest())
	}
	w.write(".dev.vars", "A=other") // the bundle stays the same
	if u := w.good(); u.Project.Secrets["A"] != "other" {
		t.Errorf("secrets %q", u.Project.Secrets)
	}

	// What changes nothing is not told: the next update is that of the last change.
	w.write("lib/unused.js", "1")
	w.write("y.js", `export const x = 3 // still`)
	w.write("y.js", `export const x = 4`)
	if u := w.good(); !strings.Contains(string(u.Bundle.Code()), "x = 4") {
		t.Errorf("code %s", u.Bundle.Code())
	}
}

func TestWatchCommand(t *testing.T) {
	t.Parallel()
	w := watch(t, map[string]string{
		"wrangler.jsonc": strings.Replace(minimal(`"build": {"command": "mkdir -p dist && cp src/a.js dist/a.js", "watch_dir": "src"}`), "i.js", "dist/a.js", 1),
		"src/a.js":       `export default 1`,
	})
	w.good()
	w.write("src/a.js", `export default 2`)
	if u := w.good(); !strings.Contains(string(u.Bundle.Code()), "a_default = 2") {
		t.Errorf("code %s", u.Bundle.Code())
	}
}

func TestWatchNothing(t *testing.T) {
	t.Parallel()
	err := Watch(t.Context(), WatchOptions{Options: Options{Path: t.TempDir()}}, func(Update) { t.Error("an update of nothing") })
	if err == nil || !strings.Contains(err.Error(), "no wrangler.json") {
		t.Errorf("error %v", err)
	}
}
