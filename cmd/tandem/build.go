package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-do/tandem/runtime/bundle"
	"github.com/tandem-do/tandem/tools/project"
)

// projectFlags are the flags of commands that read one project.
type projectFlags struct {
	options project.Options
	output  string
	quiet   bool
}

// newCheck returns `tandem check`.
func newCheck(sys system) *cobra.Command {
	var f projectFlags
	var survey bool
	cmd := &cobra.Command{
		Use:   "check [DIR…]",
		Short: "Validate Workers projects without running them",
		Long: `Read each project's wrangler file, run its build command, and bundle its script. Nothing of the script runs.
Every fault of the configuration is reported with its place; warnings and notes do not fail the check. Several projects
are checked against each other too: bindings of Workers and of their objects.

` + exitTable,
		Example: `  tandem check
  tandem check workers/api workers/auth --env staging
  tandem check --survey workers-sdk`,
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&survey, "survey", false, "load every configuration below DIR and count those that would run")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := applyEnv(cmd.Flags(), sys.lookup); err != nil {
			return err
		}
		if survey {
			return printSurvey(sys.stdout, args)
		}
		return f.check(sys, args)
	}
	return cmd
}

// newBuild returns `tandem build`.
func newBuild(sys system) *cobra.Command {
	f := projectFlags{options: project.Options{Production: true}}
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build a Workers project into one bundle file",
		Long: `Bundle the project's script for production and write it, its source map and its configuration into one file, which
tandem worker --bundle and tandem durableobject --bundle run without the source. The file's name holds no version: its
content does, and two builds of one source are the same bytes. Values of secrets are not in it.

` + exitTable,
		Example: `  tandem build
  tandem build workers/api --env production -o api.bundle`,
		Args: atMostOneProject,
	}
	f.add(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "file to write (default: the Worker's name with .bundle)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := applyEnv(cmd.Flags(), sys.lookup); err != nil {
			return err
		}
		_, b, err := f.make(sys, args)
		if err != nil {
			return err
		}
		path := f.output
		if path == "" {
			path = b.Manifest().Name + ".bundle"
		}
		if err := b.WriteFile(path); err != nil {
			return err
		}
		fmt.Fprintf(sys.stdout, "%s %s: %s\n", path, b.Hash(), described(b))
		return nil
	}
	return cmd
}

// check checks projects, each by itself and then together.
func (f *projectFlags) check(sys system, dirs []string) error {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var projects []*project.Project
	failed := false
	for _, dir := range dirs {
		p, b, err := f.make(sys, []string{dir})
		if errors.Is(err, errProject) {
			failed = true
			continue
		}
		if err != nil {
			return err
		}
		projects = append(projects, p)
		m := b.Manifest()
		fmt.Fprintf(sys.stdout, "%s: %s is well: %s\n", m.Name, m.Main, described(b))
	}
	if len(dirs) > 1 {
		for _, g := range project.Together(projects) {
			fmt.Fprint(sys.stderr, g.Format(sys.color))
			failed = failed || g.Severity == project.SeverityError
		}
	}
	if failed {
		return errProject
	}
	return nil
}

func (f *projectFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.options.Environment, "env", "e", "", "environment of the wrangler file")
	fromEnv(fs, "env", "CLOUDFLARE_ENV")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print faults, but no warnings and notes")
}

func atMostOneProject(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one directory or wrangler file, got %q", cmd.CommandPath(), args)
	}
	return nil
}

// make loads and builds a project, and prints what there is to say of it.
func (f *projectFlags) make(sys system, args []string) (*project.Project, *bundle.Bundle, error) {
	if len(args) == 1 {
		f.options.Path = args[0]
	}
	f.options.Process = environment()
	p, err := project.Load(f.options)
	if err != nil {
		return nil, nil, projectFault(sys, err)
	}
	if !f.quiet {
		for _, g := range p.Diagnostics {
			fmt.Fprint(sys.stderr, g.Format(sys.color))
		}
	}
	ctx, _, stop := signals(func() { os.Exit(exitKilled) })
	defer stop()
	b, warnings, err := p.Make(ctx, project.MakeOptions{Env: os.Environ(), Out: sys.stderr})
	if err != nil {
		return nil, nil, projectFault(sys, err)
	}
	if !f.quiet {
		for _, w := range warnings {
			fmt.Fprint(sys.stderr, w.Format(sys.color))
		}
	}
	return p, b, nil
}

// formatted is a fault of a project that can show the source it is of.
type formatted interface {
	error
	Format(color bool) string
}

// projectFault prints a project's faults and returns what remains to be said.
func projectFault(sys system, err error) error {
	var f formatted
	if !errors.As(err, &f) {
		return err
	}
	fmt.Fprint(sys.stderr, f.Format(sys.color))
	return errProject
}

// errProject is that a project's files have faults, which were printed.
var errProject = errors.New("the project can't run as it is")

// environment is the process's environment by name.
func environment() map[string]string {
	m := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		m[name] = value
	}
	return m
}

// described says what is in a bundle.
func described(b *bundle.Bundle) string {
	m := b.Manifest()
	parts := []string{fmt.Sprintf("%.1f KiB of script", float64(len(b.Code()))/1024)}
	for _, n := range []struct {
		count int
		what  string
	}{
		{len(m.Classes), "object classes"},
		{len(m.DurableObjects) + len(m.Services) + len(m.KV), "bindings"},
		{len(m.Crons), "schedules"},
		{len(m.Unavailable), "unavailable bindings"},
	} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", n.what, n.count))
		}
	}
	return strings.Join(parts, ", ")
}

// printSurvey counts the projects below a directory.
func printSurvey(out io.Writer, args []string) error {
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	s, err := project.NewSurvey(dir)
	if err != nil {
		return err
	}
	return s.Write(out)
}
