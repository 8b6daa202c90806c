package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// Project is a Worker that a stack runs instead of the MCP application.
type Project struct {
	// Bundle is the Worker as it was built.
	Bundle *bundle.Bundle
	// Secrets are the values of its secrets, by name.
	Secrets map[string]string
}

// Files of a project's stack in its runtime directory.
const (
	bundleFile  = "worker.bundle"
	secretsFile = "secrets.json"
	// scriptHealthPath is where a script's worker answers probes.
	scriptHealthPath = "/cdn-cgi/tandem/health"
)

// hasObjects reports whether the project has object classes or uses a service that is made of objects, for which a host
// runs.
func (p *Project) hasObjects() bool {
	m := p.Bundle.Manifest()
	return len(m.Classes)+len(m.KV)+len(m.Crons) > 0
}

// writeProject writes what the processes of a project read as they start.
func (s *stack) writeProject(p *Project) error {
	secrets, err := json.Marshal(p.Secrets)
	if err == nil && p.Secrets == nil {
		secrets = []byte("{}")
	}
	if err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	return errors.Join(
		p.Bundle.WriteFile(filepath.Join(s.run, bundleFile)),
		writeFile(filepath.Join(s.run, secretsFile), secrets),
	)
}

// bundleArgs are the flags by which a process finds the project.
func (s *stack) bundleArgs() []string {
	return []string{
		"--bundle", filepath.Join(s.run, bundleFile), "--secrets-file", filepath.Join(s.run, secretsFile), "--development",
	}
}

// projectProcesses returns the processes of a project's stack.
func (s *stack) projectProcesses() []process {
	list := []process{s.projectTraces(), s.router()}
	after := []string{nameRouter, nameTraces}
	if s.options.Project.hasObjects() {
		list = append(list, s.projectHost())
		after = append(after, nameHost)
	}
	return append(list, s.projectWorker(after))
}

func (s *stack) projectTraces() process {
	p := s.traces()
	p.args = slices.Clone(p.args[:6]) // without the links of the MCP application
	p.args = append(p.args, "--link", "Worker="+s.listeners.worker.url())
	return p
}

func (s *stack) projectHost() process {
	p := s.overSocket(process{
		name: nameHost, round: 1, after: []string{nameRouter},
		args: append([]string{
			"--address", "unix:" + s.socket(nameHost), "--state-dir", ObjectsDir(s.state),
			"--router", "unix:" + s.socket(nameRouter),
		}, s.bundleArgs()...),
	})
	if s.options.TestClock {
		p.args = append(p.args, "--test-clock")
	}
	if s.options.StrictLimits {
		p.args = append(p.args, "--strict-limits")
	}
	return p
}

func (s *stack) projectWorker(after []string) process {
	l := s.listeners.worker
	return process{
		name: nameWorker, round: 0, after: after,
		args: append([]string{
			"--listen", fd(0), "--router", "unix:" + s.socket(nameRouter),
		}, s.bundleArgs()...),
		files:  []*os.File{l.file},
		health: httpHealth(l.url() + scriptHealthPath),
	}
}

// reload has the processes of the project run what it is now. They drain; their requests and objects' calls wait until the
// next ones run.
func (s *supervisor) reload(p *Project) {
	if p.hasObjects() != s.options.Project.hasObjects() {
		s.log.Warn("object classes, KV or crons have come or gone: stop tandem dev and start it again")
		return
	}
	if err := s.stack.writeProject(p); err != nil {
		s.log.Error("the project was not reloaded", "err", err)
		return
	}
	s.log.Info("project changed, reloading")
	for _, name := range []string{nameWorker, nameHost} {
		child, ok := s.children[name]
		if !ok { // a project without objects has no host
			continue
		}
		select {
		case child.wake <- struct{}{}: // it may wait, for the last version did not start
		default:
		}
		if pid := s.pids[name]; pid != 0 {
			child.reloading.Store(true)
			_ = syscall.Kill(pid, syscall.SIGTERM) // an error means that it has ended
		}
	}
}
