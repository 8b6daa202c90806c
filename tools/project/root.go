package project

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root returns the root of the project that a directory belongs to: the nearest directory from it upwards that has .git,
// a folder or, in a worktree, a file; the directory itself if there is none. It is absolute, without symbolic links.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("find the root of %s: %w", dir, err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return abs, nil
		}
	}
}
