package dev

import (
	"errors"
	"path/filepath"
)

// HeldState is a state directory that a command holds while no stack runs on it.
type HeldState struct{ dir *stateDir }

// HoldState makes or checks the state directory at path and holds it, as `tandem dev` does, until Close. Errors are
// *StateError, and *BusyError that names the pid of what holds it.
func HoldState(path string) (*HeldState, error) {
	dir, err := openState(path)
	if err != nil {
		var busy *BusyError
		if errors.As(err, &busy) {
			busy.Holder = "another tandem" + pidText(readPid(filepath.Join(path, pidFile)))
			busy.Advice = "stop it first, or give --state-dir another directory"
		}
		return nil, err
	}
	return &HeldState{dir}, nil
}

// Objects returns the directory of the object host's store.
func (h *HeldState) Objects() string { return ObjectsDir(h.dir.path) }

// Close gives the directory back.
func (h *HeldState) Close() error { return h.dir.close() }

// ObjectsDir returns the directory of the object host's store in a state directory.
func ObjectsDir(state string) string { return filepath.Join(state, "objects") }
