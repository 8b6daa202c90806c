package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/tools/dev"
)

// recordedState is what wrangler wrote.
const recordedState = "../../tools/wranglerstate/testdata/wrangler"

func TestImport(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	for _, test := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"dry run", []string{recordedState, "--dry-run"}, exitOK, "to import 7 objects", ""},
		{"first", []string{recordedState}, exitOK, "imported 7 objects", ""},
		{"again", []string{recordedState}, exitOK, "3 already there, 1 with SQL tables alone", ""},
		{"the store itself", []string{recordedState, "--state-dir", dev.ObjectsDir(dir)}, exitOK, "4 already there, 1 empty", ""},
		{"renamed, without names", []string{recordedState, "--rename", "recorded-Room=chat-Room"}, exitFailure,
			"recorded-Room as chat-Room", "tandem: not everything came over: 4 findings, see above\n"},
		{"no state", []string{t.TempDir()}, exitFailure, "", "tandem: no state in "},
		{"no argument", nil, exitUsage, "", "tandem import takes one directory"},
		{"bad mapping", []string{recordedState, "--rename", "x"}, exitUsage, "", `--rename "x" is not OLD=NEW`},
		{"no file of names", []string{recordedState, "--names", "/nonexistent"}, exitUsage, "", "--names: open /nonexistent"},
	} {
		got := command(t, nil, append([]string{"import", "--state-dir", dir}, test.args...)...)
		if got.code != test.code || !strings.Contains(got.stdout, test.stdout) || !strings.Contains(got.stderr, test.stderr) {
			t.Errorf("%s: code %d\n%s%s", test.name, got.code, got.stdout, got.stderr)
		}
		if _, err := os.Stat(dir); test.name == "dry run" && err == nil {
			t.Error("a dry run has made the state directory")
		}
	}
}

func TestImportWithNames(t *testing.T) {
	t.Parallel()
	names := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(names, []byte("values\r\nunset\nnobody"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "import", recordedState, "--state-dir", filepath.Join(t.TempDir(), "s"),
		"--rename", "recorded-Room=chat-Room", "--names", names)
	if got.code != exitFailure || !strings.Contains(got.stdout, "2 imported") {
		t.Errorf("code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// A directory that is not tandem's, or that another process holds, is refused.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, nil, "import", recordedState, "--state-dir", foreign); got.code != exitState {
		t.Errorf("a directory of others: code %d\n%s", got.code, got.stderr)
	}
	dir := t.TempDir()
	held, err := dev.HoldState(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	got := command(t, nil, "import", recordedState, "--state-dir", dir)
	want := fmt.Sprintf("state directory %s is in use by another tandem (pid %d): stop it first", dir, os.Getpid())
	if got.code != exitBusy || !strings.Contains(got.stderr, want) {
		t.Errorf("a directory that is held: code %d\n%s", got.code, got.stderr)
	}
}
