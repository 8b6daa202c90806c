package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/tandem-do/tandem/runtime/compatibility"
)

// workersModules are those of Cloudflare's that the host provides.
func workersModules() []string { return []string{"cloudflare:workers"} }

// hostModules says what the host provides to a script.
type hostModules struct {
	flags map[string]bool
	node  map[string]compatibility.NodeModule
}

func newHostModules(o *Options) *hostModules {
	h := &hostModules{
		flags: compatibility.Resolve(o.CompatibilityDate, o.CompatibilityFlags), node: map[string]compatibility.NodeModule{},
	}
	for _, m := range compatibility.NodeModules() {
		h.node[m.Name] = m
	}
	return h
}

// find returns the module that an import names, or why there is none.
func (h *hostModules) find(name string) (module, reason string) {
	scheme, _, schemed := strings.Cut(name, ":")
	if schemed && scheme != "node" {
		if slices.Contains(workersModules(), name) {
			return name, ""
		}
		return "", fmt.Sprintf("there is only %s of that kind", strings.Join(workersModules(), ", "))
	}
	if !schemed {
		name = "node:" + name
	}
	m, known := h.node[name]
	switch {
	case !known:
		return "", name + " is not supported; an alias can put a module of yours in its place"
	case m.On(h.flags) && (schemed || h.flags["nodejs_compat"]):
		return name, ""
	}
	return "", fmt.Sprintf("%s is part of Node.js; add %q to compatibility_flags", name, m.Flags[0])
}

// host leaves what the host provides to run time, and notes what it does not. esbuild then looks for a package of the
// name, and lets an import fail that may.
func (b *Builder) host(p api.PluginBuild) {
	modules := newHostModules(&b.o)
	filter := "^(cloudflare:|workerd:|node:|(" + strings.Join(nodeBuiltins(), "|") + ")$)"
	p.OnResolve(api.OnResolveOptions{Filter: filter}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if a.Namespace == namespaceHost { // the require of the module that stands for it
			return api.OnResolveResult{Path: a.Path, External: true}, nil
		}
		name, reason := modules.find(a.Path)
		if reason != "" {
			b.seen.refuse(a.Path, reason)
			return api.OnResolveResult{}, nil
		}
		return api.OnResolveResult{Path: name, Namespace: namespaceHost}, nil
	})
	p.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespaceHost}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		code := fmt.Sprintf("module.exports = require(%q);", a.Path)
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: b.o.Dir}, nil
	})
}

// nodeBuiltins are the modules that Node.js has under a name without its scheme.
func nodeBuiltins() []string {
	return strings.Fields(`assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
		diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector module net os path
		path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream
		stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tls tty url util util/types v8
		vm wasi worker_threads zlib`)
}
