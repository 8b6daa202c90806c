package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/project"
)

// defaultStateDir is where `tandem dev` keeps its state.
const defaultStateDir = ".tandem"

// newDev returns `tandem dev`.
func newDev(sys system) *cobra.Command {
	o := dev.Options{
		StateDir: defaultStateDir, Port: 8787, DashboardPort: 8788, AuthPort: 8789,
		Color: sys.color, Stdout: sys.stdout, Stderr: sys.stderr,
	}
	var timeouts durations
	var project project.Options
	var show, alone bool
	cmd := &cobra.Command{
		Use:   "dev [DIR...]",
		Short: "Run a whole stack on this machine, for development",
		Long: `Run the Workers projects in the DIRs on this machine: router, object host, workers and trace store, each a
process of its own, on loopback only. Without a DIR, run the project of the current directory, or the MCP application
where that has no wrangler file. Ctrl-C drains, a second kills.

The first DIR is the primary Worker, on port 8787 or the next free one; the others have the ports after it. Workers reach
each other by service bindings, and each other's objects by script_name. So do those of a tandem dev that is started later
in the same project root, the nearest directory above with .git: it joins the stack that runs.

` + exitTable,
		Example: `  tandem dev
  tandem dev web auth
  tandem dev --ephemeral --port 0 --dashboard-port 0 --auth-port 0 --ready-file ready.json`,
		Args: projectDirs,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	addDevFlags(fs, &o)
	timeouts.add(cmd)
	addTestClockFlag(fs, &o.TestClock)
	addStrictLimitsFlag(fs, &o.StrictLimits)
	addAllowPrivateFlag(fs, &o.AllowPrivateSources)
	addRatioFlag(fs, &o.TraceRatio)
	fs.StringVarP(&project.Environment, "env", "e", "", "environment of the DIRs' wrangler files")
	fromEnv(fs, "env", "CLOUDFLARE_ENV")
	fs.BoolVar(&alone, "alone", false, "join no stack of the same project root, and let none join; --ephemeral ones are alone")
	fs.Var(levelValue{&o.LogLevel}, "log-level", "debug, info, warn or error")
	fs.BoolVar(&show, "print-config", false, "print the outcome of flags and environment, and exit")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := applyEnv(fs, sys.lookup); err != nil {
			return err
		}
		if show {
			return printConfig(sys.stdout, fs)
		}
		if o.Ephemeral && fs.Changed("state-dir") {
			return usagef("--state-dir and --ephemeral exclude each other")
		}
		collectLess(sys)
		o.SessionTimeout, o.PausedTimeout, o.ApprovalWindow = timeouts.session, timeouts.paused, timeouts.approval
		if dirs := projectsOf(args); len(dirs) > 0 {
			return runProjects(sys, projectRun{flags: fs, options: project, dirs: dirs, alone: alone}, o)
		}
		if err := o.Validate(); err != nil {
			return usageError{err}
		}
		return runDev(o)
	}
	return cmd
}

// addDevFlags adds the flags that only `tandem dev` has.
func addDevFlags(fs *pflag.FlagSet, o *dev.Options) {
	fs.StringVar(&o.StateDir, "state-dir", o.StateDir, "directory of everything that outlives the stack")
	fs.BoolVar(&o.Ephemeral, "ephemeral", false, "keep the state in a temporary directory and remove it at the end")
	for _, p := range []struct {
		target     *int
		name, text string
	}{
		{&o.Port, "port", "port of the worker: MCP endpoint and API; 0 is any free one"},
		{&o.DashboardPort, "dashboard-port", "port of the trace store; 0 is any free one"},
		{&o.AuthPort, "auth-port", "port of the authorization server; 0 is any free one"},
		{&o.OTLPPort, "otlp-port", "port of the trace store for OTLP/gRPC; 0 is any free one"},
	} {
		fs.Var(intValue{p.target, 0, 65535}, p.name, p.text)
	}
	addDirectoryFlag(fs, &o.Directory, "accounts: sqlite:PATH or postgres://… (default: in the state directory)")
	fs.StringVar(&o.ReadyFile, "ready-file", "", "JSON file of addresses and pids, there while the stack is ready")
}

// runDev runs the stack under the signals.
func runDev(o dev.Options) error {
	return underSignals(&o, func(ctx context.Context) error { return dev.Run(ctx, o) })
}

// underSignals runs a stack until the first signal; a second one kills it.
func underSignals(o *dev.Options, run func(context.Context) error) error {
	// A reader of the output that goes away must not take the stack with it.
	signal.Ignore(syscall.SIGPIPE)
	kill := make(chan struct{})
	o.Kill = kill
	ctx, _, stop := signals(func() { close(kill) })
	defer stop()
	return run(ctx)
}
