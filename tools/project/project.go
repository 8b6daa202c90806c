package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/bundle/build"
)

// Options say what to read. The zero value is the project of the working directory, in development.
type Options struct {
	// Path is a project's directory or its configuration file; empty means the working directory. As in wrangler, a
	// directory's configuration may stand in one above it.
	Path string
	// Environment chooses env.<name>; empty means the top level.
	Environment string
	// Production leaves out what is of development only: .dev.vars, .env and preview IDs.
	Production bool
	// Process are the process's environment variables. As in wrangler, they are secrets only when the configuration
	// says which secrets there are, or if CLOUDFLARE_INCLUDE_PROCESS_ENV is true, and NODE_ENV is that of the script.
	Process map[string]string
}

// Project is what its files say.
type Project struct {
	// Dir is the directory of the configuration, File its path; both are absolute.
	Dir, File string
	// Manifest is what a process has to know. What only a build knows is missing: see build.Result.Bundle.
	Manifest bundle.Manifest
	// Build says how the script is built.
	Build build.Options
	// Command runs before a build; nil if there is none.
	Command *build.Command
	// Secrets are the values of secrets that were found, by name: development only.
	Secrets map[string]string
	// Port is dev.port, or 0.
	Port int
	// Files are all that decided, and those that would if they were there: absolute paths, sorted.
	Files []string
	// Diagnostics are warnings and notes, by their places.
	Diagnostics []Diagnostic
	// Keys are the paths of the keys that were there and are not supported, each once, sorted.
	Keys []string

	// main is what to say when the script's file is not there.
	main Diagnostic
}

// FileNames are the names of a configuration, the one that counts first. Like wrangler: config-helpers.ts.
func FileNames() []string { return []string{"wrangler.json", "wrangler.jsonc", "wrangler.toml"} }

// ErrNotFound is that there is no configuration.
var ErrNotFound = errors.New("no wrangler.json, wrangler.jsonc or wrangler.toml")

// Find returns the absolute path of the configuration of a directory, or of the nearest above it, or of the file
// itself. The error is ErrNotFound or of the file system.
func Find(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find project: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("find project: %w", err)
	}
	if !info.IsDir() {
		if ext := filepath.Ext(abs); ext != ".json" && ext != ".jsonc" && ext != ".toml" {
			return "", fmt.Errorf("find project: %s is neither a directory nor a .json, .jsonc or .toml file", path)
		}
		return abs, nil
	}
	for _, name := range FileNames() { // a name counts more than a place
		for dir := abs; ; dir = filepath.Dir(dir) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && !info.IsDir() {
				return file, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("find project: %w in %s or above it", ErrNotFound, path)
}

// Load reads a project. A fault of its files is an *Error with all that was found; other errors are of the file
// system, or ErrNotFound.
func Load(o Options) (*Project, error) {
	file, err := Find(o.Path)
	if err != nil {
		return nil, err
	}
	data, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	p := &Project{Dir: filepath.Dir(file), File: file, Files: []string{file}}
	return p, p.load(&o, data)
}

// load fills the project.
func (p *Project) load(o *Options, data []byte) error {
	d, fault := parse(shown(p.File), data)
	if fault != nil {
		return &Error{Diagnostics: []Diagnostic{*fault}}
	}
	c := &checker{document: d}
	s := newSchema()
	chosen := c.choose(s, o.Environment)
	c.value(s, "", chosen)
	dec := &decoder{checker: c, o: o, p: p, v: chosen, used: map[string]string{}}
	dec.all()
	slices.Sort(p.Files)
	slices.SortStableFunc(c.list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, int(a.Severity-b.Severity),
			cmp.Compare(a.Message, b.Message))
	})
	slices.Sort(c.keys)
	p.Keys = slices.Compact(c.keys)
	var failed []Diagnostic
	for _, g := range c.list {
		if g.Severity == SeverityError {
			failed = append(failed, g)
		} else {
			p.Diagnostics = append(p.Diagnostics, g)
		}
	}
	if len(failed) > 0 {
		return &Error{Diagnostics: failed}
	}
	return nil
}

// readFile reads a file that is not larger than any of a project's should be.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a file")}
	}
	if info.Size() > maxFileBytes {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes, at most %d", info.Size(), maxFileBytes)}
	}
	return os.ReadFile(path)
}

// shown is a path as messages have it: relative to the working directory if it is below.
func shown(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}
