package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/project"
)

// Stacks of projects meet in their root unless they are told not to, and take other ports unless they are told which.
func TestConfigureProjects(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "workers", "web")
	for _, d := range []string{dir, filepath.Join(root, ".git")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	list := []*project.Project{{Dir: dir, Port: 9000}, {Dir: root, Port: 9001}}
	sys := system{lookup: func(name string) (string, bool) { return "/run/me", name == "XDG_RUNTIME_DIR" }}
	for _, tc := range []struct {
		name      string
		flags     []string
		alone     bool
		ephemeral bool
		root      string
		port      int
		search    bool
	}{
		{name: "by default", root: root, port: 9000, search: true},
		{name: "alone", alone: true, port: 9000, search: true},
		{name: "ephemeral", ephemeral: true, port: 9000, search: true},
		{name: "with a port", flags: []string{"--port", "1234"}, root: root, port: 1234},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := dev.Options{StateDir: defaultStateDir, Ephemeral: tc.ephemeral, Port: 8787, DashboardPort: 8788}
			fs := pflag.NewFlagSet("dev", pflag.ContinueOnError)
			addDevFlags(fs, &o)
			if err := fs.Parse(tc.flags); err != nil {
				t.Fatal(err)
			}
			o.Ephemeral = tc.ephemeral
			if err := (&projectRun{flags: fs, alone: tc.alone}).configure(sys, &o, list); err != nil {
				t.Fatal(err)
			}
			if o.Root != tc.root || o.Port != tc.port || o.SearchPort != tc.search || !o.SearchDashboardPort {
				t.Errorf("root %q, port %d, search %v", o.Root, o.Port, o.SearchPort)
			}
			if tc.root != "" && o.RuntimeDir != "/run/me" {
				t.Errorf("runtime directory %q", o.RuntimeDir)
			}
			if !tc.ephemeral && o.StateDir != filepath.Join(dir, defaultStateDir) {
				t.Errorf("state directory %q", o.StateDir)
			}
		})
	}
}

// Two Workers of one name are refused before anything runs.
func TestWorkersOfOneName(t *testing.T) {
	t.Parallel()
	a, b := writeProject(t, goodConfiguration, goodScript), writeProject(t, goodConfiguration, goodScript)
	r := command(t, nil, "dev", a, b)
	if r.code != exitProject || !strings.Contains(r.stderr, `the Worker is named "shop", as is that of `) {
		t.Errorf("exit code %d, stderr:\n%s", r.code, r.stderr)
	}
}

// Without a DIR, the project of the current directory is run. Not parallel, for it changes that.
func TestProjectHere(t *testing.T) {
	t.Chdir(writeProject(t, `{"name": "shop", "mian": "index.ts"}`, goodScript))
	r := command(t, nil, "dev")
	if r.code != exitProject || !strings.Contains(r.stderr, "wrangler.jsonc") || !strings.Contains(r.stderr, `"mian"`) {
		t.Errorf("exit code %d, stderr:\n%s", r.code, r.stderr)
	}
	t.Chdir(t.TempDir())
	if dirs := projectsOf(nil); dirs != nil {
		t.Errorf("got %q where there is no project", dirs)
	}
}
