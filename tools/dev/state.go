package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Files of a state directory that are the supervisor's own. Beside them lie the processes': router, objects, auth,
// traces, worker and directory.db.
const (
	formatFile = "format"
	lockFile   = "lock"
	pidFile    = "pid"

	formatPrefix  = "tandem state "
	formatVersion = 1
	maxFormatSize = 64
)

// stateDir is a state directory that this process holds.
type stateDir struct {
	// path is absolute.
	path string
	// ephemeral directories are removed by close.
	ephemeral bool
	// orphaned is true when the last supervisor did not end by itself, so that its children may still be
	// ending.
	orphaned bool
	lock     *flock.Flock
}

// openState makes or checks the directory at path and locks it. Errors are *StateError and *BusyError.
func openState(path string) (*stateDir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &StateError{Dir: path, Reason: "has no absolute path", Cause: err}
	}
	// The check comes before the lock: a directory that is not ours must not get a lock file.
	if err := checkFormat(abs); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, &StateError{Dir: abs, Reason: "can't be made", Cause: err}
	}
	d := &stateDir{path: abs, lock: flock.New(filepath.Join(abs, lockFile), flock.SetPermissions(0o600))}
	ok, err := d.lock.TryLock()
	if err != nil {
		return nil, &StateError{Dir: abs, Reason: "can't be locked", Cause: err}
	}
	if !ok {
		return nil, &BusyError{
			What: "state directory " + abs, Holder: "another tandem dev" + pidText(readPid(filepath.Join(abs, pidFile))),
			Advice: "stop it, or give --state-dir another directory, or --ephemeral",
		}
	}
	if err := d.begin(); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// openEphemeral makes a temporary state directory.
func openEphemeral() (*stateDir, error) {
	path, err := os.MkdirTemp("", "tandem-")
	if err != nil {
		return nil, &StateError{Dir: os.TempDir(), Reason: "takes no temporary directory", Cause: err}
	}
	d, err := openState(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	d.ephemeral = true
	return d, nil
}

// begin writes the format and the pid of a directory whose lock is held.
func (d *stateDir) begin() error {
	// Another tandem may have made the directory between the check and the lock.
	if err := checkFormat(d.path); err != nil {
		return err
	}
	d.orphaned = readPid(filepath.Join(d.path, pidFile)) != 0
	format := formatPrefix + strconv.Itoa(formatVersion) + "\n"
	if err := writeFile(filepath.Join(d.path, formatFile), []byte(format)); err != nil {
		return &StateError{Dir: d.path, Reason: "can't be written", Cause: err}
	}
	if err := writeFile(filepath.Join(d.path, pidFile), []byte(strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return &StateError{Dir: d.path, Reason: "can't be written", Cause: err}
	}
	return nil
}

// close gives the directory back, or removes it if it is ephemeral.
func (d *stateDir) close() error {
	if d.ephemeral {
		return errors.Join(os.RemoveAll(d.path), d.lock.Close())
	}
	return errors.Join(os.Remove(filepath.Join(d.path, pidFile)), d.lock.Close())
}

// checkFormat says whether the directory is tandem's and of a format that is known here. One that is absent,
// empty, or was left so early that it holds only the supervisor's files is fine.
func checkFormat(dir string) error {
	refuse := func(reason string, cause error) error {
		return &StateError{Dir: dir, Reason: reason + "; it was left untouched", Cause: cause}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse("can't be read", err)
	}
	foreign := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		name := strings.TrimSuffix(e.Name(), partSuffix)
		return name != formatFile && name != lockFile && name != pidFile
	})
	info, err := os.Lstat(filepath.Join(dir, formatFile))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !foreign:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return refuse("is not tandem's: it has other files and no format file", nil)
	case err != nil:
		return refuse("can't be read", err)
	case !info.Mode().IsRegular() || info.Size() > maxFormatSize:
		return refuse("is corrupt: its format file is not a small file", nil)
	}
	text, err := os.ReadFile(filepath.Join(dir, formatFile))
	if err != nil {
		return refuse("can't be read", err)
	}
	digits, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), formatPrefix)
	version, err := strconv.Atoi(digits)
	switch {
	case !ok || err != nil || version < 1:
		return refuse(fmt.Sprintf("is corrupt: its format file says %q", text), nil)
	case version > formatVersion:
		return refuse(fmt.Sprintf("is of a newer tandem: format %d, known here up to %d", version, formatVersion), nil)
	}
	return nil
}

// readPid returns the pid in a file, 0 when there is none.
func readPid(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

// pidText returns " (pid 1)", or nothing for 0.
func pidText(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// partSuffix marks a file that is being written.
const partSuffix = ".part"

// writeFile writes a file of the user's own so that readers see it whole or not at all.
func writeFile(path string, data []byte) error {
	part := path + partSuffix
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}
