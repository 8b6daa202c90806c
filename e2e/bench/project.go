package main

import (
	"os"
	"path/filepath"
)

// npmModules are the npm packages of the projects, those of the end-to-end tests.
const npmModules = "e2e/projects/node"

// project is a Workers project that the benchmarks run, and how to tell that an edit of it has come into effect.
type project struct {
	name string
	// make writes it into an empty folder.
	make func(t *steps, dir string) error
	// path answers before; with from replaced by to in file, it answers after.
	path, before, after string
	file, from, to      string
}

// helloProject has no packages, a Worker of a few lines, and the class of the other benchmarks.
func helloProject() project {
	return project{
		name: "hello", path: "/hello/", before: "1", after: "2",
		file: "worker.js", from: "Response.json(1)", to: "Response.json(2)",
		make: func(_ *steps, dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "worker.js"), []byte(workerdScript), 0o600); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "wrangler.json"), []byte(scriptConfig), 0o600)
		},
	}
}

// honoProject is a TypeScript project on the npm package hono.
func honoProject() project {
	return project{
		name: "hono", path: "/", before: "1", after: "2",
		file: "src/index.ts", from: `(c) => c.text("1")`, to: `(c) => c.text("2")`,
		make: func(t *steps, dir string) error { return copyProject(t, "e2e/bench/testdata/hono", dir) },
	}
}

// copyProject copies a project, and gives it npm packages.
func copyProject(t *steps, from, dir string) error {
	if err := installModules(t.ctx, npmModules); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return err
	}
	modules, err := filepath.Abs(filepath.Join(npmModules, "node_modules"))
	if err != nil {
		return err
	}
	return os.Symlink(modules, filepath.Join(dir, "node_modules"))
}
