package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

// benchWrangler compares what a developer starts: tandem dev and wrangler dev, each on projects of its own copy.
func benchWrangler(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binary, err := harness.Build(ctx, t.TempDir())
		if err != nil {
			return err
		}
		servers := []devServer{tandemDev(binary)}
		if !s.alone {
			wrangler, err := wranglerDev(ctx)
			if err != nil {
				return err
			}
			servers = append(servers, wrangler)
		}
		if err := compareDevelopment(t, s, servers); err != nil {
			return err
		}
		return compareRequests(t, s, servers)
	})
}

// compareRequests compares them under load.
func compareRequests(t *steps, s settings, servers []devServer) error {
	hello := helloProject()
	var loaded []*objectServer
	for _, d := range servers {
		dir := t.TempDir()
		if err := hello.make(t, dir); err != nil {
			return err
		}
		run, _, err := d.serve(t, dir, hello.path)
		if err != nil {
			return err
		}
		loaded = append(loaded, &objectServer{name: d.name, address: run.address, pids: run.pids()})
	}
	return compareAll(t.ctx, s, []objectWorkload{
		{"route to JSON", s.clients, 1, "GET", "/hello/", ""},
		{"method of an object, in memory", s.clients, 1, "GET", "/ping/", ""},
		{"fetch of an object, in memory", s.clients, 1, "GET", "/fetch/", ""},
		{"get + put, one object", s.clients, 1, "POST", "/counter/", "/increment"},
	}, loaded)
}

// benchStart measures the start of the MCP application, and start and reload of projects.
func benchStart(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		binary, err := harness.Build(ctx, t.TempDir())
		if err != nil {
			return err
		}
		if err := startApplication(t, s, binary); err != nil {
			return err
		}
		return compareDevelopment(t, s, []devServer{tandemDev(binary)})
	})
}

// compareDevelopment prints how long servers take to start on projects, and to serve what was edited, in alternating
// rounds.
func compareDevelopment(t *steps, s settings, servers []devServer) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(table, "project\tserver\tfirst start\tstart again\tratio\tafter an edit\tratio")
	for _, p := range []project{helloProject(), honoProject()} {
		all := make([]developments, len(servers))
		dirs := make([]string, len(servers))
		for i := range servers {
			dirs[i] = t.TempDir()
			if err := p.make(t, dirs[i]); err != nil {
				return err
			}
		}
		for range s.rounds {
			for i, d := range servers {
				if err := all[i].round(t, d, p, dirs[i]); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
		base := all[len(all)-1]
		for i, d := range servers {
			start, edit := middle(all[i].starts[1:]), middle(all[i].edits)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.name, d.name, all[i].starts[0].Round(time.Millisecond),
				start.Round(time.Millisecond), times(middle(base.starts[1:]), start),
				edit.Round(time.Millisecond), times(middle(base.edits), edit))
		}
		table.Flush() //nolint:errcheck // standard output
	}
	return nil
}

// developments are the times of one server on one project.
type developments struct {
	// starts are until the first answer, edits until the new answer.
	starts, edits []time.Duration
}

// round starts the server, edits the project and edits it back. The first round starts twice: what was never run before
// is not compared.
func (m *developments) round(t *steps, d devServer, p project, dir string) error {
	for range 1 + max(0, 1-len(m.starts)) {
		run, took, err := d.serve(t, dir, p.path)
		if err != nil {
			return err
		}
		m.starts = append(m.starts, took)
		if len(m.starts) == 1 {
			run.stop()
			continue
		}
		for _, e := range [][3]string{{p.from, p.to, p.after}, {p.to, p.from, p.before}} {
			took, err := run.edit(t.ctx, p.file, e[0], e[1], p.path, e[2])
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			m.edits = append(m.edits, took)
		}
		run.stop()
	}
	return nil
}

// middle returns the median.
func middle(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// times says how many times longer a takes than b.
func times(a, b time.Duration) string { return fmt.Sprintf("%.1f", a.Seconds()/b.Seconds()) }
