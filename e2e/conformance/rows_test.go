package conformance

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

//go:embed rows.txt
var rowsText string

//go:embed known.txt
var knownText string

var (
	rowForm   = regexp.MustCompile(`^(?:ID|ST|RPC|CTX|G|KV|SK|TX|AL|LC|LIM|EX|H)-[0-9]+[a-z]?$`)
	rowNamed  = regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])((?:ID|ST|RPC|CTX|G|KV|SK|TX|AL|LC|LIM|EX|H)-[0-9]+[a-z]?)\b`)
	priority  = regexp.MustCompile(`^P[0-3]$`)
	testRoots = []string{"durableobject", "proto", "runtime", "router", "worker", "e2e"}
)

// lines returns the lines of a list, cut at sep, without comments.
func lines(text, sep string) (list [][2]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		a, b, _ := strings.Cut(line, sep)
		list = append(list, [2]string{a, b})
	}
	return list
}

// check says what is wrong between the rows, the ledger, and the rows that tests name with a place each.
func check(rowsText, knownText string, named map[string]string) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	rows := map[string]bool{}
	for _, l := range lines(rowsText, " ") {
		row := l[0]
		if !rowForm.MatchString(row) || !priority.MatchString(l[1]) || rows[row] {
			fault("rows.txt: %q is no row with its priority, or is there twice", row+" "+l[1])
		}
		rows[row] = true
	}
	known := map[string]bool{}
	last := ""
	for _, l := range lines(knownText, " | ") {
		row := l[0]
		switch {
		case l[1] == "":
			fault("known.txt: %s lacks its reason", row)
		case !rows[row]:
			fault("known.txt: %s is not in rows.txt", row)
		case row <= last:
			fault("known.txt: %s is out of order, or there twice", row)
		}
		known[row], last = true, row
	}
	for row, place := range named {
		switch {
		case !rows[row]:
			fault("%s names %s, which is not in rows.txt", place, row)
		case known[row]:
			fault("known.txt lists %s, which %s names", row, place)
		}
	}
	for row := range rows {
		if named[row] == "" && !known[row] {
			fault("no test names %s: write one, or say in known.txt why not", row)
		}
	}
	slices.Sort(faults)
	return faults
}

// namedRows returns the rows that the tree's tests and their scripts name, each with one place.
func namedRows(t *testing.T, root string) map[string]string {
	t.Helper()
	named := map[string]string{}
	for _, dir := range testRoots {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "node_modules" {
					return fs.SkipDir
				}
				return nil
			}
			if filepath.Base(filepath.Dir(path)) == "conformance" {
				return nil // this package's own examples
			}
			script := strings.Contains(filepath.ToSlash(path), "/testdata/") && !strings.Contains(path, "fuzz")
			if !strings.HasSuffix(path, "_test.go") && !script {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range rowNamed.FindAllSubmatch(text, -1) {
				named[string(m[1])] = strings.TrimPrefix(filepath.ToSlash(path), root+"/")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return named
}

// Each row is held by a test that names it, or stands in the ledger with the reason; never both, never neither.
func TestRows(t *testing.T) {
	t.Parallel()
	named := namedRows(t, "../..")
	for _, fault := range check(rowsText, knownText, named) {
		t.Error(fault)
	}
	t.Logf("%d rows: %d tested, %d known", len(lines(rowsText, " ")), len(named), len(lines(knownText, " | ")))
}

// The check finds what it is for.
func TestCheck(t *testing.T) {
	t.Parallel()
	const rows, known = "ID-1 P0\nG-2 P1\nEX-3j P2\n", "EX-3j | later\n"
	named := map[string]string{"ID-1": "a_test.go", "G-2": "b_test.go"}
	if faults := check(rows, known, named); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	tests := []struct {
		name, rows, known string
		named             map[string]string
		want              string
	}{
		{"neither", rows, "", named, "no test names EX-3j: write one, or say in known.txt why not"},
		{"both", rows, known + "G-2 | no\n", named, "known.txt lists G-2, which b_test.go names"},
		{"unknown to the list", "ID-1 P0\nG-2 P1\n", known, named, "known.txt: EX-3j is not in rows.txt"},
		{
			"misspelt in a test", rows, known, map[string]string{"ID-1": "a", "G-2": "b", "G-22": "c_test.go"},
			"c_test.go names G-22, which is not in rows.txt",
		},
		{"no reason", rows, "EX-3j\n", named, "known.txt: EX-3j lacks its reason"},
		{"out of order", rows + "AL-1 P0\n", known + "AL-1 | x\n", named, "known.txt: AL-1 is out of order, or there twice"},
		{"no priority", rows + "AL-1\n", known, named, `rows.txt: "AL-1 " is no row with its priority, or is there twice`},
		{"twice", rows + "ID-1 P0\n", known, named, `rows.txt: "ID-1 P0" is no row with its priority, or is there twice`},
	}
	for _, tt := range tests {
		if faults := check(tt.rows, tt.known, tt.named); !slices.Contains(faults, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, faults, tt.want)
		}
	}
	text := "// ID-1, G-2: x\n{\"EX-3j a case\"} SOME-ID-7 KV-1x2 xG-3"
	var found []string
	for _, m := range rowNamed.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	if got := strings.Join(found, " "); got != "ID-1 G-2 EX-3j" {
		t.Errorf("found %s", got)
	}
}
