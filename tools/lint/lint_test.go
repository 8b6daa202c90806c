package lint

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/goroutines.txt
var goroutines string

// rules are those that look at one file alone.
func rules() map[string]func(*File) []string {
	return map[string]func(*File) []string{
		"imports": Imports, "fences": Fences, "names": Names, "sizes": Sizes, "docs": Docs, "calls": Calls,
		"globals": Globals, "panics": Panics, "spans": Spans, "comments": Comments,
	}
}

func tree(t *testing.T) []*File {
	t.Helper()
	files, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files: the tree was not found", len(files))
	}
	return slices.DeleteFunc(files, func(f *File) bool { return f.Generated })
}

func TestTree(t *testing.T) {
	t.Parallel()
	files := tree(t)
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range files {
				for _, fault := range rule(f) {
					t.Error(fault)
				}
			}
		})
	}
}

// Every package says what it is.
func TestPackageDocs(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range tree(t) {
		if !f.Test {
			documented[f.Dir] = documented[f.Dir] || f.AST.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment; write a doc.go: what it is, guarantees, who calls it from where", dir)
		}
	}
}

// Goroutines start in listed places, and each listed place exists.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	for line := range strings.Lines(goroutines) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		place, reason, ok := strings.Cut(line, " | ")
		if !ok || strings.TrimSpace(reason) == "" {
			t.Errorf("testdata/goroutines.txt: %q lacks its reason: path function | who waits for it", line)
		}
		allowed[place] = false
	}
	for _, f := range tree(t) {
		for _, place := range Goroutines(f) {
			if _, ok := allowed[place]; !ok {
				t.Errorf("%s starts a goroutine; give it an owner that waits for it, and a line in testdata/goroutines.txt", place)
			}
			allowed[place] = true
		}
	}
	for place, found := range allowed {
		if !found {
			t.Errorf("testdata/goroutines.txt: %q starts no goroutine; remove the line", place)
		}
	}
}

// Each rule finds what it is for.
func TestRulesFail(t *testing.T) {
	t.Parallel()
	tests := []struct{ rule, path, src string }{
		{"imports", "worker/a.go", `package worker; import _ "github.com/tandem-do/tandem/durableobject/host"`},
		{"imports", "proto/props/a.go", `package props; import _ "github.com/tandem-do/tandem/runtime/binding"`},
		{"imports", "router/a.go", `package router; import _ "github.com/tandem-do/tandem/e2e/harness"`},
		{"imports", "other/a.go", `package other`},
		{"fences", "worker/a.go", `package worker; import _ "github.com/cockroachdb/pebble/v2"`},
		{"fences", "worker/mcp/a.go", `package mcp; import _ "go.opentelemetry.io/otel/trace"`},
		{"names", "worker/utils/a.go", `package utils`},
		{"names", "worker/auth/a.go", `package login`},
		{"sizes", "worker/a.go", "package worker\nfunc f() {" + strings.Repeat("\n", 101) + "}"},
		{"sizes", "worker/a.go", "package worker\n" + strings.Repeat("\n", 600)},
		{"docs", "worker/a.go", "package worker\nfunc F() {}"},
		{"docs", "worker/a.go", "package worker\n// T is one.\ntype T struct{}\nfunc (T) M() {}"},
		{"docs", "worker/a.go", "package worker\nconst C = 1"},
		{"calls", "worker/a.go", `package worker; import "time"; func f() { time.Sleep(1) }`},
		{"calls", "worker/a_test.go", `package worker; import "time"; func f() { time.Sleep(1) }`},
		{"calls", "worker/a.go", `package worker; import "os"; func f() { os.Getenv("X") }`},
		{"globals", "worker/a.go", `package worker; func init() {}`},
		{"globals", "worker/a.go", `package worker; var count int`},
		{"panics", "worker/a.go", `package worker; func f() { panic("oops") }`},
		{"spans", "worker/a.go", `package worker; func f() { telemetry.Start(ctx, "my.span") }`},
		{"spans", "worker/a.go", `package worker; func f() { span.SetString("key", v) }`},
		{"comments", "worker/a.go", "package worker\n// TODO: later\n"},
	}
	for _, tt := range tests {
		f, err := Parse(tt.path, []byte(tt.src))
		if err != nil {
			t.Fatal(err)
		}
		if faults := rules()[tt.rule](f); len(faults) == 0 {
			t.Errorf("rule %s accepts %s: %s", tt.rule, tt.path, tt.src)
		}
	}
	f, err := Parse("worker/a.go", []byte("package worker\nfunc f() { go g() }"))
	if err != nil {
		t.Fatal(err)
	}
	if places := Goroutines(f); len(places) != 1 || places[0] != "worker/a.go f" {
		t.Errorf("goroutines: got %q", places)
	}
}
