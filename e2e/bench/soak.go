package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandem-do/tandem/e2e/soak"
)

const (
	soakOrganizations = 5
	soakWarm          = 3 * time.Second
	soakSettle        = 80 * time.Second
)

// benchSoak has sessions of several organizations execute without pause, and fails if one of them is treated worse than
// the others, or something is leaked.
func benchSoak(ctx context.Context, s settings) error {
	return attempt(ctx, func(t *steps) error {
		profiles := t.TempDir()
		stack := startStack(t, "TANDEM_PROFILE_DIR="+profiles, "MCP_MAX_CONCURRENT_EXECUTIONS=0",
			fmt.Sprintf("TANDEM_SANDBOX_PROCESSES=%d", s.processes))
		ready := stack.MustReady(t)
		pids := map[string]int{}
		for _, name := range []string{"worker", "durableobject", "router", "sandbox"} {
			pids[name] = ready.PIDs[name]
		}
		count := func() (soak.Counts, error) { return soak.Count(ctx, pids, profiles) }
		o := soak.Options{
			URL: ready.MCPURL, Sessions: s.sessions, Duration: s.duration,
			// Long enough that the processes are what is scarce.
			Code: "await new Promise(r => setTimeout(r, 100)); return 6 * 7", Want: "42",
		}
		for range soakOrganizations {
			o.Tokens = append(o.Tokens, stack.NewIdentity(t).Token)
		}
		warm := o
		warm.Duration = soakWarm
		if _, err := soak.Run(ctx, warm); err != nil {
			return err
		}
		if err := wait(ctx, soakSettle/2); err != nil { // until what the warm-up needed has gone
			return err
		}
		before, err := count()
		if err != nil {
			return err
		}
		printCounts("before", before)
		organizations, err := soak.Run(ctx, o)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, stack.Log())
		}
		if during, err := count(); err == nil {
			printCounts("at the end", during)
		}
		failed := printOrganizations(organizations)
		after, err := soak.Settle(ctx, before, soakSettle, count)
		if err != nil {
			return err
		}
		printCounts("afterwards", after)
		if leaks := after.Leaked(before); len(leaks) > 0 {
			profile, _ := soak.Goroutines(ctx, pids["durableobject"], profiles) // as far as it goes
			fmt.Printf("%.4000s\n%s\n", profile, stack.Log())
			failed = append(failed, errors.New("leaked: "+strings.Join(leaks, "; ")))
		}
		return errors.Join(failed...)
	})
}

func printCounts(when string, c soak.Counts) {
	fmt.Printf("%s: goroutines %v, descriptors %v, processes for programs %d\n", when, c.Goroutines, c.Descriptors, c.Programs)
}

// printOrganizations prints what each saw and returns what is wrong with it.
func printOrganizations(organizations []soak.Organization) (failed []error) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(table, "organization\tsessions\texecutions\tp50\tp99\tmax\terrors")
	least, most := organizations[0].Executions, organizations[0].Executions
	for i, o := range organizations {
		fmt.Fprintf(table, "%d\t%d\t%d\t%s\t%s\t%s\t%d\n", i+1, o.Sessions, o.Executions, o.P50.Round(100*time.Microsecond),
			o.P99.Round(100*time.Microsecond), o.Max.Round(100*time.Microsecond), o.Failed)
		least, most = min(least, o.Executions), max(most, o.Executions)
		for _, err := range o.Errors {
			failed = append(failed, fmt.Errorf("organization %d: %w", i+1, err))
		}
	}
	table.Flush() //nolint:errcheck // standard output
	fmt.Printf("fairness: the organization with the fewest executions had %.2f of those of the one with the most\n",
		float64(least)/float64(max(1, most)))
	return failed
}
