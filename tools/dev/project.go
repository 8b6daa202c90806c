package dev

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// Project is a Worker that a stack runs.
type Project struct {
	// Bundle is the Worker as it was built.
	Bundle *bundle.Bundle
	// Secrets are the values of its secrets, by name.
	Secrets map[string]string
}

// Update is what a project has become.
type Update struct {
	// Index is the project's place in Options.Projects.
	Index int
	// Project is its new version.
	Project *Project
}

// Ends of the names of a project's files in the runtime directory.
const (
	bundleSuffix  = ".bundle"
	secretsSuffix = ".json"
	socketSuffix  = ".sock"
	// scriptHealthPath is where a script's worker answers probes.
	scriptHealthPath = "/cdn-cgi/tandem/health"
)

// name is the Worker's.
func (p *Project) name() string { return p.Bundle.Manifest().Name }

// hasClasses reports whether the project has object classes.
func (p *Project) hasClasses() bool { return len(p.Bundle.Manifest().Classes) > 0 }

// usesServices reports whether the project uses a service that is made of objects.
func (p *Project) usesServices() bool {
	m := p.Bundle.Manifest()
	return len(m.KV)+len(m.Crons) > 0
}

// writeProject writes what the processes of the i-th project read as they start.
func (s *stack) writeProject(i int, p *Project) error {
	secrets, err := json.Marshal(p.Secrets)
	if err == nil && p.Secrets == nil {
		secrets = []byte("{}")
	}
	if err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	var text bytes.Buffer
	if err := p.Bundle.WriteStored(&text); err != nil {
		return err
	}
	return errors.Join(writeFile(s.bundlePath(i), text.Bytes()), writeFile(s.secretsPath(i), secrets))
}

// bundleArgs are the flags by which a process finds the i-th project.
func (s *stack) bundleArgs(i int) []string {
	return []string{"--bundle", s.bundlePath(i), "--secrets-file", s.secretsPath(i)}
}

// projectProcesses returns the processes of a stack of projects. One that has joined another stack has no router and no
// trace store. All start at once: each waits by itself for the others that it needs, and a developer for the slowest only.
func (s *stack) projectProcesses() []process {
	var list []process
	if s.keeper() == nil {
		list = []process{s.projectTraces(), s.projectRouter()}
	}
	if s.needsHost() {
		list = append(list, s.projectHost())
	}
	for i := range s.options.Projects {
		list = append(list, s.projectWorker(i))
	}
	return list
}

func (s *stack) projectTraces() process {
	p := s.traces()
	p.args = slices.Clone(p.args[:6]) // without the links of the MCP application
	for i, l := range s.listeners.workers() {
		text := "Worker"
		if i > 0 || len(s.options.Projects) > 1 {
			text += " " + s.options.Projects[i].name()
		}
		p.args = append(p.args, "--link", text+"="+l.url())
	}
	return p
}

func (s *stack) projectRouter() process {
	p := s.router()
	p.args = append(p.args, "--follow-hosts")
	return p
}

func (s *stack) projectHost() process {
	p := process{
		name: nameHost, round: 1,
		args: []string{
			"--address", "unix:" + s.socket(nameHost), "--state-dir", ObjectsDir(s.state), "--router", s.routerTarget(),
			"--development",
		},
	}
	for i := range s.options.Projects {
		p.args = append(p.args, s.bundleArgs(i)...)
	}
	if !s.platform() {
		p.args = append(p.args, "--platform-services=false")
	}
	if s.options.TestClock {
		p.args = append(p.args, "--test-clock")
	}
	if s.options.StrictLimits {
		p.args = append(p.args, "--strict-limits")
	}
	return s.overSocket(p)
}

func (s *stack) projectWorker(i int) process {
	l, socket := s.listeners.workers()[i], s.serviceSocket(i)
	return process{
		name: s.options.workerName(i), label: s.options.workerLabel(i), round: 0, socket: socket,
		args: append([]string{
			"--listen", fd(0), "--service-listen", "unix:" + socket, "--router", s.routerTarget(), "--development",
		}, s.bundleArgs(i)...),
		files:  []*os.File{l.file},
		health: httpHealth(l.url() + scriptHealthPath),
	}
}

// reload has the processes of a project run what it is now, and leaves the other Workers alone: its worker process takes
// new requests with it, and the object host gives its classes the new code. What cannot be started is refused by them, and
// the version before goes on.
func (s *supervisor) reload(u Update) {
	p, have := u.Project, s.options.Projects[u.Index]
	switch {
	case p.name() != have.name():
		s.log.Warn("the Worker has another name: stop tandem dev and start it again", "name", p.name(), "was", have.name())
		return
	case (p.hasClasses() || p.usesServices()) && s.children[nameHost] == nil && !s.hostElsewhere(p):
		s.log.Warn("object classes, KV or crons have come: stop tandem dev and start it again")
		return
	}
	if err := s.stack.writeProject(u.Index, p); err != nil {
		s.log.Error("the project was not reloaded", "err", err)
		return
	}
	s.log.Info("project changed, reloading", "worker", p.name())
	for _, name := range []string{nameHost, s.options.workerName(u.Index)} {
		if c := s.children[name]; c != nil {
			c.stale = !c.readAgain(s.pids[name])
		}
	}
}

// hostElsewhere reports whether what a project has of objects is in another stack's host: the platform's services alone.
func (s *supervisor) hostElsewhere(p *Project) bool { return !s.stack.platform() && !p.hasClasses() }

// readAgain has the process read its files again. It reports false when there is none that takes the signal: then it ends
// the pause before the next start, since the last version may not have started.
func (c *child) readAgain(pid int) bool {
	if pid != 0 {
		return syscall.Kill(pid, syscall.SIGUSR1) == nil
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return false
}
