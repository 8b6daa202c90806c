package dev

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// meet has a stack of projects meet the others of its project root.
func (s *stack) meet(ctx context.Context) (err error) {
	if s.options.Root == "" || len(s.options.Projects) == 0 {
		return nil
	}
	var names []string
	for _, p := range s.options.Projects {
		names = append(names, p.name())
	}
	if s.meeting, err = openMeeting(ctx, s.options.RuntimeDir, s.options.Root, names); err != nil {
		return err
	}
	s.options.workersOnly = !s.meeting.kept
	if s.meeting.kept && s.options.OTLPPort == 0 {
		s.options.otlpHint = s.meeting.lastOTLPPort()
	}
	if s.options.uses((*Project).hasClasses) || s.options.uses((*Project).usesServices) {
		err = s.meeting.takeServices()
	}
	if err != nil {
		err = errors.Join(err, s.leave())
	}
	return err
}

// leave ends the stack's part in the meeting.
func (s *stack) leave() error {
	if s.meeting == nil {
		return nil
	}
	return s.meeting.close()
}

// announce tells other stacks of the project root where the router and the trace store are, if they are this one's.
func (s *stack) announce() error {
	if s.meeting == nil || !s.meeting.kept {
		return nil
	}
	return s.meeting.announce(met{
		Pid: os.Getpid(), Root: s.options.Root, OTLPEndpoint: s.listeners.otlp.url(), DashboardURL: s.listeners.dashboard.url(),
	}, s.socket(nameRouter))
}

// keeper is the stack whose router this one uses, or nil when it has its own.
func (s *stack) keeper() *met {
	if s.meeting == nil || s.meeting.kept {
		return nil
	}
	return s.meeting.keeper
}

// routerTarget is the gRPC target of the router.
func (s *stack) routerTarget() string {
	if s.keeper() != nil {
		return s.meeting.routerTarget()
	}
	return "unix:" + s.socket(nameRouter)
}

// otlpEndpoint is where spans go.
func (s *stack) otlpEndpoint() string {
	if k := s.keeper(); k != nil {
		return k.OTLPEndpoint
	}
	return s.listeners.otlp.url()
}

// dashboardURL is where the trace store shows them.
func (s *stack) dashboardURL() string {
	if k := s.keeper(); k != nil {
		return k.DashboardURL
	}
	return s.listeners.dashboard.url()
}

// platform reports whether this stack's object host has the platform's services, such as KV.
func (s *stack) platform() bool { return s.meeting == nil || s.meeting.services }

// needsHost reports whether the stack has an object host.
func (s *stack) needsHost() bool {
	return s.options.uses((*Project).hasClasses) || s.platform() && s.options.uses((*Project).usesServices)
}

// uses reports whether any of the projects does.
func (o Options) uses(what func(*Project) bool) bool {
	for _, p := range o.Projects {
		if what(p) {
			return true
		}
	}
	return false
}

// workerName is the name of the process of the i-th Worker.
func (o Options) workerName(i int) string {
	if i == 0 {
		return nameWorker
	}
	return nameWorker + ":" + o.Projects[i].name()
}

// workerLabel marks the lines of the i-th Worker's process: with its name if there are several.
func (o Options) workerLabel(i int) string {
	if len(o.Projects) == 1 {
		return nameWorker
	}
	return o.Projects[i].name()
}

// maxLabel is how much of a Worker's name widens the column of labels.
const maxLabel = 24

// labelWidth is the width of the column of labels.
func (o Options) labelWidth() int {
	width := len(nameHost)
	for i := range o.Projects {
		width = max(width, min(len(o.workerLabel(i)), maxLabel))
	}
	return width
}

// bundlePath and secretsPath are files of the i-th Worker, and serviceSocket is where its process takes calls of others.
func (s *stack) bundlePath(i int) string { return s.file(i, bundleSuffix) }

func (s *stack) secretsPath(i int) string { return s.file(i, secretsSuffix) }

func (s *stack) serviceSocket(i int) string { return s.file(i, socketSuffix) }

func (s *stack) file(i int, suffix string) string {
	return filepath.Join(s.run, nameWorker+strconv.Itoa(i)+suffix)
}
