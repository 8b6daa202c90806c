package dev

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree returns every file below dir with its text; a folder ends in a slash.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			out[path+"/"] = ""
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStateDir(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		// want is in the error; empty means that the directory opens.
		want string
	}{
		{"empty", nil, ""},
		{"known format", map[string]string{"format": "tandem state 1\n", "router/x": "1"}, ""},
		{"left while it was made", map[string]string{"lock": "", "pid": "1\n", "format.part": ""}, ""},
		{"newer", map[string]string{"format": "tandem state 2\n", "router/x": "1"},
			"newer tandem: format 2, known here up to 1"},
		{"foreign", map[string]string{"package.json": "{}"}, "is not tandem's"},
		{"foreign with a lock", map[string]string{"lock": "", "package.json": "{}"}, "is not tandem's"},
		{"corrupt", map[string]string{"format": "tandem st\x00", "router/x": "1"}, "is corrupt"},
		{"corrupt number", map[string]string{"format": "tandem state -1\n"}, "is corrupt"},
		{"empty format", map[string]string{"format": "", "router/x": "1"}, "is corrupt"},
		{"large format", map[string]string{"format": strings.Repeat("tandem state 1\n", 10)}, "is corrupt"},
		{"format is a folder", map[string]string{"format/x": "", "router/x": "1"}, "is corrupt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range test.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, dir)
			d, err := openState(dir)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := d.close(); err != nil {
					t.Fatal(err)
				}
				if _, err := openState(dir); err != nil {
					t.Errorf("opened again: %v", err)
				}
				return
			}
			var state *StateError
			if !errors.As(err, &state) || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "left untouched") {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("the directory was touched:\n%s", diff)
			}
		})
	}
}

func TestStateDirThatIsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var state *StateError
	if _, err := openState(path); !errors.As(err, &state) {
		t.Errorf("got %v", err)
	}
}

func TestStateDirIsMadePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b")
	d, err := openState(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if d.orphaned {
		t.Error("a new directory counts as left by a killed supervisor")
	}
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		o    Options
		want string
	}{
		{"free ports", Options{Ephemeral: true}, ""},
		{"one port twice", Options{Ephemeral: true, Port: 1, AuthPort: 1}, "--port and --auth-port are both 1"},
		{"port too high", Options{Ephemeral: true, OTLPPort: 65536}, "--otlp-port 65536 is out of range"},
		{"negative port", Options{Ephemeral: true, Port: -1}, "--port -1 is out of range"},
		{"no directory", Options{}, "a state directory is needed"},
		{"ratio", Options{Ephemeral: true, TraceRatio: 1.5}, "--trace-ratio 1.5 is out of range"},
	} {
		err := test.o.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestListenInode(t *testing.T) {
	t.Parallel()
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2253 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:2254 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 20 4 30 10 -1
short line
`
	for port, want := range map[int]string{8787: "111", 8788: "", 1: ""} {
		if got := listenInode(table, port); got != want {
			t.Errorf("port %d: inode %q, want %q", port, got, want)
		}
	}
}
