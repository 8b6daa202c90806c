package isolate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compileModule compiles an ES module as a bundler would hand it over.
func compileModule(t testing.TB, code string) *Program {
	t.Helper()
	r := api.Build(api.BuildOptions{
		Stdin:     &api.StdinOptions{Contents: code, Sourcefile: "src/index.ts", Loader: api.LoaderTS},
		Bundle:    true,
		Format:    api.FormatESModule,
		Target:    api.ESNext,
		Charset:   api.CharsetUTF8,
		Sourcemap: api.SourceMapExternal,
		Outfile:   "/out.js",
		Banner:    map[string]string{"js": ModuleBanner},
		LogLevel:  api.LogLevelSilent,
		Supported: map[string]bool{"async-generator": false, "for-await": false, "class-field": false},
	})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors[0].Text)
	}
	src := Source{Name: "index.js"}
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			src.SourceMap = f.Contents
		} else {
			src.Code = WrapModule(string(f.Contents))
		}
	}
	p, err := Compile(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// timersOf installs what the tests need of the web.
func timersOf(i *Isolate) error {
	return i.DefineGlobal("setTimeout", i.Function("setTimeout", 2, func(c goja.FunctionCall) goja.Value {
		f, _ := goja.AssertFunction(c.Argument(0))
		delay := time.Duration(c.Argument(1).ToInteger()) * time.Millisecond
		return i.Runtime().ToValue(i.SetTimer(delay, 0, func() error {
			_, err := f(goja.Undefined())
			return err
		}))
	}))
}

func newIsolate(t testing.TB, code string, o Options) *Isolate {
	t.Helper()
	o.Install = append(o.Install, timersOf)
	i, err := New(t.Context(), compileModule(t, code), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// call runs an export and returns its value as text.
func call(t testing.TB, i *Isolate, name string) (string, error) {
	t.Helper()
	return callIn(t.Context(), i.NewContext(ContextOptions{}), name)
}

func callIn(ctx context.Context, c *Context, name string) (string, error) {
	var out string
	err := c.Run(ctx, func(*Event) (goja.Value, error) {
		f, ok := goja.AssertFunction(c.Isolate().Exports().Get(name))
		if !ok {
			return nil, errors.New("no such export: " + name)
		}
		return f(goja.Undefined())
	}, func(_ *Event, v goja.Value) error {
		out = v.String()
		return nil
	})
	return out, err
}

func TestRunReturnsWhatTheScriptReturns(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		let n = 0;
		export const now = () => 1;
		export const later = async () => { await null; return 2; };
		export const timed = () => new Promise((r) => setTimeout(() => r(3), 1));
		export const live = () => ++n;
		export { n as "other name" };
		export default { x: 1 };
	`, Options{})
	for name, want := range map[string]string{"now": "1", "later": "2", "timed": "3"} {
		if got, err := call(t, i, name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const thrown = () => { throw new TypeError("no"); };
		export const later = async () => { await null; nested(); };
		function nested(): void { throw new RangeError("deep"); }
		export const text = () => { throw "text"; };
		export const bare = () => { throw Object.create(null); };
		export const hostile = () => { throw { toString() { throw 1; }, get message() { throw 2; } }; };
		export const hung = () => new Promise(() => {});
		export const overflow = () => { const f = () => f() + 1; return f(); };
		export const evil = () => eval("1");
		export const evil2 = () => new Function("return 1")();
		export const evil3 = () => (async () => {}).constructor("return 1")();
	`, Options{})
	for name, want := range map[string]string{
		"thrown":   "TypeError: no",
		"later":    "RangeError: deep",
		"text":     "text",
		"bare":     "[object Object]",
		"hostile":  "an error whose properties cannot be read",
		"hung":     "Error: " + hungText,
		"overflow": "RangeError: Maximum call stack size exceeded",
		"evil":     "EvalError: Code generation from strings disallowed for this context",
		"evil2":    "EvalError: Code generation from strings disallowed for this context",
		"evil3":    "EvalError: Code generation from strings disallowed for this context",
	} {
		_, err := call(t, i, name)
		var x *Exception
		if !errors.As(err, &x) || x.Error() != want {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "later" && !strings.Contains(x.Stack, "at nested (src/index.ts:4:") {
			t.Errorf("stack: %s", x.Stack)
		}
	}
}

func TestInterrupts(t *testing.T) {
	t.Parallel()
	i := newIsolate(t, `
		export const loop = () => { for (;;) { try { for (;;) {} } finally { continue; } } };
		export const micro = async () => { for (;;) await null; };
		export const fine = () => 1;
	`, Options{Limits: Limits{CPU: 50 * time.Millisecond}})
	for _, name := range []string{"loop", "micro"} {
		_, err := call(t, i, name)
		var x *Exception
		if !errors.As(err, &x) || x.Outcome != OutcomeExceededCPU {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := call(t, i, "fine"); err != nil || got != "1" {
			t.Errorf("after %s: %q, %v", name, got, err)
		}
	}
}
