package storage

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
)

func TestOpenKeepsIdentityAndEpoch(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "state")
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := s.HostID()
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		t.Errorf("host ID %q, want 32 hex digits", id)
	}
	if got := s.Epoch(); got != 0 {
		t.Errorf("epoch of a new store: got %d, want 0", got)
	}
	for _, epoch := range []uint64{3, 3, 9} {
		if err := s.SetEpoch(epoch); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetEpoch(8); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("older epoch: got %v, want ErrStaleEpoch", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, Options{Dir: dir, FS: vfs.Default})
	if again.HostID() != id || again.Epoch() != 9 {
		t.Errorf("got host %s epoch %d, want %s and 9", again.HostID(), again.Epoch(), id)
	}
	other := openTest(t, Options{})
	if other.HostID() == id {
		t.Error("two stores have one host ID")
	}
}

func TestOpenRefusesSecondOpener(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]vfs.FS{"disk": vfs.Default, "memory": vfs.NewMem()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			s := openTest(t, Options{Dir: dir, FS: files})
			_, err := Open(Options{Dir: dir, FS: files})
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
				t.Errorf("second opener: got %v, want ErrLocked that names %s", err, dir)
			}
			mustPut(t, named(s, "a"), "k", "v")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			openTest(t, Options{Dir: dir, FS: files})
		})
	}
}

// overwrite returns a function that overwrites the files of a store that match a pattern, of which there is at least one.
func overwrite(pattern, content string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, path := range glob(t, dir, pattern) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// remove returns a function that removes the files of a store that match a pattern, of which there is at least one.
func remove(pattern string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, path := range glob(t, dir, pattern) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s matches nothing (%v)", pattern, err)
	}
	return paths
}

// A directory that this version must not open is named and left as it is, byte for byte.
func TestOpenLeavesAlone(t *testing.T) {
	t.Parallel()
	host := "host 0123456789abcdef0123456789abcdef\n"
	tests := []struct {
		name   string
		damage func(*testing.T, string)
		want   error
	}{
		{"newer format", overwrite("STORE", "tandem object store\nformat 2\n"+host), ErrFormat},
		{"newer format with more in it", overwrite("STORE", "tandem object store\nformat 12\nshape new\n"), ErrFormat},
		{"foreign file", overwrite("STORE", "something else\n"), ErrCorrupt},
		{"empty file", overwrite("STORE", ""), ErrCorrupt},
		{"no format", overwrite("STORE", "tandem object store\n"+host), ErrCorrupt},
		{"format zero", overwrite("STORE", "tandem object store\nformat 0\n"+host), ErrCorrupt},
		{"no host", overwrite("STORE", "tandem object store\nformat 1\n"), ErrCorrupt},
		{"short host", overwrite("STORE", "tandem object store\nformat 1\nhost 01\n"), ErrCorrupt},
		{"database without STORE", remove("STORE"), ErrCorrupt},
		{"STORE without database", remove("db/*"), ErrCorrupt},
		{"STORE without the database's directory", remove("db"), ErrCorrupt},
		{"manifest missing", remove("db/MANIFEST-*"), ErrCorrupt},
		{"manifest garbled", overwrite("db/MANIFEST-*", strings.Repeat("garbage", 100)), ErrCorrupt},
		{"tables missing", remove("db/*.sst"), ErrCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			makeStore(t, dir)
			tt.damage(t, dir)
			before := snapshot(t, dir)
			s, err := Open(Options{Dir: dir})
			if err == nil {
				_ = s.Close()
				t.Fatal("it opened")
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want %v that names %s", err, tt.want, dir)
			}
			if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
				t.Errorf("the directory changed (-before +after):\n%s", diff)
			}
		})
	}
}

// makeStore makes a store with data in tables and in the log.
func makeStore(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	o := named(s, "a")
	mustPut(t, o, "table", "v")
	mustFlush(t, o)
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, o, "log", "v")
	mustFlush(t, o)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// snapshot returns the contents of the files below a directory. The lock's file has none that counts.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A store whose making was interrupted at any point is made again.
func TestOpenFinishesInterruptedMaking(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "STORE")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "STORE.new"), []byte("tand"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, Options{Dir: dir, FS: vfs.Default})
	o := named(again, "a")
	mustPut(t, o, "k", "v")
	mustFlush(t, o)
}

func TestOpenRefusesBadOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"no directory", Options{}, "no directory"},
		{"cache", Options{Dir: "/s", CacheBytes: -1}, "caches of -1 and"},
		{"key limit", Options{Dir: "/s", Limits: Limits{KeyBytes: 70000}}, "KeyBytes is 70000, want 1 to 65535"},
		{"all faults at once", Options{Dir: "/s", Limits: Limits{KeyBytes: -1, GetKeys: -1}}, "GetKeys is -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.o.FS = vfs.NewMem()
			if _, err := Open(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// Opening, writing and closing a sound store says nothing.
func TestLogIsQuiet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(io.Writer(&out), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := openTest(t, Options{Log: log})
	o := named(s, "a")
	mustPut(t, o, "k", "v")
	mustFlush(t, o)
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("logged:\n%s", out.String())
	}
}
