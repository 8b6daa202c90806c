package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/durableobject/admin"
	"github.com/tandem-do/tandem/tools/objects"
)

// Defaults of `tandem objects`.
const (
	defaultObjectsLimit = 100
	maxObjectsLimit     = 1 << 30
	defaultAlarmWait    = 30 * time.Second
)

// objectsFlags are the flags of all commands about objects.
type objectsFlags struct {
	sys     system
	options objects.Options
	// name is --name, and named whether it was given.
	name string
}

// newObjects returns `tandem objects`.
func newObjects(sys system) *cobra.Command {
	f := &objectsFlags{sys: sys, options: objects.Options{StateDir: defaultStateDir, Stdout: sys.stdout}}
	cmd := &cobra.Command{
		Use:   "objects",
		Short: "Show and change Durable Objects, of a running stack or of a state directory at rest",
		Long: `Show and change Durable Objects. If a stack runs on the state directory, its object host is asked;
otherwise the directory is only read, and what changes something is refused. An object is named by
its namespace and its ID, or --name.`,
		Example: `  tandem objects namespaces
  tandem objects list mcp-Session
  tandem objects show chat-Room --name lobby --prefix message:
  tandem objects export chat-Room --name lobby --output lobby.obj
  tandem objects delete chat-Room --name lobby`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return usagef("unknown command %q%s", args[0], suggestion(args[0], names, ""))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := cmd.PersistentFlags()
	fs.SortFlags = false
	fs.StringVar(&f.options.StateDir, "state-dir", f.options.StateDir,
		"state directory of tandem dev, or store directory of an object host")
	fs.StringVar(&f.options.Address, "address", "", "gRPC target of an object host, instead of a state directory")
	fs.BoolVar(&f.options.JSON, "json", false, "print one JSON document a line")
	cmd.AddCommand(f.namespaces(), f.list(), f.show(), f.evict(), f.abort(), f.delete(), f.alarm(), f.export(),
		f.imports())
	return cmd
}

// run does something with a client until it is done or a signal ends it.
func (f *objectsFlags) run(do func(context.Context, *objects.Client) error) error {
	ctx, _, stop := signals(func() { os.Exit(exitKilled) })
	defer stop()
	return f.with(ctx, do)
}

// with does something with a client.
func (f *objectsFlags) with(ctx context.Context, do func(context.Context, *objects.Client) error) (err error) {
	c, err := objects.Open(ctx, f.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return do(ctx, c)
}

// onObject completes a command on one object. asks is true for one that asks a person and changes nothing before: a
// signal ends it at once, since reading an answer can't be cut short.
func (f *objectsFlags) onObject(
	cmd *cobra.Command, asks bool, do func(context.Context, *objects.Client, objects.Ref) error,
) *cobra.Command {
	cmd.Use += " NAMESPACE {ID | --name NAME}"
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.name, "name", "", "name of the object, instead of its ID")
	cmd.Args = arguments("a namespace, and an object's ID or --name", 2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var name *string
		if cmd.Flags().Changed("name") {
			name = &f.name
		}
		ref, err := objects.NewRef(args[0], strings.Join(args[1:], ""), name)
		if err != nil {
			return usageError{err}
		}
		run := f.run
		if asks {
			run = func(do func(context.Context, *objects.Client) error) error { return f.with(context.Background(), do) }
		}
		return run(func(ctx context.Context, c *objects.Client) error { return do(ctx, c, ref) })
	}
	return cmd
}

// arguments wants arguments: one at least.
func arguments(what string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > most {
			return usagef("%s takes %s, got %q", cmd.CommandPath(), what, args)
		}
		return nil
	}
}

func (f *objectsFlags) namespaces() *cobra.Command {
	cmd := &cobra.Command{
		Use: "namespaces", Short: "List the namespaces", Args: noArguments,
		Example: "  tandem objects namespaces --json",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.run(func(ctx context.Context, c *objects.Client) error { return c.Namespaces(ctx) })
	}
	return cmd
}

func (f *objectsFlags) list() *cobra.Command {
	o := objects.ListOptions{Limit: defaultObjectsLimit}
	cmd := &cobra.Command{
		Use: "list NAMESPACE", Short: "List the objects of a namespace that have durable state",
		Args:    arguments("one namespace", 1),
		Example: "  tandem objects list chat-Room\n  tandem objects list chat-Room --limit 0 --json",
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(intValue{&o.Limit, 0, maxObjectsLimit}, "limit", "how many to list; 0 for all")
	cmd.Flags().StringVar(&o.Cursor, "cursor", "", "go on where an earlier list has ended")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(func(ctx context.Context, c *objects.Client) error { return c.List(ctx, args[0], o) })
	}
	return cmd
}

