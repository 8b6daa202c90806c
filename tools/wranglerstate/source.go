package wranglerstate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	sqliteSuffix = ".sqlite"
	// platformPrefix begins the unique keys of miniflare's own objects.
	platformPrefix = "miniflare-"
)

// source is where state was found.
type source struct {
	root       string
	namespaces []folder
	platform   []folder
}

// folder is a directory of databases.
type folder struct {
	// path is where it is, shown the same relative to the root.
	path, shown string
	// uniqueKey is the name of the folder.
	uniqueKey string
}

// findSource looks for state in a directory: a project, its .wrangler or .wrangler/state, a v3 or do within that, the
// directory of a localDisk service, or the folder of one namespace.
func findSource(dir string) (source, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return source{}, fmt.Errorf("read source: %w", err)
	}
	s := source{root: dir}
	for _, below := range []string{"", "state", filepath.Join(".wrangler", "state")} {
		root := filepath.Join(dir, below)
		if isDir(filepath.Join(root, "v3")) || isDir(filepath.Join(root, "workerd")) {
			s.root = root
			err := errors.Join(s.addVersion(filepath.Join(root, "v3")), s.addDisk(filepath.Join(root, "workerd")))
			return s, s.check(dir, err)
		}
	}
	if isDir(filepath.Join(dir, "do")) {
		return s, s.check(dir, s.addVersion(dir))
	}
	if holdsDatabases(dir) { // one namespace
		abs, err := filepath.Abs(dir)
		s.root = filepath.Dir(abs)
		s.namespaces = []folder{s.folder(abs)}
		return s, s.check(dir, err)
	}
	return s, s.check(dir, s.addDisk(dir))
}

// check says where state was looked for when there is none.
func (s *source) check(dir string, err error) error {
	if err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	if len(s.namespaces)+len(s.platform) == 0 {
		return fmt.Errorf("no state in %s: it has neither the v3/do of wrangler dev nor, as a localDisk of workerd has, "+
			"a folder of *.sqlite files for each namespace", dir)
	}
	return nil
}

// addVersion adds miniflare's directory, in which do holds the user's objects, and every other folder those of a
// service of the platform.
func (s *source) addVersion(dir string) error {
	names, err := subfolders(dir)
	for _, name := range names {
		if name == "do" {
			err = errors.Join(err, s.addDisk(filepath.Join(dir, name)))
		} else {
			s.platform = append(s.platform, s.folder(filepath.Join(dir, name)))
		}
	}
	return err
}

// addDisk adds a directory of folders. One that has no databases itself, but folders of them, is a service of the
// platform: like workerd, which keeps queues/QueueShard there.
func (s *source) addDisk(dir string) error {
	names, err := subfolders(dir)
	for _, name := range names {
		f := s.folder(filepath.Join(dir, name))
		direct, nested := holdsDatabases(f.path), false
		if inner, _ := subfolders(f.path); !direct {
			nested = slices.ContainsFunc(inner, func(n string) bool { return holdsDatabases(filepath.Join(f.path, n)) })
		}
		switch {
		case nested, direct && strings.HasPrefix(name, platformPrefix):
			s.platform = append(s.platform, f)
		case direct:
			s.namespaces = append(s.namespaces, f)
		}
	}
	return err
}

func (s *source) folder(path string) folder {
	shown, err := filepath.Rel(s.root, path)
	if err != nil {
		shown = path
	}
	return folder{path: path, shown: filepath.ToSlash(shown), uniqueKey: filepath.Base(path)}
}

// countDatabases returns how many databases are in a folder and below.
func countDatabases(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(e.Name(), sqliteSuffix) && e.Name() != alarmsFile {
			n++
		}
		return err
	})
	return n, err
}

// subfolders returns the names of the folders in a directory, sorted; none when the directory is not there.
func subfolders(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && isDir(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// holdsDatabases reports whether a folder has a database directly in it.
func holdsDatabases(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(256)
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, sqliteSuffix) }) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// listing is what lies in a namespace's folder.
type listing struct {
	// ids are the file names of objects without their suffix, sorted.
	ids []string
	// facets are the databases of facets and their indexes, other those that are nothing known.
	facets, other []string
}

// list reads a namespace's folder.
func list(dir string) (l listing, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return l, err
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1024)
		for _, name := range names {
			l.add(name)
		}
		if len(names) == 0 {
			slices.Sort(l.ids)
			slices.SortFunc(l.facets, cmp.Compare)
			slices.SortFunc(l.other, cmp.Compare)
			if err != nil && !errors.Is(err, io.EOF) {
				return l, err
			}
			return l, nil
		}
	}
}

func (l *listing) add(name string) {
	base, database := strings.CutSuffix(name, sqliteSuffix)
	switch {
	case name == alarmsFile:
	case database && isID(base):
		l.ids = append(l.ids, base)
	case strings.HasSuffix(name, ".facets"), database && len(base) > idDigits && isID(base[:idDigits]) && base[idDigits] == '.':
		l.facets = append(l.facets, name)
	case database:
		l.other = append(l.other, name)
	}
}
