package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// settings are what every benchmark takes.
type settings struct {
	clients  int
	rounds   int
	duration time.Duration
	sessions int
	objects  int
	requests int
	// only names the workloads of the objects benchmark, by a part of their names; alone leaves workerd out.
	only  string
	alone bool
	// profiles is a directory for sockets of net/http/pprof.
	profiles string
	// rate is how many executions begin in a second, processes how many programs run at once.
	rate, processes int
	// programs is the file of hostile programs.
	programs string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var s settings
	root := &cobra.Command{
		Use: "bench", Short: "Measure a stack beside its peers", SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().IntVar(&s.clients, "clients", 32, "concurrent clients, 1 to 1024")
	root.PersistentFlags().IntVar(&s.rounds, "rounds", 3, "alternating rounds of each server, 1 to 20")
	root.PersistentFlags().DurationVar(&s.duration, "duration", 5*time.Second, "length of a round")
	root.PersistentFlags().IntVar(&s.sessions, "sessions", 10_000, "idle sessions of the sessions benchmark")
	root.PersistentFlags().IntVar(&s.objects, "objects", 1_000_000, "objects on disk of the open benchmark")
	root.PersistentFlags().IntVar(&s.requests, "requests", 1_000_000, "growth: requests in all")
	root.PersistentFlags().StringVar(&s.only, "only", "", "objects, scripts: only workloads with this in their name, such as @256")
	root.PersistentFlags().BoolVar(&s.alone, "alone", false, "objects, scripts, wrangler: leave the peer out")
	root.PersistentFlags().StringVar(&s.profiles, "profiles", "", "objects, scripts: directory for sockets of net/http/pprof")
	root.PersistentFlags().IntVar(&s.rate, "rate", 500, "execute: executions that begin in a second")
	root.PersistentFlags().IntVar(&s.processes, "processes", 32, "soak, hostile: programs at once")
	root.PersistentFlags().StringVar(&s.programs, "programs", "sandbox/pool/testdata/hostile.txt", "hostile: the programs")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if s.clients < 1 || s.clients > 1024 || s.rounds < 1 || s.rounds > 20 || s.sessions < 1 {
			return fmt.Errorf("--clients 1..1024, --rounds 1..20, --sessions from 1")
		}
		return nil
	}
	for _, c := range []*cobra.Command{
		{Use: "mcp", Short: "The MCP endpoint beside a bare go-sdk server",
			RunE: func(c *cobra.Command, _ []string) error { return benchMCP(c.Context(), s) }},
		{Use: "execute", Short: "Executions at a rate, the first of a session, tool calls, and idle processes",
			RunE: func(c *cobra.Command, _ []string) error { return benchExecute(c.Context(), s) }},
		{Use: "hostile", Short: "What an attack by hostile programs does to others",
			RunE: func(c *cobra.Command, _ []string) error { return benchHostile(c.Context(), s) }},
		{Use: "soak", Short: "Sessions of several organizations that execute without pause: fairness and leaks",
			RunE: func(c *cobra.Command, _ []string) error { return benchSoak(c.Context(), s) }},
		{Use: "sessions", Short: "Memory of idle sessions, and waking each",
			RunE: func(c *cobra.Command, _ []string) error { return benchSessions(c.Context(), s) }},
		{Use: "objects", Short: "Durable Objects in Go beside workerd",
			RunE: func(c *cobra.Command, _ []string) error { return benchObjects(c.Context(), s) }},
		{Use: "scripts", Short: "A JavaScript Worker and its Durable Objects beside workerd",
			RunE: func(c *cobra.Command, _ []string) error { return benchScripts(c.Context(), s) }},
		{Use: "compute", Short: "Routes of hono that do little, and such that compute, beside workerd",
			RunE: func(c *cobra.Command, _ []string) error { return benchCompute(c.Context(), s) }},
		{Use: "memory", Short: "Memory of JavaScript: idle processes, isolates, 10,000 live objects under a file limit of 1024",
			RunE: func(c *cobra.Command, _ []string) error { return benchMemory(c.Context()) }},
		{Use: "growth", Short: "What many requests of all kinds leave behind",
			RunE: func(c *cobra.Command, _ []string) error { return benchGrowth(c.Context(), s) }},
		{Use: "live", Short: "Memory of 100,000 live objects under a file limit of 1024",
			RunE: func(c *cobra.Command, _ []string) error { return benchLive(c.Context()) }},
		{Use: "alarms", Short: "10,000 alarms due at once, and a kill half a second later",
			RunE: func(c *cobra.Command, _ []string) error { return benchAlarms(c.Context(), s) }},
		{Use: "open", Short: "Start a host on 1,000,000 objects",
			RunE: func(c *cobra.Command, _ []string) error { return benchOpen(c.Context(), s) }},
		{Use: "tracing", Short: "The cost of exporting spans",
			RunE: func(c *cobra.Command, _ []string) error { return benchTracing(c.Context(), s) }},
		{Use: "wrangler", Short: "tandem dev beside wrangler dev: start, edits, requests",
			RunE: func(c *cobra.Command, _ []string) error { return benchWrangler(c.Context(), s) }},
		{Use: "start", Short: "Time until tandem dev is ready, serves a project, and serves what was edited",
			RunE: func(c *cobra.Command, _ []string) error { return benchStart(c.Context(), s) }},
		{Use: "bare-server", Short: "Run the bare go-sdk server (started by mcp)", Hidden: true,
			RunE: func(c *cobra.Command, _ []string) error { return bareServer(c.Context()) }},
	} {
		c.Args = cobra.NoArgs
		root.AddCommand(c)
	}
	return root
}
