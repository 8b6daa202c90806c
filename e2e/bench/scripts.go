package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// scriptConfig is the wrangler file of workerdScript, with a date that the workerd of wrangler 4.86.0 knows.
const scriptConfig = `{
  "name": "counter", "main": "worker.js", "compatibility_date": "2026-04-01",
  "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
  "migrations": [{ "tag": "v1", "new_classes": ["Counter"] }]
}`

// helloScript is what a new project answers with.
const helloScript = `export default {
  async fetch(request, env, ctx) {
    return new Response("Hello World!");
  },
};
`

// benchScripts alternates rounds of JavaScript on tandem and on workerd: of a Worker that only answers, and of one with its
// Durable Object class.
func benchScripts(ctx context.Context, s settings) error {
	hello := project{path: "/", make: func(_ *steps, dir string) error {
		config := `{ "name": "hello", "main": "worker.js", "compatibility_date": "2026-04-01" }`
		return errors.Join(
			os.WriteFile(filepath.Join(dir, "worker.js"), []byte(helloScript), 0o600),
			os.WriteFile(filepath.Join(dir, "wrangler.json"), []byte(config), 0o600))
	}}
	one := func(name string, clients int, path string) objectWorkload {
		return objectWorkload{name, clients, 1, "GET", path, ""}
	}
	err := compareScript(ctx, s, hello, func(t *steps, _ string) (address string, pid int, err error) {
		return servePlain(t, []byte(helloScript), hello.path)
	}, one("hello world", 32, "/?"), one("hello world", 256, "/?"))
	if err != nil {
		return err
	}
	counter := helloProject()
	return compareScript(ctx, s, counter, func(t *steps, _ string) (address string, pid int, err error) {
		return startWorkerd(t)
	},
		append([]objectWorkload{one("route to JSON", 32, counter.path), one("route to JSON", 256, counter.path)},
			objectWorkloads()...)...)
}

// compareScript compares what a project does as in production with what workerd, given its folder, starts; if any of the
// workloads is wanted.
func compareScript(ctx context.Context, s settings, p project,
	workerd func(t *steps, dir string) (address string, pid int, err error), workloads ...objectWorkload,
) error {
	if !slices.ContainsFunc(workloads, s.wants) {
		return nil
	}
	return attempt(ctx, func(t *steps) error {
		dir := t.TempDir()
		if err := p.make(t, dir); err != nil {
			return err
		}
		ours, err := startProduction(t, productionOptions{project: dir, ready: p.path, profiles: s.profiles})
		if err != nil {
			return err
		}
		return compareWithWorkerd(t, s, &objectServer{name: "tandem", address: ours.address, pids: ours.pids()},
			func() (address string, pid int, err error) { return workerd(t, dir) }, workloads)
	})
}
