package repair

import (
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

func benchmarkPattern(b *testing.B, code string, repaired bool) {
	rt := goja.New()
	if err := Install(rt, nil); err != nil {
		b.Fatal(err)
	}
	repair := func(*ast.Program) {}
	if repaired {
		repair = ReadPatterns
	}
	f, n := compiled(b, rt, code, repair), rt.ToValue(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := f(goja.Undefined(), n); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPatterns(b *testing.B) {
	for _, c := range []struct{ name, code string }{
		{"empty", `(n) => { const v = [1, 2, 3]; for (let i = 0; i < n; i++) { v; } }`},
		{"three", `(n) => { const v = [1, 2, 3]; for (let i = 0; i < n; i++) { const [a, b, c] = v; } }`},
		{"closures", `(n) => { const v = [1, 2, 3]; return (() => { return (() => {
			for (let i = 0; i < n; i++) { const [a, b, c] = v; } })() })() }`},
		{"split", `(n) => { for (let i = 0; i < n; i++) { const [, a, b] = "/a/b".split("/"); } }`},
		{"split alone", `(n) => { for (let i = 0; i < n; i++) { const a = "/a/b".split("/"); } }`},
		{"short", `(n) => { const v = [1, 2]; for (let i = 0; i < n; i++) { const [a, b, c] = v; } }`},
		{"map", `(n) => { const v = new Map([[1, 2]]); for (let i = 0; i < n; i++) { for (const [k, w] of v) k; } }`},
		{"swap", `(n) => { let a = 1, b = 2; for (let i = 0; i < n; i++) { [a, b] = [b, a]; } }`},
		{"string", `(n) => { const v = "abc"; for (let i = 0; i < n; i++) { const [a, b, c] = v; } }`},
	} {
		for _, repaired := range []bool{false, true} {
			name := c.name + "/before"
			if repaired {
				name = c.name + "/after"
			}
			b.Run(name, func(b *testing.B) { benchmarkPattern(b, c.code, repaired) })
		}
	}
}
