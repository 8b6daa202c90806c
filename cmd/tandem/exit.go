package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/tandem-do/tandem/durableobject/clock"
	"github.com/tandem-do/tandem/tools/dev"
	"github.com/tandem-do/tandem/tools/reload"
)

// The exit codes of every command.
const (
	// exitOK: it did what it was asked to; for a process, it drained.
	exitOK = 0
	// exitFailure: anything that has no code of its own.
	exitFailure = 1
	// exitUsage: a flag, an argument or an environment variable is wrong.
	exitUsage = 2
	// exitBusy: another process holds a port or a directory.
	exitBusy = 3
	// exitState: the state directory can't be used; it is as it was.
	exitState = 4
	// exitKilled: a drain was cut short, by its limit or by a second signal.
	exitKilled = 5
	// exitProject: the project's configuration or its script has faults, or a bundle was refused.
	exitProject = 6
)

// exitTable is the table of exit codes in the help text.
const exitTable = `Exit codes:
  0  done, or drained            3  a port or the state directory is in use
  1  failure                     4  the state directory can't be used
  2  wrong flag or environment   5  the drain was cut short
                                 6  the project has faults`

// usageError is a fault of who typed the command.
type usageError struct{ error }

// Unwrap returns the error behind it.
func (e usageError) Unwrap() error { return e.error }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// programExit is the exit code of a sandboxed program's process, which has said all there is to say.
type programExit int

// Error returns the code.
func (e programExit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode returns the code for how a command ended.
func exitCode(err error) int {
	var usage usageError
	var program programExit
	var busy *dev.BusyError
	var state *dev.StateError
	var start *dev.StartError
	var ahead *clock.AheadError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &program):
		return int(program)
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errProject), errors.Is(err, reload.ErrRefused):
		return exitProject
	case errors.As(err, &busy), errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EAGAIN):
		return exitBusy // EAGAIN is a store's file lock that another process holds
	case errors.As(err, &state), errors.As(err, &ahead):
		return exitState
	case errors.As(err, &start):
		return exitFailure // even if the others had to be killed
	case errors.Is(err, dev.ErrKilled):
		return exitKilled
	}
	return exitFailure
}
