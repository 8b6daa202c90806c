package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// project writes files into a directory, and returns options that build main.
func project(t testing.TB, main string, files map[string]string) Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return Options{
		Dir: dir, Entry: filepath.Join(dir, main), CompatibilityDate: "2026-04-01", CompatibilityFlags: []string{"nodejs_compat"},
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a script on the engine and returns what it exports. The host has modules that say their name.
func run(t *testing.T, code string) *goja.Object {
	t.Helper()
	rt := goja.New()
	polyfill := `Symbol.asyncIterator ??= Symbol("Symbol.asyncIterator"); Symbol.dispose ??= Symbol("Symbol.dispose")
		class DurableObject {} class WorkerEntrypoint {}`
	if _, err := rt.RunString(polyfill); err != nil {
		t.Fatal(err)
	}
	f, err := rt.RunString(code)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, code)
	}
	call, ok := goja.AssertFunction(f)
	if !ok {
		t.Fatalf("the script's value is %v, want a function", f)
	}
	host := rt.NewObject()
	err = host.Set("require", func(name string) (*goja.Object, error) {
		if found, reason := newHostModules(&Options{CompatibilityFlags: []string{"nodejs_compat"}}).find(name); found != name {
			return nil, fmt.Errorf("no such module %q: %s", name, reason)
		}
		m := rt.NewObject()
		err := m.Set("module", name)
		v, _ := rt.RunString("(class DurableObject {})")
		_ = m.Set("DurableObject", v)
		_ = m.Set("readFileSync", func() string { return name })
		return m, err
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := call(goja.Undefined(), host)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	p, ok := v.Export().(*goja.Promise)
	if !ok {
		t.Fatalf("the function returns %v, want a promise", v)
	}
	if p.State() != goja.PromiseStateFulfilled {
		t.Fatalf("the promise is %v: %v\n%s", p.State(), p.Result(), code)
	}
	return p.Result().ToObject(rt)
}

func TestBuild(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		main    string
		files   map[string]string
		options func(*Options)
		// want is what the default export is, as JSON; exports are the names.
		want    string
		exports []string
		format  bundle.Format
	}{
		{
			name: "TypeScript with an import",
			main: "src/index.ts",
			files: map[string]string{
				"src/index.ts": `import { add } from "./add"; enum E { A = 1 }; export default { n: add(E.A, 2) as number }; export class Room {}`,
				"src/add.ts":   `export const add = (a: number, b: number): number => a + b`,
			},
			want: `{"n":3}`, exports: []string{"Room", "default"},
		},
		{
			name:  "JSX with a factory",
			main:  "index.jsx",
			files: map[string]string{"index.jsx": `const h = (...a) => a; export default <p a="b">x</p>`},
			options: func(o *Options) {
				o.JSXFactory, o.JSXFragment = "h", "null"
			},
			want: `["p",{"a":"b"},"x"]`, exports: []string{"default"},
		},
		{
			name: "what the engine can't parse is lowered",
			main: "index.js",
			files: map[string]string{"index.js": `
				class A { get = 1; set = 2; static async = 3; #p = 4; p() { return this.#p } accessor q = 5; }
				async function* g() { yield 1; yield 2 }
				let sum = 0; for await (const x of g()) sum += x;
				{ using d = { [Symbol.dispose]() { sum *= 10 } } }
				const a = new A(); export default [a.get, a.set, A.async, a.p(), a.q, sum, "\u{1F600}".length]`},
			want: `[1,2,3,4,5,30,2]`, exports: []string{"default"},
		},
		{
			name:  "top-level await, a computed and a renamed export",
			main:  "index.js",
			files: map[string]string{"index.js": `const x = await Promise.resolve(7); let y = 1; export { x as default, y as "a-b", y as new }; y = 2`},
			want:  `7`, exports: []string{"a-b", "default", "new"},
		},
		{
			name: "host modules, with and without their scheme, by import and require",
			main: "index.js",
			files: map[string]string{"index.js": `
				import { DurableObject, module } from "cloudflare:workers"; import path from "path"; import * as buffer from "node:buffer";
				export class Room extends DurableObject {}
				const events = require("events"), util = await import("node:util");
				export default [module, path.module, buffer.module, events.module, util.module, typeof DurableObject]`},
			want: `["cloudflare:workers","node:path","node:buffer","node:events","node:util","function"]`, exports: []string{"Room", "default"},
		},
		{
			name: "async_hooks alone, and packages of a module's name", main: "index.js",
			files: map[string]string{
				"index.js":                     `import h from "node:async_hooks"; import e from "events"; import f from "fs"; export default [h.module, e, f]`,
				"node_modules/events/index.js": `export default "package"`,
				"node_modules/fs/package.json": `{"main": "x.js"}`,
				"node_modules/fs/x.js":         `module.exports = "package too"`,
			},
			options: func(o *Options) { o.CompatibilityFlags = []string{"nodejs_als"} },
			want:    `["node:async_hooks","package","package too"]`, exports: []string{"default"},
		},
		{
			name: "text, data, SQL and JSON",
			main: "index.js",
			files: map[string]string{
				"index.js": `import t from "./a.txt"; import h from "./a.html"; import s from "./q.sql"; import b from "./d.bin"; import j from "./j.json";
					export default [t, h, s, b instanceof ArrayBuffer, ...new Uint8Array(b), j.k]`,
				"a.txt": "text", "a.html": "<p>", "q.sql": "select 1", "d.bin": "\x00\xff", "j.json": `{"k": 5}`,
			},
			want: `["text","<p>","select 1",true,0,255,5]`, exports: []string{"default"},
		},
		{
			name:  "rules of the project",
			main:  "index.js",
			files: map[string]string{"index.js": `import t from "./a.md"; import b from "./d.dat?x"; export default [t, b.byteLength]`, "a.md": "# hi", "d.dat": "123"},
			options: func(o *Options) {
				o.Rules = []Rule{{Type: Text, Globs: []string{"**/*.md"}}, {Type: Data, Globs: []string{"*.dat?x"}}}
			},
			want: `["# hi",3]`, exports: []string{"default"},
		},
		{
			name: "a package by the conditions of workerd",
			main: "index.js",
			files: map[string]string{
				"index.js":                       `import { where } from "p"; import sub from "p/sub"; export default [where, sub]`,
				"node_modules/p/package.json":    `{"name":"p","exports":{".":{"node":"./node.js","workerd":"./workerd.js","default":"./x.js"},"./sub":{"browser":{"import":"./browser.mjs"},"default":"./x.js"}}}`,
				"node_modules/p/node.js":         `export const where = "node"`,
				"node_modules/p/workerd.js":      `exports.where = "workerd"`,
				"node_modules/p/browser.mjs":     `export default "browser"`,
				"node_modules/p/x.js":            `export const where = "default"; export default where`,
				"node_modules/unused/package.js": ``,
			},
			want: `["workerd","browser"]`, exports: []string{"default"},
		},
		{
			name: "defines and aliases",
			main: "index.ts",
			files: map[string]string{
				"index.ts": `import x from "real"; declare const VERSION: string;
					export default [process.env.NODE_ENV, VERSION, navigator.userAgent, x, import.meta.url]`,
				"shim/index.js": `export default "shim"`,
			},
			options: func(o *Options) {
				o.Define, o.Alias, o.Mode = map[string]string{"VERSION": `"1.2"`}, map[string]string{"real": "./shim"}, Production
				o.NodeEnv = "test"
			},
			want: `["test","1.2","Cloudflare-Workers","shim","file:///index.ts"]`, exports: []string{"default"},
		},
		{
			name: "production", main: "index.js",
			files:   map[string]string{"index.js": `export default [process.env.NODE_ENV, globalThis.process.env.NODE_ENV, typeof navigator.userAgent]`},
			options: func(o *Options) { o.Mode = Production },
			want:    `["production","production","string"]`, exports: []string{"default"},
		},
		{
			name:   "a script of the Service Worker format",
			main:   "index.js",
			files:  map[string]string{"index.js": `globalThis.addEventListener?.("fetch", () => {})`},
			format: bundle.FormatServiceWorker,
		},
		{
			name:   "a script that speaks of exports",
			main:   "index.js",
			files:  map[string]string{"index.js": "globalThis.x = `\nexport {\n  a as b\n};\nexport default require_x();\n`"},
			format: bundle.FormatServiceWorker,
		},
		{
			name:   "an entry of the CommonJS format",
			main:   "index.js",
			files:  map[string]string{"index.js": `exports.x = require("./b.js").y; if (exports.x !== 5) throw new Error(exports.x)`, "b.js": `exports.y = 5`},
			format: bundle.FormatServiceWorker,
		},
		{
			name: "modules that are missing where that may be",
			main: "index.js",
			files: map[string]string{"index.js": `
				let fs; try { fs = require("node:fs") } catch { fs = null }
				const tls = await import("node:tls").catch(() => "none"); export default [fs, tls]`},
			want: `[null,"none"]`, exports: []string{"default"},
		},
		{
			name: "additional modules by a computed name",
			main: "src/index.js",
			files: map[string]string{
				"src/index.js": `const lang = (l) => import("./lang/" + l + ".mjs"); const name = "./hello.txt";
					const missing = await Promise.resolve("./none.mjs").then((n) => import(n)).catch(() => "missing");
					export default [(await lang("en")).default, (await import(name)).default, missing]`,
				"src/lang/en.mjs": `export default "hello"`, "src/lang/de.mjs": `export default "hallo"`, "src/hello.txt": "text",
			},
			options: func(o *Options) {
				o.FindAdditionalModules, o.Rules = true, []Rule{{Type: ESModule, Globs: []string{"**/*.mjs"}}}
			},
			want: `["hello","text","missing"]`, exports: []string{"default"},
		},
		{
			name:  "a class that is exported twice, and an export that changes",
			main:  "index.js",
			files: map[string]string{"index.js": `class A {}; export { A, A as B, A as default }; A.toJSON = () => "A"`},
			want:  `"A"`, exports: []string{"A", "B", "default"},
		},
		{
			name: "paths of tsconfig.json",
			main: "src/index.ts",
			files: map[string]string{
				"tsconfig.json": `{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}`,
				"src/index.ts":  `import x from "@/x"; export default x`, "src/x.ts": `export default 9`,
			},
			want: `9`, exports: []string{"default"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := project(t, tc.main, tc.files)
			if tc.options != nil {
				tc.options(&o)
			}
			r, err := Build(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			format := tc.format
			if format == "" {
				format = bundle.FormatModules
			}
			if r.Format != format {
				t.Errorf("format %q, want %q", r.Format, format)
			}
			if diff := cmp.Diff(tc.exports, r.Exports); diff != "" {
				t.Errorf("exports (-want +got):\n%s", diff)
			}
			exports := run(t, string(r.Code))
			if tc.want == "" {
				return
			}
			if got := asJSON(t, exports.Get("default")); got != tc.want {
				t.Errorf("default export %s, want %s", got, tc.want)
			}
		})
	}
}

func asJSON(t *testing.T, v goja.Value) string {
	t.Helper()
	rt := goja.New()
	f, _ := goja.AssertFunction(rt.Get("JSON").ToObject(rt).Get("stringify"))
	s, err := f(goja.Undefined(), v)
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func TestBuildErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		files   map[string]string
		options func(*Options)
		want    string // of the first message
	}{
		{"syntax", map[string]string{"index.ts": "export default {\n  fetch( {}\n"}, nil, `index.ts:3:1: Expected ")" but found end of file`},
		{"no entry", nil, nil, `the entry "index.ts" is not there`},
		{"no file", map[string]string{"index.ts": `import "./gone"`}, nil, `index.ts:1:8: Could not resolve "./gone"`},
		{"no package", map[string]string{"index.ts": `import "gone"`}, nil, `index.ts:1:8: Could not resolve "gone"`},
		{"no node: module", map[string]string{"index.ts": `import "./a"`, "a.ts": `import s from "node:sqlite"; console.log(s)`}, nil,
			`a.ts:1:15: Could not resolve "node:sqlite": node:sqlite is not supported; an alias can put a module of yours in its place`},
		{"a later node: module, without its scheme", map[string]string{"index.ts": `import fs from "fs"; console.log(fs)`},
			func(o *Options) { o.CompatibilityDate = "2024-04-05" },
			`index.ts:1:16: Could not resolve "fs": node:fs is part of Node.js; add "enable_nodejs_fs_module" to compatibility_flags`},
		{"no cloudflare: module", map[string]string{"index.ts": `import { connect } from "cloudflare:sockets"; connect()`}, nil,
			`index.ts:1:25: Could not resolve "cloudflare:sockets": there is only cloudflare:workers of that kind`},
		{"no flag", map[string]string{"index.ts": `import "node:buffer"`}, func(o *Options) { o.CompatibilityFlags = nil },
			`index.ts:1:8: Could not resolve "node:buffer": node:buffer is part of Node.js; add "nodejs_compat" to compatibility_flags`},
		{"no flag for a name without its scheme", map[string]string{"index.ts": `import "buffer"`}, func(o *Options) { o.CompatibilityFlags = []string{"nodejs_als"} },
			`index.ts:1:8: Could not resolve "buffer": node:buffer is part of Node.js; add "nodejs_compat" to compatibility_flags`},
		{"no WebAssembly", map[string]string{"index.ts": `import m from "./a.wasm"; export default m`, "a.wasm": ""}, nil,
			`index.ts:1:15: "./a.wasm" is a WebAssembly module; tandem does not run WebAssembly`},
		{"hidden rule", map[string]string{"index.ts": `import m from "./a.txt"; export default m`, "a.txt": ""},
			func(o *Options) { o.Rules = []Rule{{Type: Text, Globs: []string{"**/*.md"}}} },
			`index.ts:1:15: "./a.txt" matches the rule for Text ["**/*.txt" "**/*.html" "**/*.sql"], which an earlier rule of that type without fallthrough hides`},
		{"no such export", map[string]string{"index.ts": `import { x } from "./a"; console.log(x)`, "a.ts": `export const y = 1`}, nil,
			`index.ts:1:10: No matching export in "a.ts" for import "x"`},
		{"bad define", map[string]string{"index.ts": `1`}, func(o *Options) { o.Define = map[string]string{"A": "a b"} }, `Invalid define value`},
		{"bad alias", map[string]string{"index.ts": `import "x"`}, func(o *Options) { o.Alias = map[string]string{"x": "./y"} },
			`index.ts:1:8: alias "x": could not resolve "./y"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := project(t, "index.ts", tc.files)
			if tc.options != nil {
				tc.options(&o)
			}
			_, err := Build(t.Context(), o)
			if !IsProjectError(err) {
				t.Fatalf("error %v, want one of the project", err)
			}
			if got := err.Error(); !strings.HasPrefix(got, tc.want) {
				t.Errorf("error\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestBuildCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, project(t, "index.js", map[string]string{"index.js": "1"})); err != context.Canceled {
		t.Errorf("error %v, want canceled", err)
	}
}
