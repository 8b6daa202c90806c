package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

const (
	maxFileLines     = 600
	maxFunctionLines = 100
)

// Sizes checks that a file and a function stay readable.
func Sizes(f *File) []string {
	var faults []string
	if f.Lines > maxFileLines && !f.Test {
		faults = append(faults, fmt.Sprintf("%s: %d lines, at most %d; a file is one part of one concept",
			f.Path, f.Lines, maxFileLines))
	}
	if f.Test {
		return faults
	}
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		n := f.Fset.Position(fn.End()).Line - f.Fset.Position(fn.Pos()).Line + 1
		if n > maxFunctionLines {
			faults = append(faults, fmt.Sprintf("%s: %s has %d lines, at most %d; a function fits a screen",
				f.At(fn), fn.Name.Name, n, maxFunctionLines))
		}
	}
	return faults
}

// Docs checks that exported names are documented.
func Docs(f *File) []string {
	if f.Test || f.AST.Name.Name == "main" {
		return nil
	}
	var faults []string
	missing := func(n ast.Node, name string) {
		faults = append(faults, fmt.Sprintf("%s: exported %s has no comment; say what it means", f.At(n), name))
	}
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				missing(d, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name, ok := undocumented(d, spec); ok {
					missing(spec, name)
				}
			}
		}
	}
	return faults
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}

// undocumented returns the first exported name of a spec that neither it nor its group documents.
func undocumented(d *ast.GenDecl, spec ast.Spec) (string, bool) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Name.Name, s.Name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil
	case *ast.ValueSpec:
		for _, id := range s.Names {
			if id.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				return id.Name, true
			}
		}
	}
	return "", false
}

// call is a function of a package that production code must not use, and what to use instead.
type call struct{ pkg, name, instead string }

func bannedCalls() []call {
	return []call{
		{"time", "Sleep", "wait on a channel, a context or a timer"},
		{"time", "After", "use a timer that is stopped"},
		{"os", "Exit", "return an exit code to cmd/tandem"},
		{"log", "Fatal", "return an error"},
		{"fmt", "Println", "log through slog, or write to the Writer in Options"},
		{"os", "Getenv", "read the environment in cmd/tandem and pass it in Options"},
	}
}

// mayCall lists the files that own one of the banned calls.
func mayCall(f *File, c call) bool {
	switch {
	case under(f.Dir, "cmd"), under(f.Dir, "docs"), under(f.Dir, "e2e"):
		return c.name != "Sleep"
	case f.AST.Name.Name == "main":
		return c.pkg != "time" // it is a process of its own
	case f.Test:
		return c.pkg != "time" // a bubble's sleeps are checked by Sleeps
	}
	return false
}

// Calls checks that code does not sleep, exit or read the environment where it must not.
func Calls(f *File) []string {
	var faults []string
	bubble := importsPath(f, "testing/synctest")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || id.Obj != nil { // a variable of that name
			return true
		}
		for _, c := range bannedCalls() {
			if id.Name != c.pkg || !strings.HasPrefix(sel.Sel.Name, c.name) || sel.Sel.Name == "AfterFunc" || mayCall(f, c) {
				continue
			}
			if f.Test && bubble && c.pkg == "time" { // fake time costs nothing
				continue
			}
			faults = append(faults, fmt.Sprintf("%s: %s.%s: %s", f.At(n), c.pkg, sel.Sel.Name, c.instead))
		}
		return true
	})
	return faults
}

func importsPath(f *File, want string) bool {
	for _, imp := range f.Imports() {
		if imp == want {
			return true
		}
	}
	return false
}

// Globals checks that packages have no init functions and no variables that change.
func Globals(f *File) []string {
	if f.Test {
		return nil
	}
	var faults []string
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				faults = append(faults, fmt.Sprintf("%s: init function; do it in a constructor", f.At(d)))
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				faults = append(faults, variables(f, d)...)
			}
		}
	}
	return faults
}

// variables returns a fault for each package variable without a fixed value.
func variables(f *File, d *ast.GenDecl) []string {
	var faults []string
	embedded := d.Doc != nil && strings.Contains(docText(d.Doc), "go:embed")
	for _, spec := range d.Specs {
		s := spec.(*ast.ValueSpec)
		guard := s.Names[0].Name == "_"
		if guard || embedded || s.Doc != nil && strings.Contains(docText(s.Doc), "go:embed") {
			continue
		}
		if len(s.Values) == 0 {
			faults = append(faults, fmt.Sprintf("%s: package variable %s has no value and so will change; put it in a struct",
				f.At(s), s.Names[0].Name))
		}
	}
	return faults
}

func docText(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// Panics checks that a panic says which invariant broke.
func Panics(f *File) []string {
	if f.Test {
		return nil
	}
	var faults []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, ok := c.Fun.(*ast.Ident)
		if !ok || id.Name != "panic" || len(c.Args) != 1 {
			return true
		}
		if lit, ok := c.Args[0].(*ast.BasicLit); ok && !strings.Contains(lit.Value, ": ") {
			faults = append(faults, fmt.Sprintf("%s: panic(%s): name the package and the broken invariant, or return an error",
				f.At(n), lit.Value))
		}
		return true
	})
	return faults
}

// Spans checks that span and attribute names come from proto/telemetry.
func Spans(f *File) []string {
	if f.Test || f.Dir == "proto/telemetry" {
		return nil
	}
	var faults []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := c.Fun.(*ast.SelectorExpr)
		if !ok || len(c.Args) < 2 {
			return true
		}
		arg := c.Args[0]
		if sel.Sel.Name == "Start" {
			if id, ok := sel.X.(*ast.Ident); !ok || id.Name != "telemetry" {
				return true
			}
			arg = c.Args[1]
		} else if name := sel.Sel.Name; name != "SetString" && name != "SetInt" && name != "SetBool" {
			return true
		}
		if lit, ok := arg.(*ast.BasicLit); ok {
			faults = append(faults, fmt.Sprintf("%s: %s is a literal; names stand in proto/telemetry/names.go",
				f.At(n), lit.Value))
		}
		return true
	})
	return faults
}

// Comments checks that a note about work to do names its issue.
func Comments(f *File) []string {
	word := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	issue := regexp.MustCompile(`\b(TODO|FIXME)\(#\d+\)`)
	var faults []string
	for _, g := range f.AST.Comments {
		for _, c := range g.List {
			if word.MatchString(c.Text) && !issue.MatchString(c.Text) && f.Dir != "tools/lint" {
				faults = append(faults, fmt.Sprintf("%s: a note without an issue; write TODO(#N) or do it", f.At(c)))
			}
		}
	}
	return faults
}

// Goroutines checks that goroutines start only where something waits for them: each place is listed with its reason in
// testdata/goroutines.txt. It returns the places as "path function".
func Goroutines(f *File) []string {
	if f.Test || under(f.Dir, "e2e") {
		return nil
	}
	var places []string
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				places = append(places, f.Path+" "+fn.Name.Name)
			}
			return true
		})
	}
	return places
}
