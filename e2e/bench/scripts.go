package main

import "context"

// scriptConfig is the wrangler file of workerdScript, with a date that the workerd of wrangler 4.86.0 knows.
const scriptConfig = `{
  "name": "counter", "main": "worker.js", "compatibility_date": "2026-04-01",
  "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
  "migrations": [{ "tag": "v1", "new_classes": ["Counter"] }]
}`

// benchScripts alternates rounds of one JavaScript Worker with its Durable Object class on tandem and on workerd.
func benchScripts(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		dir, hello := t.TempDir(), helloProject()
		if err := hello.make(t, dir); err != nil {
			return err
		}
		ours, err := startProduction(t, productionOptions{project: dir, ready: "/ping/ready", profiles: s.profiles})
		if err != nil {
			return err
		}
		servers := []*objectServer{{name: "tandem", address: ours.address, pids: ours.pids()}}
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
