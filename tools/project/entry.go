package project

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandem-do/tandem/runtime/bundle/build"
)

// maxSeen is how many files and directories are looked at for one that main could mean.
const maxSeen = 2000

// explain says of a build that failed for want of its main file where the configuration names that, and which file it
// could mean. Other errors stay as they are.
func (p *Project) explain(err error) error {
	failed, ok := errors.AsType[*build.Error](err)
	if !ok || !failed.NoEntry {
		return err
	}
	g := p.main
	if rel, err := filepath.Rel(p.Dir, p.Build.Entry); err == nil {
		g.Message += nearScript(filepath.ToSlash(rel), p.scripts())
	}
	return &Error{Diagnostics: []Diagnostic{g}}
}

// nearScript returns a question for the script that main could mean, or nothing: one of a name that is near, else one of
// the same name elsewhere.
func nearScript(main string, scripts []string) string {
	if near := suggestion(main, scripts); near != "" {
		return near
	}
	stem := func(name string) string { return strings.TrimSuffix(path.Base(name), path.Ext(name)) }
	if i := slices.IndexFunc(scripts, func(s string) bool { return stem(s) == stem(main) }); i >= 0 {
		return suggestion(scripts[i], scripts[i:i+1])
	}
	return ""
}

// scripts are the scripts of the project's directory and of those in it, as main would name them.
func (p *Project) scripts() []string {
	var list []string
	seen := 0
	_ = filepath.WalkDir(p.Dir, func(file string, d fs.DirEntry, err error) error { // what can't be read is not meant
		if seen++; seen > maxSeen {
			return fs.SkipAll
		}
		rel, relErr := filepath.Rel(p.Dir, file)
		if err != nil || relErr != nil || file == p.Dir {
			return nil
		}
		name := d.Name()
		if d.IsDir() {
			if name[0] == '.' || name == "node_modules" || strings.Count(rel, string(filepath.Separator)) > 1 {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx":
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	return list
}
