package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/project"
)

// runProject runs a project's stack, and has it reload the project when its files change.
func runProject(sys system, fs *pflag.FlagSet, po project.Options, o dev.Options) error {
	po.Process = environment()
	p, err := project.Load(po)
	if err != nil {
		return projectFault(sys, err)
	}
	if !fs.Changed("state-dir") && !o.Ephemeral {
		o.StateDir = filepath.Join(p.Dir, defaultStateDir)
	}
	if p.Port != 0 && !fs.Changed("port") {
		o.Port = p.Port
	}
	o.AuthPort = 0
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return underSignals(&o, func(ctx context.Context) error {
		w := &projectWatch{sys: sys, first: make(chan error, 1), updates: make(chan *dev.Project, 1)}
		watching, end := context.WithCancel(ctx)
		defer end()
		var group errgroup.Group
		group.Go(func() error {
			err := project.Watch(watching, project.WatchOptions{
				Options: po, MakeOptions: project.MakeOptions{Env: os.Environ(), Out: sys.stderr},
			}, w.update)
			select {
			case w.first <- err: // it ended before the first build
				return nil
			default:
				return err
			}
		})
		err := w.run(ctx, o)
		end()
		return errors.Join(err, group.Wait())
	})
}

// projectWatch takes a project's builds to a stack.
type projectWatch struct {
	sys system
	// first gets the outcome of the first build.
	first chan error
	// started is true after the first build; it belongs to the goroutine of the watch.
	started bool
	// updates has the newest build that the stack has not taken.
	updates chan *dev.Project
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
	select {
	case <-w.updates: // nobody took the one before
	default:
	}
	w.updates <- next
	if !w.started {
		w.started = true
		w.first <- nil
	}
}

// run runs the stack once the project was built.
func (w *projectWatch) run(ctx context.Context, o dev.Options) error {
	select {
	case err := <-w.first:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return nil
	}
	o.Project, o.Updates = <-w.updates, w.updates
	return dev.Run(ctx, o)
}
