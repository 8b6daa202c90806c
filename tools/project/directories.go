package project

import (
	"io/fs"
	"path/filepath"

	"github.com/tandem-do/tandem/runtime/bundle/build"
)

// directories returns a directory and those below, but for what packages and tools keep. A file gives the one that it
// is in.
func directories(root string) []string {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // it may be gone, and comes again
		case !e.IsDir():
			if path == root {
				dirs = append(dirs, filepath.Dir(path))
			}
			return nil
		case path != root && build.IsToolDirectory(e.Name()):
			return fs.SkipDir
		}
		if dirs = append(dirs, path); len(dirs) >= maxWatched {
			return fs.SkipAll
		}
		return nil
	})
	return dirs
}