func (f *objectsFlags) show() *cobra.Command {
	o := objects.ShowOptions{Limit: defaultObjectsLimit}
	var key string
	cmd := &cobra.Command{
		Use: "show", Short: "Show an object: its state, alarm and keys",
		Example: `  tandem objects show chat-Room --name lobby
  tandem objects show chat-Room --name lobby --prefix message: --after message:0100 --limit 20
  tandem objects show chat-Room --name lobby --key settings`,
	}
	cmd = f.onObject(cmd, false, func(ctx context.Context, c *objects.Client, ref objects.Ref) error {
		if cmd.Flags().Changed("key") {
			o.Key = &key
		}
		return c.Show(ctx, ref, o)
	})
	cmd.Flags().StringVar(&o.Prefix, "prefix", "", "only keys that begin so")
	cmd.Flags().StringVar(&o.After, "after", "", "only keys after this one")
	cmd.Flags().Var(intValue{&o.Limit, 0, maxObjectsLimit}, "limit", "how many keys; 0 for all")
	cmd.Flags().StringVar(&key, "key", "", "only this key, with its whole value")
	return cmd
}

func (f *objectsFlags) evict() *cobra.Command {
	wait := time.Duration(0)
	cmd := f.onObject(&cobra.Command{
		Use: "evict", Short: "Take an idle object out of memory; its state stays on disk",
		Example: "  tandem objects evict chat-Room --name lobby --wait 10s",
	}, false, func(ctx context.Context, c *objects.Client, ref objects.Ref) error { return c.Evict(ctx, ref, wait) })
	cmd.Flags().Var(durationValue{&wait, 0, admin.MaxWait}, "wait", "how long to wait until nothing is under way in it")
	return cmd
}

func (f *objectsFlags) abort() *cobra.Command {
	message := ""
	cmd := f.onObject(&cobra.Command{
		Use: "abort", Short: "Break a live object at once; its state stays on disk",
		Example: `  tandem objects abort chat-Room --name lobby --message "maintenance"`,
	}, false, func(ctx context.Context, c *objects.Client, ref objects.Ref) error { return c.Abort(ctx, ref, message) })
	cmd.Flags().StringVar(&message, "message", "", "what its callers are told")
	return cmd
}

func (f *objectsFlags) delete() *cobra.Command {
	yes := false
	cmd := f.onObject(&cobra.Command{
		Use: "delete", Short: "Delete all of an object's state",
		Example: "  tandem objects delete chat-Room --name lobby\n  tandem objects delete chat-Room --name lobby --yes",
	}, true, func(ctx context.Context, c *objects.Client, ref objects.Ref) error {
		return c.Delete(ctx, ref, objects.Confirmation{
			Yes: yes, In: f.sys.stdin, Out: f.sys.stderr, Terminal: isTerminal(f.sys.stdin),
		})
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (f *objectsFlags) alarm() *cobra.Command {
	early, wait := false, defaultAlarmWait
	cmd := f.onObject(&cobra.Command{
		Use: "alarm", Short: "Run an object's alarm now, if it is due or waits for a retry",
		Example: "  tandem objects alarm chat-Room --name lobby\n  tandem objects alarm chat-Room --name lobby --early",
	}, false, func(ctx context.Context, c *objects.Client, ref objects.Ref) error {
		return c.RunAlarm(ctx, ref, early, wait)
	})
	cmd.Flags().BoolVar(&early, "early", false, "also before its time has come")
	cmd.Flags().Var(durationValue{&wait, time.Second, admin.MaxWait}, "wait", "how long to wait for its end")
	return cmd
}

func (f *objectsFlags) export() *cobra.Command {
	output := ""
	cmd := f.onObject(&cobra.Command{
		Use: "export", Short: "Write an object to a file",
		Example: `  tandem objects export chat-Room --name lobby --output lobby.obj
  tandem objects export chat-Room --name lobby --output - | ssh other tandem objects import -`,
	}, false, func(ctx context.Context, c *objects.Client, ref objects.Ref) error {
		switch {
		case output == "":
			return usagef("--output is needed: a new file, or - for standard output")
		case output != "-":
			return c.Export(ctx, ref, output)
		case isTerminal(f.sys.stdout):
			return usagef("--output - writes bytes that a terminal can't show; give a file")
		}
		return c.ExportTo(ctx, ref, f.sys.stdout)
	})
	cmd.Flags().StringVarP(&output, "output", "o", "", "a new file, or - for standard output")
	return cmd
}

func (f *objectsFlags) imports() *cobra.Command {
	overwrite := false
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Make an object from a file of export, whole or not at all",
		Args:    arguments("one file, or - for standard input", 1),
		Example: "  tandem objects import lobby.obj\n  tandem objects import lobby.obj --overwrite",
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace the object if it exists")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(func(ctx context.Context, c *objects.Client) error {
			if args[0] == "-" {
				return c.ImportFrom(ctx, f.sys.stdin, overwrite)
			}
			return c.Import(ctx, args[0], overwrite)
		})
	}
	return cmd
}

// isTerminal is true when a standard stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
