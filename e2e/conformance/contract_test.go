package conformance

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed contract.txt
var contractText string

// promises is how many promises each section of the contract makes, from section 1 on: a line that is lost is missed.
var promises = []int{14, 23, 20, 22, 20, 18, 4, 12, 13}

// notHeld begins the last part of a line whose promise is not kept.
const notHeld = "not: "

var promiseForm = regexp.MustCompile(`^([1-9])\.([1-9][0-9]?)$`)

// suite is what is known of the tree's tests: the names of test functions and the texts in the test files, by package.
type suite struct {
	functions map[string]map[string]bool
	texts     map[string]map[string]bool
}

// checkContract says what is wrong between the ledger, the tests that it names and the differences that it names.
func checkContract(ledger string, counts []int, tests func(dir string) suite, differences string) (faults []string) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("contract.txt: "+format, args...))
	}
	section, number := 1, 0
	end := func() {
		if section <= len(counts) && number != counts[section-1] {
			fault("section %d has %d promises, want %d", section, number, counts[section-1])
		}
	}
	for _, l := range lines(ledger, " | ") {
		what, by, _ := strings.Cut(l[1], " | ")
		m := promiseForm.FindStringSubmatch(l[0])
		if m == nil || what == "" || by == "" {
			fault("%q is no promise with its tests", l[0]+" | "+l[1])
			continue
		}
		for s, _ := strconv.Atoi(m[1]); section < s; section, number = section+1, 0 { // a digit
			end()
		}
		if number++; l[0] != fmt.Sprintf("%d.%d", section, number) {
			fault("%s is where %d.%d belongs", l[0], section, number)
		}
		if row, ok := strings.CutPrefix(by, notHeld); ok {
			if !strings.Contains(differences, "\n| "+row+" |") {
				fault("%s is not held, and docs/differences.md has no row %q", l[0], row)
			}
			continue
		}
		for name := range strings.SplitSeq(by, "; ") {
			if why := missing(name, tests); why != "" {
				fault("%s names %s: %s", l[0], name, why)
			}
		}
	}
	end()
	if section < len(counts) {
		fault("it ends with section %d", section)
	}
	return faults
}

// missing says why a test of the form package.Test or package.Test/case is not there; empty if it is. A case is a text
// somewhere in the package's test files: what a table's cases are called.
func missing(name string, tests func(dir string) suite) string {
	dir, test, ok := strings.Cut(name, ".Test")
	test, subtest, _ := strings.Cut(test, "/")
	switch {
	case !ok:
		return "it is no package and test"
	case !tests(dir).functions[dir]["Test"+test]:
		return "the package has no such test"
	case subtest != "" && !tests(dir).texts[dir][subtest]:
		return "the package's tests have no such case"
	}
	return ""
}

// parseTests adds the tests of a package to what is known.
func (s suite) parseTests(t *testing.T, root, dir string) {
	t.Helper()
	if s.functions[dir] != nil {
		return
	}
	s.functions[dir], s.texts[dir] = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					s.functions[dir][n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil {
					s.texts[dir][text] = true
				}
			}
			return true
		})
	}
}

// Each promise of the contract is held by tests that exist, or is among the differences with what holds instead.
func TestContract(t *testing.T) {
	t.Parallel()
	const root = "../.."
	differences, err := os.ReadFile(filepath.Join(root, "docs/differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := suite{functions: map[string]map[string]bool{}, texts: map[string]map[string]bool{}}
	tests := func(dir string) suite {
		known.parseTests(t, root, dir)
		return known
	}
	for _, fault := range checkContract(contractText, promises, tests, string(differences)) {
		t.Error(fault)
	}
	t.Logf("%d promises, %d not held", len(lines(contractText, " | ")), strings.Count(contractText, "| "+notHeld))
}

// The check finds what it is for.
func TestCheckContract(t *testing.T) {
	t.Parallel()
	s := suite{
		functions: map[string]map[string]bool{"a/b": {"TestX": true}},
		texts:     map[string]map[string]bool{"a/b": {"no bearer": true}},
	}
	tests := func(string) suite { return s }
	const ledger = "1.1 | x | a/b.TestX\n1.2 | y | a/b.TestX/no bearer; a/b.TestX\n2.1 | z | not: Everything\n"
	const differences = "| Expected | Here |\n|---|---|\n| Everything | nothing |\n"
	if faults := checkContract(ledger, []int{2, 1}, tests, differences); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"no such test", "1.1 | x | a/b.TestX", "1.1 | x | a/b.TestY", "1.1 names a/b.TestY: the package has no such test"},
		{"no such package", "| a/b.TestX\n", "| a/c.TestX\n", "1.1 names a/c.TestX: the package has no such test"},
		{"no such case", "/no bearer", "/other", "1.2 names a/b.TestX/other: the package's tests have no such case"},
		{"no test named", "a/b.TestX\n", "nothing\n", "1.1 names nothing: it is no package and test"},
		{"no tests", "1.1 | x | a/b.TestX", "1.1 | x", `"1.1 | x" is no promise with its tests`},
		{"lost", "1.2 | y | a/b.TestX/no bearer; a/b.TestX\n", "", "section 1 has 1 promises, want 2"},
		{"lost in the middle", "1.1 | x | a/b.TestX\n", "", "1.2 is where 1.1 belongs"},
		{"lost section", "2.1 | z | not: Everything\n", "", "it ends with section 1"},
		{"no such difference", "not: Everything", "not: Much", `2.1 is not held, and docs/differences.md has no row "Much"`},
	} {
		changed := strings.Replace(ledger, tt.from, tt.to, 1)
		if faults := checkContract(changed, []int{2, 1}, tests, differences); !slices.Contains(faults, "contract.txt: "+tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, faults, tt.want)
		}
	}
}
