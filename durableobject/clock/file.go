package clock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// fileName is the file, in a host's state directory, that says how far its clock is ahead.
	fileName   = "clock"
	filePrefix = "tandem test clock, ahead by "
	maxFile    = 256
)

// AheadError is a state directory that a test clock was used with: what it holds is dated ahead of real time, so that by
// real time nothing of it would become due for as long.
type AheadError struct {
	// Dir is the directory.
	Dir string
	// By is how far its clock is ahead.
	By time.Duration
}

// Error returns the whole sentence.
func (e *AheadError) Error() string {
	return fmt.Sprintf("state in %s is %v ahead of real time, since its clock was advanced: "+
		"start with --test-clock, or use another state directory", e.Dir, e.By.Round(time.Second))
}

// CheckReal says whether a host may use the state in dir by real time. Errors: *AheadError, or that the file can't be read.
func CheckReal(dir string) error {
	by, err := load(filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	if by > 0 {
		return &AheadError{Dir: dir, By: by}
	}
	return nil
}

// OpenTest returns a test clock that goes on where the last one of the same directory was, ahead of real time by as much.
// Empty means that the clock begins at real time and is not kept. The directory need not exist before the first advance.
func OpenTest(dir string) (*Test, error) {
	t := &Test{turn: make(chan struct{}, 1), holds: map[uint64]*held{}}
	if dir != "" {
		t.path = filepath.Join(dir, fileName)
		var err error
		if t.ahead, err = load(t.path); err != nil {
			return nil, err
		}
	}
	t.wake = time.AfterFunc(time.Hour, t.fire)
	t.wake.Stop()
	return t, nil
}

// load returns what a file of save says, or 0 if there is none.
func load(path string) (time.Duration, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read how far the clock is ahead: %w", err)
	}
	var text []byte
	if info.Mode().IsRegular() && info.Size() <= maxFile {
		if text, err = os.ReadFile(path); err != nil {
			return 0, fmt.Errorf("read how far the clock is ahead: %w", err)
		}
	}
	value, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), filePrefix)
	ahead, err := time.ParseDuration(value)
	if !ok || err != nil || ahead < 0 || ahead > MaxAhead {
		return 0, fmt.Errorf("file %s does not say how far the clock is ahead", path)
	}
	return ahead, nil
}

// save writes durably how far the clock is ahead.
func (t *Test) save(ahead time.Duration) error {
	if t.path == "" {
		return nil
	}
	part := t.path + ".part"
	err := writeSynced(part, filePrefix+ahead.String()+"\n")
	if err == nil {
		err = os.Rename(part, t.path)
	}
	if err != nil {
		return fmt.Errorf("write how far the clock is ahead: %w", err)
	}
	return nil
}

// writeSynced writes a small file and waits until it is on disk.
func writeSynced(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Sync()
}
