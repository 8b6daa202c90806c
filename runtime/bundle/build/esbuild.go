package build

import (
	"cmp"
	"maps"
	"strconv"

	"github.com/evanw/esbuild/pkg/api"
)

// banner opens the function that package isolate calls. A module is strict; a function that destructures its argument
// can't say so itself.
const banner = `"use strict"; (async function ({ require }) {`

// foundBanner does so where the script may import modules by a computed name: their list comes before the host's
// modules.
const foundBanner = `"use strict"; (async function ({ require: __tandem_host }) { const __tandem_found = Object.create(null), ` +
	`require = (name) => (__tandem_found[name] ?? (() => __tandem_host(name)))();`

// buildOptions are wrangler's, with the target replaced by what the engine can run.
func (b *Builder) buildOptions() api.BuildOptions {
	o, head := &b.o, banner
	if o.FindAdditionalModules {
		head = foundBanner
	}
	return api.BuildOptions{
		EntryPoints:   []string{o.Entry},
		AbsWorkingDir: o.Dir,
		Outfile:       "worker.js",
		Bundle:        true,
		Metafile:      true,
		Write:         false,
		// Nothing is written, and an input may have the name.
		AllowOverwrite: true,
		Format:         api.FormatESModule,
		Platform:       api.PlatformBrowser,
		Conditions:     []string{"workerd", "worker", "browser"},
		Target:         api.ESNext,
		Supported:      unsupported(),
		Charset:        api.CharsetUTF8, // the engine's parser panics on "\u{10FFFF}"
		LegalComments:  api.LegalCommentsNone,
		Banner:         map[string]string{"js": head},
		Sourcemap:      api.SourceMapExternal,
		// Traces need places, not text.
		SourcesContent: api.SourcesContentExclude,
		Define:         o.defines(),
		Loader: map[string]api.Loader{
			".js": api.LoaderJSX, ".mjs": api.LoaderJSX, ".cjs": api.LoaderJSX,
		},
		Tsconfig:    o.TSConfig,
		JSXFactory:  o.JSXFactory,
		JSXFragment: o.JSXFragment,
		KeepNames:   o.KeepNames,
		LogLevel:    api.LogLevelSilent,
		LogOverride: map[string]api.LogLevel{"empty-import-meta": api.LogLevelSilent},
		Plugins:     b.plugins(),
	}
}

// unsupported is the syntax that the engine cannot run, or runs wrongly.
func unsupported() map[string]bool {
	m := map[string]bool{}
	for _, feature := range []string{
		"async-generator",
		"decorators",
		"dynamic-import", // becomes a require, which the wrapping function has
		"for-await",
		"hashbang",
		"import-attributes",
		"import-meta",
		"regexp-match-indices",
		"regexp-set-notation",
		"regexp-unicode-property-escapes", // \p{…} never matches: package isolate expands it
		"using",
	} {
		m[feature] = false
	}
	return m
}

// defines are wrangler's, then the project's.
func (o *Options) defines() map[string]string {
	mode := strconv.Quote(cmp.Or(o.NodeEnv, string(o.Mode)))
	d := map[string]string{
		"process.env.NODE_ENV":            mode,
		"global.process.env.NODE_ENV":     mode,
		"globalThis.process.env.NODE_ENV": mode,
		"import.meta.url":                 strconv.Quote("file:///" + relative(o.Dir, o.Entry)),
	}
	if o.hasNavigator() {
		d["navigator.userAgent"] = `"Cloudflare-Workers"`
	}
	maps.Copy(d, o.Define)
	return d
}
