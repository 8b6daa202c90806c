package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/project"
)

// projectRun is what `tandem dev` was told about the projects that it runs.
type projectRun struct {
	flags   *pflag.FlagSet
	options project.Options
	// dirs are their directories or wrangler files.
	dirs []string
	// alone keeps the stack from meeting others.
	alone bool
}

// projectDirs checks the arguments of `tandem dev`.
func projectDirs(_ *cobra.Command, args []string) error {
	if len(args) > dev.MaxProjects {
		return usagef("%d Workers are too many for one stack, at most %d", len(args), dev.MaxProjects)
	}
	return nil
}

// projectsOf returns the DIRs of `tandem dev`. Without one that is the current directory, if it has a wrangler file.
func projectsOf(args []string) []string {
	if len(args) > 0 {
		return args
	}
	for _, name := range project.FileNames() {
		if _, err := os.Stat(name); err == nil {
			return []string{"."}
		}
	}
	return nil
}

// load reads the projects, and checks them against each other.
func (r *projectRun) load(sys system) ([]*project.Project, error) {
	r.options.Process = environment()
	var list []*project.Project
	for _, dir := range r.dirs {
		o := r.options
		o.Path = dir
		p, err := project.Load(o)
		if err != nil {
			return nil, projectFault(sys, err)
		}
		list = append(list, p)
	}
	failed := false
	for _, g := range project.Together(list) {
		if g.Severity == project.SeverityError {
			failed = true
		} else if len(list) == 1 {
			continue // the others may run in another stack
		}
		fmt.Fprint(sys.stderr, g.Format(sys.color))
	}
	if failed {
		return nil, fmt.Errorf("%w: the Workers cannot run in one stack", errProject)
	}
	return list, nil
}

// configure sets what follows from the projects and the flags.
func (r *projectRun) configure(sys system, o *dev.Options, list []*project.Project) error {
	primary := list[0]
	if !r.flags.Changed("state-dir") && !o.Ephemeral {
		o.StateDir = filepath.Join(primary.Dir, defaultStateDir)
	}
	if primary.Port != 0 && !r.flags.Changed("port") {
		o.Port = primary.Port
	}
	o.Quiet = !r.flags.Changed("log-level")
	o.SearchPort, o.SearchDashboardPort = !r.flags.Changed("port"), !r.flags.Changed("dashboard-port")
	o.AuthPort = 0
	if !r.alone && !o.Ephemeral {
		root, err := project.Root(primary.Dir)
		if err != nil {
			return err
		}
		o.Root = root
		o.RuntimeDir, _ = sys.lookup("XDG_RUNTIME_DIR")
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// runProjects runs the stack of projects, and has it reload each when its files change.
func runProjects(sys system, r projectRun, o dev.Options) error {
	list, err := r.load(sys)
	if err != nil {
		return err
	}
	if err := r.configure(sys, &o, list); err != nil {
		return err
	}
	return underSignals(&o, func(ctx context.Context) error {
		reserve, err := dev.NewReserve(min(len(list), runtime.NumCPU()))
		if err != nil {
			return err
		}
		defer reserve.Close()
		o.Reserve = reserve
		watching, end := context.WithCancel(ctx)
		defer end()
		var group errgroup.Group
		updates := make(chan dev.Update)
		var watches []*projectWatch
		for i := range list {
			w := &projectWatch{sys: sys, index: i, first: make(chan error, 1), updates: make(chan *dev.Project, 1)}
			watches = append(watches, w)
			po := r.options
			po.Path = r.dirs[i]
			group.Go(func() error { return w.watch(watching, po) })
			group.Go(func() error {
				w.forward(watching, updates)
				return nil
			})
		}
		err = runWatched(ctx, watches, updates, o)
		end()
		return errors.Join(err, group.Wait())
	})
}

// runWatched runs the stack once all projects were built.
func runWatched(ctx context.Context, watches []*projectWatch, updates <-chan dev.Update, o dev.Options) error {
	for _, w := range watches {
		select {
		case err := <-w.first:
			if err != nil {
				return err
			}
			o.Projects = append(o.Projects, w.built)
			if err := project.WriteBindings(o.Stdout, w.built.Bundle.Manifest(), w.built.Secrets); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
	o.Updates = updates
	return dev.Run(ctx, o)
}

// projectWatch takes a project's builds to a stack.
type projectWatch struct {
	sys system
	// index is the project's place.
	index int
	// first gets the outcome of the first build, when built is its result.
	first chan error
	built *dev.Project
	// started is true after the first build; it belongs to the goroutine of the watch.
	started bool
	// updates has the newest build after the first that the stack has not taken.
	updates chan *dev.Project
}

// watch builds the project, again and again, until ctx ends.
func (w *projectWatch) watch(ctx context.Context, po project.Options) error {
	err := project.Watch(ctx, project.WatchOptions{
		Options: po, MakeOptions: project.MakeOptions{Env: os.Environ(), Out: w.sys.stderr},
	}, w.update)
	if !w.started { // it ended before the first build
		w.first <- err
		return nil
	}
	return err
}

// update is called with each build.
func (w *projectWatch) update(u project.Update) {
	if u.Project != nil && !w.started {
		for _, g := range u.Project.Diagnostics {
			fmt.Fprint(w.sys.stderr, g.Format(w.sys.color))
		}
	}
	for _, m := range u.Warnings {
		fmt.Fprint(w.sys.stderr, m.Format(w.sys.color))
	}
	if u.Err != nil {
		err := projectFault(w.sys, u.Err)
		if !w.started {
			w.started = true
			w.first <- err
		} else {
			fmt.Fprintln(w.sys.stderr, "the last version that was built goes on running")
		}
		return
	}
	next := &dev.Project{Bundle: u.Bundle, Secrets: u.Project.Secrets}
	if !w.started {
		w.started, w.built = true, next
		w.first <- nil
		return
	}
	select {
	case <-w.updates: // nobody took the one before
	default:
	}
	w.updates <- next
}

// forward takes the builds after the first to the stack, until ctx ends.
func (w *projectWatch) forward(ctx context.Context, to chan<- dev.Update) {
	for {
		select {
		case p := <-w.updates:
			select {
			case to <- dev.Update{Index: w.index, Project: p}:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
