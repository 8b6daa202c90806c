package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// runningFile is the file of a state directory that says where the processes of the stack on it are.
	runningFile    = "stack.json"
	maxRunningSize = 64 << 10
)

// Running says where the processes of a stack are that other commands speak to. Addresses are gRPC targets.
type Running struct {
	// Pid is the supervisor's.
	Pid int `json:"pid"`
	// ObjectsAddress is the object host's, RouterAddress the router's.
	ObjectsAddress string `json:"objects_address"`
	RouterAddress  string `json:"router_address"`
}

// FindRunning returns what the stack on a state directory has said of itself, or nil if there is none. A stack that
// was killed leaves its word behind: whoever gets no answer at an address asks InUse. The directory is only read.
func FindRunning(stateDir string) (*Running, error) {
	path := filepath.Join(stateDir, runningFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > maxRunningSize {
		err = errors.New("it is too large")
	}
	var r Running
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			err = json.Unmarshal(text, &r)
		}
	}
	if err != nil {
		return nil, &StateError{Dir: stateDir, Reason: "has a bad " + runningFile, Cause: err}
	}
	return &r, nil
}

// writeRunning has the directory say where the stack is.
func (s *stack) writeRunning() error {
	text, err := json.MarshalIndent(Running{
		Pid: os.Getpid(), ObjectsAddress: "unix:" + s.socket(nameHost), RouterAddress: s.routerTarget(),
	}, "", "  ")
	if err == nil {
		err = writeFile(filepath.Join(s.state, runningFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", runningFile, err)
	}
	return nil
}

// clearRunning takes it back.
func (s *stack) clearRunning() error {
	if err := os.Remove(filepath.Join(s.state, runningFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", runningFile, err)
	}
	return nil
}
