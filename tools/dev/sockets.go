package dev

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// maxSocketPath is the longest path of a unix socket that every system takes, with room to spare: 108 bytes on
// Linux, 104 on the BSDs, with the ending zero.
const maxSocketPath = 100

// runPrefix begins the names of runtime directories. Each supervisor has its own, so that a child of a killed
// supervisor, which removes its socket as it ends, can't remove that of a later one.
const runPrefix = "run-"

// openRunDir makes the private directory that holds the sockets between the processes: in the state directory if the
// paths are short enough there, otherwise in a temporary one. longest is the longest file name in it.
func openRunDir(state, longest string) (string, error) {
	old, err := filepath.Glob(filepath.Join(state, runPrefix+"*"))
	if err != nil {
		return "", fmt.Errorf("list runtime directories: %w", err)
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("remove old runtime directory: %w", err)
		}
	}
	dir := filepath.Join(state, runPrefix+strconv.Itoa(os.Getpid()))
	if len(dir)+1+len(longest) <= maxSocketPath {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", fmt.Errorf("make runtime directory: %w", err)
		}
		return dir, nil
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		dir, err = os.MkdirTemp(base, "tandem-"+runPrefix)
		if err != nil {
			return "", fmt.Errorf("make runtime directory: %w", err)
		}
		if len(dir)+1+len(longest) <= maxSocketPath {
			return dir, nil
		}
		if err := os.Remove(dir); err != nil {
			return "", fmt.Errorf("remove runtime directory: %w", err)
		}
	}
	return "", fmt.Errorf("no directory is short enough for a socket's path of %d bytes; set TMPDIR to one", maxSocketPath)
}
