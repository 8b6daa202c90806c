package main

import (
	"errors"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRoot returns the whole command tree.
func newRoot(sys system) *cobra.Command {
	root := &cobra.Command{
		Use:   "tandem",
		Short: "Workers and Durable Objects as ordinary processes",
		Long: `tandem runs Cloudflare Workers and Durable Objects as ordinary processes that speak gRPC.
Its first application is a remote MCP server whose sessions are Durable Objects.`,
		Example: `  tandem dev                 run the MCP application on this machine
  tandem worker --help       run one process by itself`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			if instead := insteadOf(args[0]); instead != "" {
				return usagef("tandem has no %s: %s", args[0], instead)
			}
			return usagef("unknown command %q%s", args[0], suggestion(args[0], names, ""))
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("{{.Version}}")
	root.SetIn(sys.stdin)
	root.SetOut(sys.stdout)
	root.SetErr(sys.stderr)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newDev(sys), newCheck(sys), newBuild(sys), newReload(sys), newWorker(sys), newHost(sys), newRouter(sys),
		newSandbox(sys), newAuth(sys), newTraces(sys), newObjects(sys), newImport(sys), newClock(sys), newSources(sys),
		newProgram(sys), newVersion(sys))
	return root
}

// noArguments refuses arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// flagError makes an error of the flag parser one of usage, and suggests the flag that was meant.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if args := cmd.Flags().Args(); !cmd.HasParent() && len(args) > 0 {
		return cmd.Args(cmd, args) // the flags are of a command that is not there
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	if instead := insteadOfFlag(name); instead != "" && cmd.Name() == "dev" {
		return usagef("%w, which wrangler dev has: %s", err, instead)
	}
	return usagef("%w%s", err, suggestion(name, names, "--"))
}

// suggestion returns a question for the candidate nearest to name, or nothing when none is near.
func suggestion(name string, candidates []string, prefix string) string {
	best, near := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < near {
			best, near = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + prefix + best + "?"
}
