package build

import (
	"fmt"
	"maps"
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

// host leaves what the host provides to run time, and notes what it does not.
func (b *Builder) host(p api.PluginBuild) {
	provided := map[string]bool{}
	for _, name := range b.o.Modules {
		provided[name] = true
	}
	all, hooks := b.o.nodeCompat()
	filter := "^(cloudflare:|workerd:|node:|(" + strings.Join(nodeBuiltins(), "|") + ")$)"
	p.OnResolve(api.OnResolveOptions{Filter: filter}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if a.Namespace == namespaceHost { // the require of the module that stands for it
			return api.OnResolveResult{Path: a.Path, External: true}, nil
		}
		name, node := a.Path, !strings.HasPrefix(a.Path, "cloudflare:") && !strings.HasPrefix(a.Path, "workerd:")
		if node && !strings.HasPrefix(name, "node:") {
			if !all { // an npm package may have the name
				b.seen.refuse(a.Path, needsFlag("node:"+name))
				return api.OnResolveResult{}, nil
			}
			name = "node:" + name
		}
		switch {
		case node && !all && (name != "node:async_hooks" || !hooks):
			b.seen.refuse(a.Path, needsFlag(name))
		case !provided[name]:
			b.seen.refuse(a.Path, fmt.Sprintf("%s is not supported; there are %s; an alias can put a module of yours in its place",
				name, listed(maps.Keys(provided), name)))
		default:
			return api.OnResolveResult{Path: name, Namespace: namespaceHost}, nil
		}
		return api.OnResolveResult{}, nil
	})
	p.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespaceHost}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		code := fmt.Sprintf("module.exports = require(%q);", a.Path)
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: b.o.Dir}, nil
	})
}

func needsFlag(name string) string {
	return fmt.Sprintf(`%s is part of Node.js; add "nodejs_compat" to compatibility_flags`, name)
}

// listed returns those names that have the scheme of one.
func listed(names func(func(string) bool), of string) string {
	scheme, _, _ := strings.Cut(of, ":")
	var list []string
	for name := range names {
		if strings.HasPrefix(name, scheme+":") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// nodeBuiltins are the modules that Node.js has under a name of one word.
func nodeBuiltins() []string {
	return strings.Fields(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel
		dns domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline
		repl stream string_decoder sys timers tls tty url util v8 vm wasi worker_threads zlib assert/strict dns/promises
		fs/promises path/posix path/win32 readline/promises stream/consumers stream/promises stream/web timers/promises
		util/types`)
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
