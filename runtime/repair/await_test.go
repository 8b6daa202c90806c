package repair

import (
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// compiled compiles a script, repaired or not, for a runtime that has the intrinsics.
func compiled(t testing.TB, rt *goja.Runtime, code string, repair func(*ast.Program)) goja.Callable {
	t.Helper()
	tree, err := goja.Parse("test.js", code)
	if err != nil {
		t.Fatal(err)
	}
	repair(tree)
	program, err := goja.CompileAST(tree, true)
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.RunProgram(program)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := goja.AssertFunction(v)
	return f
}

func awaitResults(tree *ast.Program) {
	WalkTree(tree, func(node any) (leave func()) {
		awaitResult(node)
		return nil
	})
}

func TestAwaitResults(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		asked int64
		value string
	}{
		"await o.f()":                 {1, "replaced"},
		`await o["f"]()`:              {1, "replaced"},
		"await o.p.f(1)":              {1, "replaced"},
		"await (0, o.f())":            {0, "[object Object]"},
		"await o?.f()":                {0, "[object Object]"},
		"await f()":                   {0, "[object Object]"},
		"await o.p":                   {0, "[object Object]"},
		"await o.n()":                 {0, "5"},
		"await (async () => o.f())()": {0, "[object Object]"},
		"(await o.f()).length":        {1, "8"},
		"await o.f(await o.f())":      {2, "replaced"},
		"await o.throws()":            {0, "thrown"},
	} {
		rt := goja.New()
		asked := int64(0)
		err := Install(rt, func(*goja.Object) goja.Value {
			asked++
			return rt.ToValue("replaced")
		})
		if err != nil {
			t.Fatal(err)
		}
		f := compiled(t, rt, `(async () => {
			const f = () => ({}), o = { f, p: { f }, n: () => 5, throws() { throw "thrown"; } };
			try { return String(`+code+`); } catch (e) { return e; }
		})`, awaitResults)
		v, err := f(goja.Undefined())
		if err != nil {
			t.Fatal(err)
		}
		got := v.Export().(*goja.Promise).Result()
		if got == nil || got.String() != want.value || asked != want.asked {
			t.Errorf("%s: %v, asked %d times", code, got, asked)
		}
	}
}

// BenchmarkAwait is what an await costs that is none of a call of RPC.
func BenchmarkAwait(b *testing.B) {
	for _, c := range []struct {
		name   string
		repair func(*ast.Program)
	}{{"before", func(*ast.Program) {}}, {"after", awaitResults}} {
		b.Run(c.name, func(b *testing.B) {
			rt := goja.New()
			if err := Install(rt, func(o *goja.Object) goja.Value { return o }); err != nil {
				b.Fatal(err)
			}
			f := compiled(b, rt, `async (n) => {
				const p = Promise.resolve(), o = { f: () => p };
				for (let i = 0; i < n; i++) await o.f();
			}`, c.repair)
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := f(goja.Undefined(), rt.ToValue(b.N)); err != nil {
				b.Fatal(err)
			}
		})
	}
}
