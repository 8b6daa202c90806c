package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
)

// benchTracing alternates rounds of stacks that export no spans, those of 1 % of the traces, and the default: all, but not more
// than so many traces a second.
func benchTracing(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binaries, err := buildCounter(t)
		if err != nil {
			return err
		}
		collector, err := freeAddress()
		if err != nil {
			return err
		}
		dashboard, err := freeAddress()
		if err != nil {
			return err
		}
		dir := t.TempDir()
		traces := exec.Command(filepath.Join(binaries, "tandem"), "traces", "--listen", dashboard, "--otlp-listen", collector,
			"--state-dir", filepath.Join(dir, "traces"))
		if _, err := startProcess(t, traces, filepath.Join(dir, "traces.log")); err != nil {
			return err
		}
		var servers []*objectServer
		for _, sampled := range []struct{ name, ratio string }{{"1 %", "0.01"}, {"default", "1"}, {"off", ""}} {
			var env []string
			if sampled.ratio != "" {
				env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector, "OTEL_TRACES_SAMPLER_ARG=" + sampled.ratio}
			}
			c, err := startCounter(t, counterOptions{binaries: binaries, env: env})
			if err != nil {
				return err
			}
			servers = append(servers, &objectServer{name: sampled.name, address: c.address, pids: c.pids()})
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
		fmt.Fprintln(table, "workload\tconnections\tsampled\treq/s\tof off\tp50\tp99\tCPU a request")
		for _, w := range objectWorkloads() {
			if w.clients != 32 || w.names != 1 {
				continue
			}
			if err := compareObjects(ctx, s, w, servers, table); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
		return table.Flush()
	})
}
