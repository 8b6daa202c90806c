package nodeapi

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/proto/leaktest"
	"github.com/tandem-do/tandem/runtime/compatibility"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

var listProbes = flag.Bool("probes", false, "print what each probe gives that is not as it should be, and fail no test")

const modulesOfProbes = "assert async_hooks buffer crypto diagnostics_channel events path process querystring stream " +
	"string_decoder timers url util"

// newIsolate runs a script whose body returns the exports; it sees the modules of probes by name, and require.
func newIsolate(t *testing.T, body string, c isolate.Compatibility, o Options) (*isolate.Isolate, error) {
	t.Helper()
	var b strings.Builder
	b.WriteString("(function ({ require }) { ")
	for name := range strings.FieldsSeq(modulesOfProbes) {
		if len(Modules(c.Date, c.Flags)) > 1 {
			fmt.Fprintf(&b, "const %s = require('node:%s'); ", name, name)
		}
	}
	b.WriteString(body + "\n})")
	p, err := isolate.Compile(isolate.Source{Name: "test.js", Code: b.String()})
	if err != nil {
		t.Fatal(err)
	}
	i, err := isolate.New(t.Context(), p, isolate.Options{
		Install:       []func(*isolate.Isolate) error{webapi.Install(webapi.Options{}), Install(o)},
		Modules:       Modules(c.Date, c.Flags),
		Compatibility: c,
		Limits:        isolate.Limits{CPU: 20 * time.Second},
	})
	if err == nil {
		t.Cleanup(i.Close)
	}
	return i, err
}

// run calls the exported function run in an event and returns what it gives, as text.
func run(t *testing.T, i *isolate.Isolate) string {
	t.Helper()
	var out string
	err := i.NewContext(isolate.ContextOptions{}).Run(t.Context(), func(*isolate.Event) (goja.Value, error) {
		f, _ := goja.AssertFunction(i.Exports().Get("run"))
		return f(goja.Undefined())
	}, func(_ *isolate.Event, v goja.Value) error {
		out = v.String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newest() isolate.Compatibility {
	return isolate.Compatibility{Date: "2026-04-01", Flags: []string{"nodejs_compat"}}
}

// TestProbes evaluates the lines of testdata/probes: an expression, an arrow, and what Node 20 gives for it, which
// record.mjs wrote. A line that begins with "~ " was put in by hand: what workerd gives instead, or we.
func TestProbes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/probes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no probes", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runProbes(t, file)
		})
	}
}

func runProbes(t *testing.T, file string) {
	show, err := os.ReadFile("testdata/show.js")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	code.Write(show)
	code.WriteString("const probes = [\n")
	var expressions, want []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "~ ")
		if expression, result, ok := strings.Cut(line, " ⇒ "); ok {
			expressions, want = append(expressions, expression), append(want, result)
			fmt.Fprintf(&code, "async () => (%s),\n", expression)
		}
	}
	code.WriteString(`];
		return { async run() {
			const out = [];
			for (const p of probes) {
				try { out.push(show(await p())); } catch (e) { out.push("throws " + show(e)); }
			}
			return JSON.stringify(out);
		} };`)
	i, err := newIsolate(t, code.String(), newest(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal([]byte(run(t, i)), &got); err != nil || len(got) != len(want) {
		t.Fatal(err, len(got), len(want))
	}
	for n, expression := range expressions {
		switch {
		case got[n] == want[n]:
		case *listProbes:
			fmt.Printf("%s\n  want %s\n  got  %s\n", expression, want[n], got[n])
		default:
			t.Errorf("%s\n  want %s\n  got  %s", expression, want[n], got[n])
		}
	}
}

// TestEachModuleLoads finds modules of the table that are not there.
func TestEachModuleLoads(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	code.WriteString("const out = [];")
	for _, m := range compatibility.NodeModules() {
		fmt.Fprintf(&code, "try { if (Object.keys(require(%q)).length === 0) out.push('nothing in %s'); } "+
			"catch (e) { out.push(%q + e); }\n", m.Name, m.Name, m.Name)
	}
	i, err := newIsolate(t, code.String()+"return { run: () => out.join('\\n') }", newest(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, i); got != "" {
		t.Error(got)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, date  string
		flags       []string
		script, got string
	}{
		{"no flag", "2026-04-01", nil, `require("node:buffer")`, `Error: No such module "node:buffer".`},
		{"only hooks", "2026-04-01", []string{"nodejs_als"}, `typeof require("node:async_hooks").AsyncLocalStorage`, "function"},
		{"only hooks, no globals", "2026-04-01", []string{"nodejs_als"}, `typeof Buffer + typeof process`, "undefinedundefined"},
		{"first version", "2024-04-05", []string{"nodejs_compat"},
			`typeof require("node:buffer").Buffer + typeof globalThis.Buffer + typeof globalThis.process`, "functionundefinedundefined"},
		{"second version by flag", "2024-04-05", []string{"nodejs_compat", "nodejs_compat_v2"}, `typeof Buffer + typeof global`,
			"functionobject"},
		{"second version by date", "2024-09-23", []string{"nodejs_compat"},
			`typeof Buffer + typeof process + (Buffer === require("node:buffer").Buffer)`, "functionobjecttrue"},
		{"env", "2025-04-01", []string{"nodejs_compat"}, `JSON.stringify(process.env)`, `{"A":"1","B":"two"}`},
		{"env before", "2025-03-31", []string{"nodejs_compat"}, `JSON.stringify(process.env)`, `{}`},
		{"env is text", "2025-04-01", []string{"nodejs_compat"}, `(process.env.C = 5, typeof process.env.C)`, `string`},
		{"timers before", "2026-02-09", []string{"nodejs_compat"}, `typeof setTimeout(() => {}, 0)`, "number"},
		{"timers", "2026-02-10", []string{"nodejs_compat"}, `typeof setTimeout(() => {}, 0)`, "object"},
		{"a store at global scope is no event", "2026-04-01", []string{"nodejs_compat"},
			`new (require("node:async_hooks").AsyncLocalStorage)() && atGlobalScope`,
			"Error: Disallowed operation called within global scope,7,0"},
		{"default", "2026-08-04", nil, `typeof Buffer`, "function"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf(`let atGlobalScope;
				if (globalThis.setImmediate) {
					const s = new async_hooks.AsyncLocalStorage();
					try { s.run(7, () => { atGlobalScope = [, s.getStore(), Date.now()]; setTimeout(() => {}, 1); }); }
					catch (e) { atGlobalScope[0] = String(e).split(".")[0]; }
				}
				return { run() { try { return String(%s) } catch (e) { return String(e) } } }`, test.script)
			i, err := newIsolate(t, script, isolate.Compatibility{Date: test.date, Flags: test.flags},
				Options{Env: map[string]string{"A": "1", "B": "two"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := run(t, i); got != test.got {
				t.Errorf("got %s, want %s", got, test.got)
			}
		})
	}
}

func TestModulesNeedInstall(t *testing.T) {
	t.Parallel()
	p, err := isolate.Compile(isolate.Source{Code: `(function ({ require }) { require("node:path"); return {} })`})
	if err != nil {
		t.Fatal(err)
	}
	_, err = isolate.New(t.Context(), p, isolate.Options{
		Install: []func(*isolate.Isolate) error{webapi.Install(webapi.Options{})},
		Modules: Modules("", []string{"nodejs_compat"}),
	})
	var x *isolate.Exception
	if !errors.As(err, &x) || !strings.Contains(x.Message, "without the globals") {
		t.Error("got", err)
	}
}
