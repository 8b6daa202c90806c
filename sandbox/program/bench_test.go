package program

import "testing"

// BenchmarkIsolate is what the child does between two programs.
func BenchmarkIsolate(b *testing.B) {
	for b.Loop() {
		if _, err := newIsolate(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, code := range map[string]string{
		"JavaScript": "const r = await tools.search({query: 'x'}); return r.data.map(x => x.id)",
		"TypeScript": "const r: any = await tools.search({query: 'x'}); return r.data.map((x: any) => x.id)",
		"module":     "export default async () => { const r = await tools.search({query: 'x'}); return r }",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := compile(code); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkExecute(b *testing.B) {
	c := startChild(b)
	for b.Loop() {
		if got := c.executeOn(b, "return 1").outcome(); got != "1" {
			b.Fatal(got)
		}
	}
}
