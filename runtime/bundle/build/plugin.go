package build

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The namespaces of what is not read as esbuild would.
const (
	// namespaceHost has modules that the host provides.
	namespaceHost = "host"
	// namespaceModule has files that a rule makes text or data.
	namespaceModule = "module"
	// namespaceFound has the one list of additional modules.
	namespaceFound = "found"
)

// ours marks a resolution that a plugin asks for, so that it does not meet that plugin again.
type ours struct{}

// plugins returns them in their order: the first that resolves a name decides.
func (b *Builder) plugins() []api.Plugin {
	list := []api.Plugin{
		{Name: "alias", Setup: b.alias},
		{Name: "host", Setup: b.host},
		{Name: "rules", Setup: b.rules},
	}
	if b.o.FindAdditionalModules {
		list = append(list, api.Plugin{Name: "found", Setup: b.found})
	}
	return list
}

// alias replaces imported names. Like wrangler: whole names only, and resolved from the project's directory.
func (b *Builder) alias(p api.PluginBuild) {
	if len(b.o.Alias) == 0 {
		return
	}
	var names []string
	for name := range b.o.Alias {
		names = append(names, regexp.QuoteMeta(name))
	}
	slices.Sort(names)
	filter := "^(" + strings.Join(names, "|") + ")$"
	p.OnResolve(api.OnResolveOptions{Filter: filter}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if _, again := a.PluginData.(ours); again {
			return api.OnResolveResult{}, nil
		}
		target := b.o.Alias[a.Path]
		r := p.Resolve(target, api.ResolveOptions{ResolveDir: b.o.Dir, Kind: a.Kind, PluginData: ours{}})
		if len(r.Errors) > 0 {
			return api.OnResolveResult{}, fmt.Errorf("alias %q: could not resolve %q", a.Path, target)
		}
		return api.OnResolveResult{Path: r.Path, Namespace: r.Namespace, External: r.External, PluginData: r.PluginData}, nil
	})
}

// found lets the script import what it names only at run time: a list of all additional modules goes into the script.
func (b *Builder) found(p api.PluginBuild) {
	p.InitialOptions.Inject = append(p.InitialOptions.Inject, namespaceFound+":modules")
	p.OnResolve(api.OnResolveOptions{Filter: "^" + namespaceFound + ":modules$"},
		func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: "modules", Namespace: namespaceFound, SideEffects: api.SideEffectsTrue}, nil
		})
	p.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespaceFound}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
		files, dirs, err := findModules(&b.o)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		code := foundSource(&b.o, files)
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: b.o.BaseDir, WatchFiles: files,
			WatchDirs: dirs}, nil
	})
}

// foundSource is the module that fills the list, which the banner declares. Names are as the entry would import them.
func foundSource(o *Options, files []string) string {
	var b strings.Builder
	for _, f := range files {
		name := relative(filepath.Dir(o.Entry), f)
		if !strings.HasPrefix(name, ".") {
			name = "./" + name
		}
		fmt.Fprintf(&b, "__tandem_found[%q] = () => require(%q);\n", name, "./"+relative(o.BaseDir, f))
	}
	return b.String()
}
