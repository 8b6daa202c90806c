package dev

import "errors"

// ErrKilled is returned by Run when a drain was cut short: by Options.Kill, or by DrainTimeout.
var ErrKilled = errors.New("the drain was cut short, and what still ran was killed")

// BusyError is a port or a state directory that another process holds.
type BusyError struct {
	// What is busy: "port 8787", "state directory /x/.tandem".
	What string
	// Holder is the process that holds it, as far as it is known: "tandem (pid 1)"; otherwise empty.
	Holder string
	// Advice says what to do about it.
	Advice string
}

// Error returns the whole sentence.
func (e *BusyError) Error() string {
	holder := "another process"
	if e.Holder != "" {
		holder = e.Holder
	}
	return e.What + " is in use by " + holder + ": " + e.Advice
}

// StateError is a state directory that can't be used. Its files are as they were.
type StateError struct {
	// Dir is the directory.
	Dir string
	// Reason says what is wrong with it.
	Reason string
	// Cause is the system's error behind it, or nil.
	Cause error
}

// Error returns the whole sentence.
func (e *StateError) Error() string {
	s := "state directory " + e.Dir + " " + e.Reason
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Cause }

// StartError is a process that could not be brought to health.
type StartError struct {
	// Process is its name, such as "worker".
	Process string
	// Cause says how it ended.
	Cause error
	// Log holds its last log lines.
	Log []string
}

// Error returns the cause and the log lines, each on a line of its own.
func (e *StartError) Error() string {
	s := e.Process + " does not start: " + e.Cause.Error()
	if len(e.Log) == 0 {
		return s + " (it logged nothing)"
	}
	s += "; its last log lines:"
	for _, line := range e.Log {
		s += "\n  " + line
	}
	return s
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Cause }
