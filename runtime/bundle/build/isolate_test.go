package build

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

// start runs a project's script as a process would.
func start(t *testing.T, o Options) *isolate.Isolate {
	t.Helper()
	r, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := isolate.Compile(isolate.Source{Name: "worker.js", Code: string(r.Code), SourceMap: r.SourceMap})
	if err != nil {
		t.Fatal(err)
	}
	i, err := isolate.New(t.Context(), p, isolate.Options{
		Install:       []func(*isolate.Isolate) error{webapi.Install(webapi.Options{})},
		Compatibility: isolate.Compatibility{Date: o.CompatibilityDate, Flags: o.CompatibilityFlags},
		Modules: map[string]func(*isolate.Isolate) (goja.Value, error){
			"node:path": func(i *isolate.Isolate) (goja.Value, error) { return i.Runtime().RunString(`({ sep: "/" })`) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// TestOnIsolate runs what is built as a process runs it: the stack of an error has the places of the source.
func TestOnIsolate(t *testing.T) {
	t.Parallel()
	i := start(t, project(t, "src/index.ts", map[string]string{
		"src/index.ts": `import { sep } from "node:path";
import { fail } from "./fail";
import greeting from "./greeting.txt";

interface Env { X: string }
export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		for await (const part of (async function* () { yield 1 })()) if (new URL(request.url).pathname === "/fail") fail(part);
		return new Response([greeting, sep, await (await import("./lazy")).value].join(" "));
	},
} satisfies ExportedHandler<Env>;
`,
		"src/fail.ts": `

export function fail(part: number): never {
	const message: string = "part " + part;
	throw new Error(message);
}
`,
		"src/greeting.txt": "hello",
		"src/lazy.ts":      `export const value = Promise.resolve("lazy")`,
	}))
	resp, err := webapi.Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "http://example.com/", nil), webapi.Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body strings.Builder
	if err := resp.Write(&body); err != nil || !strings.HasSuffix(body.String(), "hello / lazy") {
		t.Errorf("response %q and %v", body.String(), err)
	}
	resp, err = webapi.Fetch(t.Context(), i, httptest.NewRequest(http.MethodGet, "http://example.com/fail", nil), webapi.Call{})
	if err == nil {
		resp.Body.Close()
		t.Fatalf("status %d, want an error", resp.StatusCode)
	}
	x, ok := err.(*isolate.Exception) //nolint:errorlint // to see what it is
	if !ok {
		t.Fatalf("error %T %v", err, err)
	}
	for _, place := range []string{"src/fail.ts:5:", "src/index.ts:8:"} {
		if !strings.Contains(x.Stack, place) {
			t.Errorf("the stack has no %s:\n%s", place, x.Stack)
		}
	}
}
