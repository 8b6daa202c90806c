package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// workerdBinary is where `npm ci --ignore-scripts` in e2e/node puts workerd.
const workerdBinary = "e2e/node/node_modules/@cloudflare/workerd-linux-64/bin/workerd"

// workerdScript is docs/examples/counter for workerd.
const workerdScript = `import { DurableObject } from "cloudflare:workers";

export class Counter extends DurableObject {
  pings = 0;
  async increment(by) {
    const n = ((await this.ctx.storage.get("value")) ?? 0) + by;
    await this.ctx.storage.put("value", n);
    return n;
  }
  ping() {
    return ++this.pings;
  }
  fetch() {
    return Response.json(++this.pings);
  }
}

export default {
  async fetch(request, env) {
    const [, kind, name, action] = new URL(request.url).pathname.split("/");
    if (kind === "hello") return Response.json(1);
    const stub = env.COUNTER.get(env.COUNTER.idFromName(name));
    if (kind === "ping") return Response.json(await stub.ping());
    if (kind === "fetch") return stub.fetch(request);
    if (action === "increment") return Response.json(await stub.increment(1));
    if (kind === "wait") {
      await scheduler.wait(Number(name));
      return Response.json(1);
    }
    return new Response("not found", { status: 404 });
  },
};
`

// workerdConfig serves it, with the objects' storage on disk: a SQLite file each, synced at every commit.
const workerdConfig = `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .counter),
    (name = "objects", disk = (path = "%s", writable = true)),
  ],
  sockets = [(name = "http", address = "%s", http = (), service = "main")],
);

const counter :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "Counter", uniqueKey = "counter-Counter")],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [(name = "COUNTER", durableObjectNamespace = "Counter")],
);
`

// startWorkerd starts workerd with the counter and returns its address and process.
func startWorkerd(t *steps) (address string, pid int, err error) {
	dir := t.TempDir()
	objects := filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return "", 0, err
	}
	return serveWorkerd(t, dir, []byte(workerdScript), "/ping/ready", func(address string) string {
		return fmt.Sprintf(workerdConfig, objects, address)
	})
}

// serveWorkerd starts workerd with a script by a configuration in dir, and returns its address and process once it answers
// at ready.
func serveWorkerd(t *steps, dir string, script []byte, ready string, config func(address string) string,
) (address string, pid int, err error) {
	if _, err := os.Stat(workerdBinary); err != nil {
		return "", 0, fmt.Errorf("workerd is missing; run npm ci --ignore-scripts in e2e/node: %w", err)
	}
	if address, err = freeAddress(); err != nil {
		return "", 0, err
	}
	file := filepath.Join(dir, "config.capnp")
	if err := os.WriteFile(filepath.Join(dir, "worker.js"), script, 0o600); err != nil {
		return "", 0, err
	}
	if err := os.WriteFile(file, []byte(config(address)), 0o600); err != nil {
		return "", 0, err
	}
	p, err := startProcess(t, exec.Command(workerdBinary, "serve", file), filepath.Join(dir, "log"))
	if err != nil {
		return "", 0, err
	}
	return address, p.cmd.Process.Pid, awaitServer(t.ctx, address, ready)
}

// freeAddress returns a loopback address that nobody listens on at the moment.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
