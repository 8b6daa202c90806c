package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/durableobject/storage"
	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/wranglerstate"
)

// maxNamesBytes bounds the file of --names.
const maxNamesBytes = 64 << 20

// importFlags are the flags of `tandem import`.
type importFlags struct {
	state, names string
	rename       []string
	options      wranglerstate.Options
}

// newImport returns `tandem import`.
func newImport(sys system) *cobra.Command {
	f := importFlags{state: defaultStateDir}
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Import Durable Objects and KV of wrangler dev or workerd serve",
		Long: `Import the Durable Objects that wrangler dev or workerd serve have stored: keys and values, alarms, and
names where they are known. The KV namespaces of wrangler dev come over too: values, metadata, expirations.
SQL tables are reported and not imported yet. SOURCE is .wrangler/state, the
project that has it, or the directory of workerd's localDisk; it is only read. Stop what writes it first.

` + exitTable,
		Example: `  tandem import .wrangler/state --dry-run
  tandem import .wrangler/state
  tandem import /var/lib/workerd/do --rename 210bd0cb=chat-Room --names rooms.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s takes one directory, got %q", cmd.CommandPath(), args)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.state, "state-dir", f.state, "state directory of tandem dev, or store directory of an object host")
	fs.BoolVar(&f.options.DryRun, "dry-run", false, "read and report everything, write nothing")
	fs.BoolVar(&f.options.Overwrite, "overwrite", false, "replace objects and keys of KV that have other state in the target")
	fs.BoolVar(&f.options.Partial, "partial", false, "import objects without those values that can't come over")
	fs.StringArrayVar(&f.rename, "rename", nil, "OLD=NEW unique key (<worker>-<Class>); needs names; repeatable")
	fs.StringVar(&f.names, "names", "", "file of names that objects may have, one a line")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		f.options.Source = args[0]
		return f.run(sys)
	}
	return cmd
}

// run imports and prints the report.
func (f *importFlags) run(sys system) (err error) {
	if err := f.complete(); err != nil {
		return err
	}
	ctx, _, stop := signals(func() { os.Exit(exitKilled) })
	defer stop()
	f.options.Target = f.state
	missing := false
	if !storage.IsStore(f.state) {
		_, serr := os.Stat(f.state)
		missing = errors.Is(serr, os.ErrNotExist)
		f.options.Target = dev.ObjectsDir(f.state)
	}
	if f.options.Target != f.state && !(missing && f.options.DryRun) {
		held, err := dev.HoldState(f.state)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, held.Close()) }()
	}
	f.options.Progress = func(p wranglerstate.Progress) {
		fmt.Fprintf(sys.stderr, "%s: %d of %d objects; %.1f MB copied\n", p.UniqueKey, p.Objects, p.Total, float64(p.Bytes)/1e6)
	}
	return f.report(ctx, sys.stdout)
}

// report imports and says what came over, also when that was cut short.
func (f *importFlags) report(ctx context.Context, out io.Writer) error {
	report, err := wranglerstate.Import(ctx, f.options)
	if report != nil {
		report.Print(out)
	}
	if err != nil {
		return err
	}
	return report.Err()
}

// complete makes options of the flags that are texts.
func (f *importFlags) complete() error {
	f.options.Rename = map[string]string{}
	for _, r := range f.rename {
		from, to, ok := strings.Cut(r, "=")
		if !ok || from == "" || to == "" || len(to) > 512 || strings.ContainsRune(to, 0) {
			return usagef("--rename %q is not OLD=NEW", r)
		}
		f.options.Rename[from] = to
	}
	if f.names == "" {
		return nil
	}
	file, err := os.Open(f.names)
	if err != nil {
		return usageError{fmt.Errorf("--names: %w", err)}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxNamesBytes+1))
	if err != nil {
		return usageError{fmt.Errorf("--names: %w", err)}
	}
	if len(text) > maxNamesBytes {
		return usagef("--names %s has more than %d bytes", f.names, maxNamesBytes)
	}
	for line := range strings.Lines(string(text)) {
		f.options.Names = append(f.options.Names, strings.TrimRight(line, "\r\n"))
	}
	return nil
}
