package project

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoot(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"repo/.git", "repo/workers/a", "tree/workers/a", "repo/nested/.git", "repo/nested/b", "alone/c"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "tree", ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "repo", "workers"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"repo/workers/a": "repo", "repo": "repo", "tree/workers/a": "tree", "repo/nested/b": "repo/nested", "alone/c": "alone/c",
		"link/a": "repo",
	} {
		if got, err := Root(filepath.Join(top, dir)); err != nil || got != filepath.Join(top, want) {
			t.Errorf("%s: got %s, %v, want %s", dir, got, err, want)
		}
	}
	if _, err := Root(filepath.Join(top, "none")); err == nil {
		t.Error("a directory that is not there has a root")
	}
}
