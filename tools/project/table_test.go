package project

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table of keys into docs/migrating.md")

// TestMigrating holds that the guide has the table that decides.
func TestMigrating(t *testing.T) {
	t.Parallel()
	const (
		path  = "../../docs/migrating.md"
		begin = "<!-- The table below is written by: go test ./tools/project -run TestMigrating -rewrite -->\n\n"
		end   = "<!-- end of the table -->"
	)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	table, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	if table == Table() {
		return
	}
	if !*rewrite {
		t.Fatalf("the table in %s is old; run: go test ./tools/project -run TestMigrating -rewrite", path)
	}
	if err := os.WriteFile(path, []byte(head+begin+Table()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
