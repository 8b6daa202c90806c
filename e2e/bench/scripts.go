package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tandem-do/tandem/e2e/harness"
)

// scriptConfig is the wrangler file of workerdScript.
const scriptConfig = `{
  "name": "counter", "main": "worker.js", "compatibility_date": "2026-08-20",
  "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
  "migrations": [{ "tag": "v1", "new_classes": ["Counter"] }]
}`

// benchScripts alternates rounds of one JavaScript Worker with its Durable Object class on tandem and on workerd.
func benchScripts(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		address, processes, err := startScript(t, s.profiles)
		if err != nil {
			return err
		}
		servers := []*objectServer{{name: "tandem", address: address, pids: processes}}
		if !s.alone {
			address, pid, err := startWorkerd(t)
			if err != nil {
				return err
			}
			servers = append(servers, &objectServer{name: "workerd", address: address, pids: []int{pid}})
		}
		return compareAll(ctx, s, scriptWorkloads(), servers)
	})
}

func scriptWorkloads() []objectWorkload {
	hello := func(clients int) objectWorkload {
		return objectWorkload{"hello world", clients, 1, "GET", "/hello/", ""}
	}
	return append([]objectWorkload{hello(32), hello(256)}, objectWorkloads()...)
}

// startScript builds the Worker into a bundle and runs that as a router, a host and a worker, as in production.
// profiles is as in settings.
func startScript(t *steps, profiles string) (address string, pids []int, err error) {
	binary, err := harness.Build(t.ctx, t.TempDir())
	if err != nil {
		return "", nil, err
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"worker.js": workerdScript, "wrangler.json": scriptConfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", nil, err
		}
	}
	bundle := filepath.Join(dir, "counter.bundle")
	if out, err := exec.CommandContext(t.ctx, binary, "build", dir, "-o", bundle).CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("tandem build: %w\n%s", err, out)
	}
	if address, err = freeAddress(); err != nil {
		return "", nil, err
	}
	socket := func(name string) string { return "unix:" + filepath.Join(dir, name+".sock") }
	for _, args := range [][]string{
		{"router", "--listen", socket("router"), "--state-dir", filepath.Join(dir, "router")},
		{
			"durableobject", "--listen", socket("host"), "--router", socket("router"), "--bundle", bundle,
			"--state-dir", filepath.Join(dir, "objects"),
		},
		{"worker", "--listen", address, "--router", socket("router"), "--bundle", bundle},
	} {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "TANDEM_PROFILE_DIR="+profiles)
		p, err := startProcess(t, cmd, filepath.Join(dir, args[0]+".log"))
		if err != nil {
			return "", nil, err
		}
		pids = append(pids, p.cmd.Process.Pid)
	}
	if err := awaitServer(t.ctx, address, "/ping/ready"); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "worker.log"))
		return "", nil, fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(log)))
	}
	return address, pids, nil
}
