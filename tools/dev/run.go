package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/tools/dev/console"
)

// Run runs a stack until ctx ends, drains it and cleans up. It returns nil after a drain; otherwise a *BusyError, a
// *StateError, a *StartError, ErrKilled, or another error that says what could not be done.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	if err := checkReady(o.ReadyFile); err != nil {
		return err
	}
	state, err := open(o)
	if err != nil {
		return err
	}
	defer closing(&err, state.close)
	if err := checkClock(state.path, o.TestClock); err != nil {
		return err
	}
	out := console.NewOutput(o.Stderr, o.labelWidth(), o.Color)
	log := newLog(out.Source("tandem"), o)
	var waiting func(port)
	if state.orphaned {
		waiting = func(p port) { log.Warn("waiting for the processes of a killed tandem dev to end", "port", p.port) }
	}
	st := &stack{options: o, state: state.path}
	if err := st.meet(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // there is nothing to drain yet
		}
		return err
	}
	defer closing(&err, st.leave)
	ls, err := openListeners(ctx, st.options, waiting)
	if err != nil {
		return err
	}
	defer closing(&err, ls.close)
	// Only the holder of the directory and the ports may touch the ready file: another stack may have the same.
	if err := clearReady(o.ReadyFile); err != nil {
		return err
	}
	defer closing(&err, func() error { return clearReady(o.ReadyFile) })
	run, err := openRunDir(state.path, longestSocket)
	if err != nil {
		return err
	}
	defer closing(&err, func() error { return os.RemoveAll(run) })
	lifeline, keep, err := newLifeline()
	if err != nil {
		return err
	}
	defer closing(&err, func() error { return errors.Join(lifeline.Close(), keep.Close()) })
	st.run, st.listeners = run, ls
	if err := st.writeRunning(); err != nil {
		return err
	}
	defer closing(&err, st.clearRunning)
	if err := st.announce(); err != nil {
		return err
	}
	for i, p := range o.Projects {
		if err := st.writeProject(i, p); err != nil {
			return err
		}
	}
	sup := newSupervisor(ctx, st, log)
	sup.add(out, lifeline)
	return sup.run(ctx)
}

// open opens the state directory that the options name.
func open(o Options) (*stateDir, error) {
	if o.Ephemeral {
		return openEphemeral()
	}
	return openState(filepath.Clean(o.StateDir))
}

// checkClock says early what the object host would: a directory whose clock was advanced can't be used by real time.
func checkClock(state string, test bool) error {
	if test {
		return nil
	}
	err := clock.CheckReal(ObjectsDir(state))
	var ahead *clock.AheadError
	if errors.As(err, &ahead) {
		return &StateError{Dir: state, Reason: fmt.Sprintf("is %v ahead of real time, since its clock was advanced: "+
			"start with --test-clock, or give --state-dir another directory", ahead.By.Round(time.Second))}
	}
	return err
}

// closing adds the error of a close to *err.
func closing(err *error, f func() error) { *err = errors.Join(*err, f()) }
