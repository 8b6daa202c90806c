package kv_test

import (
	_ "embed"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/runtime/binding"
	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/runtime/env"
	"github.com/tandem-do/tandem/runtime/isolate"
	"github.com/tandem-do/tandem/runtime/webapi"
)

var (
	//go:embed testdata/probe.js
	probeScript string
	//go:embed testdata/probe.txt
	probeLines string
	//go:embed testdata/edges.js
	edgeScript string
	//go:embed testdata/edges.txt
	edgeLines string
)

// TestProbes runs scripts that npm workerd has run, and expects the same lines.
func TestProbes(t *testing.T) { expectLines(t, probeScript, probeLines) }

// TestEdges are what programs rarely do.
func TestEdges(t *testing.T) { expectLines(t, edgeScript, edgeLines) }

func expectLines(t *testing.T, script, lines string) {
	t.Helper()
	in(t, func(t *testing.T, w *world) {
		got, want := strings.Split(w.script(script), "\n"), strings.Split(lines, "\n")
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("line %d:\n got %s\nwant %s", i+1, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d lines, want %d", len(got), len(want))
		}
	})
}

// script runs a module with a KV namespace bound to KV, and returns what its fetch handler answers.
func (w *world) script(code string) string {
	w.t.Helper()
	manifest := &bundle.Manifest{KV: []bundle.KV{{Binding: "KV", ID: "n"}}}
	p, err := isolate.Compile(isolate.Source{Name: "probe.js", Code: isolate.ModuleBanner + isolate.WrapModule(code)})
	if err != nil {
		w.t.Fatal(err)
	}
	o := env.Options{Manifest: manifest, Namespace: func(uniqueKey string) *binding.Namespace {
		return binding.NewNamespace(uniqueKey, w.host.Local())
	}}
	i, err := isolate.New(w.t.Context(), p, isolate.Options{
		Install:       []func(*isolate.Isolate) error{webapi.Install(webapi.Options{Env: o.Env()})},
		Compatibility: isolate.Compatibility{Date: "2026-04-01"},
		Log:           slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer i.Close()
	r := httptest.NewRequest(http.MethodGet, "http://example.com/", nil)
	resp, err := webapi.Fetch(w.t.Context(), i, r, webapi.Call{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(body)
}

// TestScriptAlone: what the probes cannot tell, since workerd does otherwise.
func TestScriptAlone(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		got := w.script(`
const handler = {
	async fetch(request, { KV }) {
		const lines = [];
		const p = (f) => Promise.resolve().then(f).then((v) => lines.push(v), (e) => lines.push(e.name + ": " + e.message));
		await KV.put("10", "ten");
		await KV.put("a", "b");
		await p(async () => JSON.stringify([...await KV.get(["a", "10", "9"])]));
		const writes = [];
		for (let i = 0; i < 200; i++) writes.push(KV.put("counter", String(i)));
		writes.push(KV.get("counter"));
		await p(async () => (await Promise.all(writes)).pop());
		await p(() => KV.get("\ud800"));
		await p(() => structuredClone(KV));
		await p(() => new KV.constructor({}));
		let sent = 0, why = "not canceled";
		const endless = new ReadableStream({
			pull(c) { sent++; c.enqueue(new Uint8Array(1 << 20)); },
			cancel() { why = "canceled"; },
		});
		await p(() => KV.put("endless", endless));
		await p(() => why + " after " + sent);
		return new Response(lines.join("\n"));
	},
};
export { handler as default };
`)
		want := strings.Join([]string{
			`[["a","b"],["10","ten"],["9",null]]`,
			"199",
			"Error: KV GET failed: 400 Invalid key encoding",
			`DataCloneError: Could not serialize object of type "KvNamespace". This type does not support serialization.`,
			"TypeError: Illegal constructor",
			"Error: KV PUT failed: 413 Value length of 27262976 exceeds limit of 26214400.",
			"canceled after 27",
		}, "\n")
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
