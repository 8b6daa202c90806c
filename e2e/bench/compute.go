package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// computeClients are enough to keep two cores busy with what computes.
const computeClients = 8

// plainConfig serves a script without bindings.
const plainConfig = `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .compute)],
  sockets = [(name = "http", address = "%s", http = (), service = "main")],
);

const compute :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-04-01",
);
`

// benchCompute alternates rounds of a project on the npm package hono on tandem and on workerd: routes that do little, and
// such that compute.
func benchCompute(ctx context.Context, s settings) error {
	hono := honoProject()
	return compareScript(ctx, s, hono, func(t *steps, dir string) (address string, pid int, err error) {
		script, err := bundleForWorkerd(filepath.Join(dir, "src/index.ts"))
		if err != nil {
			return "", 0, err
		}
		return servePlain(t, script, hono.path)
	}, computeWorkloads()...)
}

// servePlain is serveWorkerd for a script without bindings.
func servePlain(t *steps, script []byte, ready string) (address string, pid int, err error) {
	return serveWorkerd(t, t.TempDir(), script, ready, func(address string) string {
		return fmt.Sprintf(plainConfig, address)
	})
}

// computeWorkloads are requests of the hono project. What the load program adds to a path is behind a question mark.
func computeWorkloads() []objectWorkload {
	get := func(name, path string, clients int) objectWorkload {
		return objectWorkload{name, clients, 1, "GET", path + "?", ""}
	}
	return []objectWorkload{
		get("hono: a text", "/", 32),
		get("hono: one note in JSON", "/api/notes/7", 32),
		get("hono: 20 notes in JSON", "/api/notes", 32),
		get("JSON of 10 KB, written and read", "/json/10000", computeClients),
		get("SHA-256 of 10 KB", "/digest/10000", computeClients),
		get("100 lines of a log by a regular expression", "/regexp/100", computeClients),
		get("HTML of 100 rows, escaped", "/page/100", computeClients),
		get("sort of 1,000 numbers", "/sort/1000", computeClients),
		get("fib(25)", "/fib/25", computeClients),
	}
}

// bundleForWorkerd bundles a Worker as wrangler does.
func bundleForWorkerd(entry string) ([]byte, error) {
	r := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: api.FormatESModule, Target: api.ES2024,
		Conditions: []string{"workerd", "worker", "browser"}, MainFields: []string{"browser", "module", "main"},
	})
	if len(r.Errors) > 0 {
		return nil, fmt.Errorf("bundle %s: %s", entry, r.Errors[0].Text)
	}
	return r.OutputFiles[0].Contents, nil
}
