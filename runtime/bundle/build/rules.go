package build

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The most that find_additional_modules takes.
const (
	maxFound      = 2000
	maxModuleSize = 32 << 20
)

// defaultRules come after the project's. Like wrangler: deployment-bundle/rules.ts.
func defaultRules() []Rule {
	return []Rule{
		{Type: Text, Globs: []string{"**/*.txt", "**/*.html", "**/*.sql"}},
		{Type: Data, Globs: []string{"**/*.bin"}},
		{Type: CompiledWasm, Globs: []string{"**/*.wasm", "**/*.wasm?module"}},
	}
}

// matcher is one glob of a rule.
type matcher struct {
	rule    Rule
	glob    string
	pattern *regexp.Regexp
	// hidden says that an earlier rule of the type lets no later one apply.
	hidden bool
}

// matchers returns the globs of the project's rules and the default ones in their order. dropped says which default or
// later rules a rule without an explicit fallthrough hides.
func matchers(project []Rule) (list []matcher, dropped []string) {
	closed := map[ModuleType]*Rule{}
	for _, r := range append(append([]Rule(nil), project...), defaultRules()...) {
		by := closed[r.Type]
		for _, g := range r.Globs {
			list = append(list, matcher{rule: r, glob: g, pattern: globPattern(g), hidden: by != nil})
		}
		switch {
		case by != nil && by.Fallthrough == nil:
			dropped = append(dropped,
				fmt.Sprintf("the module rule for %s %q hides the one for %q; set its fallthrough to true to have both, "+
					"or to false to say so", r.Type, by.Globs, r.Globs))
		case by == nil && (r.Fallthrough == nil || !*r.Fallthrough):
			closed[r.Type] = &r
		}
	}
	return list, dropped
}

// globPattern makes a pattern of a glob in which an asterisk is anything, slashes too. Like wrangler: glob-to-regexp
// without its options.
func globPattern(glob string) *regexp.Regexp {
	parts := strings.Split(glob, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

// rules makes text and data of the files that a rule names. Like wrangler: the glob has to match what the import says.
func (b *Builder) rules(p api.PluginBuild) {
	list, dropped := matchers(b.o.Rules)
	p.OnStart(func() (api.OnStartResult, error) {
		for _, text := range dropped {
			b.seen.warn(text)
		}
		return api.OnStartResult{}, nil
	})
	for _, m := range list {
		if m.rule.Type == ESModule || m.rule.Type == CommonJS { // esbuild bundles scripts of either kind
			continue
		}
		p.OnResolve(api.OnResolveOptions{Filter: m.pattern.String()}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if _, again := a.PluginData.(ours); again || a.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{}, nil
			}
			return b.resolveModule(p, m, a)
		})
	}
	p.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespaceModule}, b.loadModule)
}

// resolveModule names a file by its place in the project, so that the same project gives the same bundle anywhere.
func (b *Builder) resolveModule(p api.PluginBuild, m matcher, a api.OnResolveArgs) (api.OnResolveResult, error) {
	switch {
	case m.hidden:
		return api.OnResolveResult{}, fmt.Errorf("%q matches the rule for %s %q, which an earlier rule of that type without "+
			"fallthrough hides", a.Path, m.rule.Type, m.rule.Globs)
	case m.rule.Type == CompiledWasm:
		return api.OnResolveResult{}, fmt.Errorf("%q is a WebAssembly module; tandem does not run WebAssembly", a.Path)
	}
	name, _, _ := strings.Cut(a.Path, "?")
	r := p.Resolve(name, api.ResolveOptions{ResolveDir: a.ResolveDir, Importer: a.Importer, Kind: a.Kind,
		PluginData: ours{}})
	if len(r.Errors) > 0 {
		return api.OnResolveResult{}, fmt.Errorf("could not resolve %q", a.Path)
	}
	return api.OnResolveResult{
		Path: relative(b.o.Dir, r.Path), Namespace: namespaceModule, Suffix: "?" + string(m.rule.Type),
		PluginData: modulePath(r.Path), WatchFiles: []string{r.Path},
	}, nil
}

// modulePath is the absolute path of a text or data file.
type modulePath string

// loadModule reads a text or data file.
func (b *Builder) loadModule(a api.OnLoadArgs) (api.OnLoadResult, error) {
	at, ok := a.PluginData.(modulePath)
	if !ok {
		return api.OnLoadResult{}, fmt.Errorf("no path of %s is known", a.Path)
	}
	path := string(at)
	b.seen.file(path)
	content, err := readBounded(path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	code, loader := string(content), api.LoaderText
	if a.Suffix == "?"+string(Data) {
		loader = api.LoaderJS
		code = fmt.Sprintf("export default Uint8Array.fromBase64(%q).buffer;", base64.StdEncoding.EncodeToString(content))
	}
	return api.OnLoadResult{Contents: &code, Loader: loader, WatchFiles: []string{path}}, nil
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxModuleSize {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", path, info.Size(), maxModuleSize)
	}
	return os.ReadFile(path)
}

// findModules returns the files under BaseDir that a rule names, but the entry, and the directories that were looked at.
func findModules(o *Options) (files, dirs []string, err error) {
	list, _ := matchers(o.Rules)
	err = filepath.WalkDir(o.BaseDir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != o.BaseDir && IsToolDirectory(d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			dirs = append(dirs, path)
		case path != o.Entry && matchesAny(list, relative(o.BaseDir, path)):
			if files = append(files, path); len(files) > maxFound {
				return errTooMany
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("find additional modules: %w", err)
	}
	return files, dirs, nil
}

// matchesAny says whether a rule makes a module of a file.
func matchesAny(list []matcher, name string) bool {
	for _, m := range list {
		if !m.hidden && m.rule.Type != CompiledWasm && (m.pattern.MatchString(name) || m.pattern.MatchString("./"+name)) {
			return true
		}
	}
	return false
}

// IsToolDirectory says whether a directory of this name holds what tools keep, and no source of a project's own.
func IsToolDirectory(name string) bool {
	return slices.Contains([]string{"node_modules", ".git", ".wrangler", ".tandem"}, name)
}

var errTooMany = errors.New("more than 2000 files match the rules")
