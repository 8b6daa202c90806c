package dev

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Names of the processes, as in the ready file and in the logs.
const (
	nameTraces  = "traces"
	nameRouter  = "router"
	nameSandbox = "sandbox"
	nameAuth    = "auth"
	nameHost    = "durableobject"
	nameWorker  = "worker"
)

// healthPath is where processes that serve HTTP answer probes.
const healthPath = "/healthz"

// longestSocket is the longest name of a socket in the runtime directory.
const longestSocket = nameHost + ".sock"

// process is what the supervisor knows of a process before it runs.
type process struct {
	// name is also the subcommand, up to a colon: one of several Workers has its Worker's name after that.
	name string
	// label is how its lines are marked; empty means name.
	label string
	// args are its flags.
	args []string
	// env is added to its environment.
	env []string
	// files are the listeners it inherits, as descriptors from lifelineFD+1 on.
	files []*os.File
	// after are the processes that must be healthy before it is started for the first time.
	after []string
	// round is when it stops in a drain: 0 first.
	round int
	// socket, if set, is the unix socket it makes; what a killed one left of it is removed before a start.
	socket string
	// health waits until the process answers its health check, or ctx ends.
	health func(ctx context.Context) error
}

// drainRounds is how many rounds a drain has: worker, host, what they use, and the trace store, which takes the
// spans of all the others.
const drainRounds = 4

// stack is where everything of one stack is.
type stack struct {
	options   Options
	state     string
	run       string
	listeners *listeners
	// meeting is where the stack meets others of its project root; nil when it is alone.
	meeting *meeting
}

// processes returns the processes of the stack: a project's, or those of the MCP application.
func (s *stack) processes() []process {
	if len(s.options.Projects) > 0 {
		return s.projectProcesses()
	}
	return []process{s.traces(), s.router(), s.sandbox(), s.auth(), s.host(), s.worker()}
}

// startTurn is how long the start of one process holds back that of another.
const startTurn = 6 * time.Millisecond

// startOrder returns the names in the order of their first start. A stack of projects answers once its primary Worker
// runs, which makes itself known to the router, and is ready when the object host is, which takes longest.
func (s *stack) startOrder(names []string) []string {
	if len(s.options.Projects) == 0 {
		return names
	}
	rank := func(name string) int {
		switch name {
		case nameWorker:
			return 0
		case nameRouter:
			return 1
		case nameHost:
			return 2
		case nameTraces:
			return 4
		}
		return 3 // the other Workers
	}
	return slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// startsAtOnce is how many processes start at once. More than there are processors slow each other down, and the one that
// is waited for with them.
func (s *stack) startsAtOnce() int {
	if len(s.options.Projects) == 0 {
		return math.MaxInt
	}
	return max(2, runtime.NumCPU())
}

// socket returns the path of a process's socket.
func (s *stack) socket(name string) string { return filepath.Join(s.run, name+".sock") }

// mcpURL is the MCP endpoint.
func (s *stack) mcpURL() string { return s.listeners.worker.url() + "/mcp" }

// directory tells a child where users and organizations are.
func (s *stack) directory() string {
	dsn := s.options.Directory
	if dsn == "" {
		dsn = "sqlite:" + filepath.Join(s.state, "directory.db")
	}
	return DirectoryVariable + "=" + dsn
}

// fd returns the address of the i-th inherited listener.
func fd(i int) string { return fmt.Sprintf("fd:%d", lifelineFD+1+i) }

func (s *stack) traces() process {
	l := s.listeners
	return process{
		name: nameTraces, round: 3,
		args: []string{
			"--listen", fd(0), "--otlp-listen", fd(1), "--state-dir", filepath.Join(s.state, nameTraces),
			"--link", "MCP endpoint=" + s.mcpURL(), "--link", "Sign-in=" + l.auth.url(),
		},
		files:  []*os.File{l.dashboard.file, l.otlp.file},
		health: httpHealth(l.dashboard.url() + healthPath),
	}
}

func (s *stack) router() process {
	return s.overSocket(process{
		name: nameRouter, round: 2,
		args: []string{"--state-dir", filepath.Join(s.state, nameRouter)},
	})
}

func (s *stack) sandbox() process {
	return s.overSocket(process{name: nameSandbox, round: 2})
}

func (s *stack) auth() process {
	l := s.listeners.auth
	return process{
		name: nameAuth, round: 2,
		args: []string{
			"--listen", fd(0), "--public-url", l.url(), "--audience", s.mcpURL(),
			"--state-dir", filepath.Join(s.state, nameAuth),
		},
		env:    []string{s.directory()},
		files:  []*os.File{l.file},
		health: httpHealth(l.url() + healthPath),
	}
}

func (s *stack) host() process {
	p := s.overSocket(process{
		name: nameHost, round: 1, after: []string{nameRouter, nameSandbox},
		args: []string{
			"--address", "unix:" + s.socket(nameHost), "--state-dir", ObjectsDir(s.state),
			"--router", "unix:" + s.socket(nameRouter), "--sandbox", "unix:" + s.socket(nameSandbox),
		},
	})
	for _, t := range []struct {
		flag  string
		value time.Duration
	}{
		{"--session-timeout", s.options.SessionTimeout},
		{"--paused-session-timeout", s.options.PausedTimeout},
		{"--approval-window", s.options.ApprovalWindow},
	} {
		if t.value > 0 {
			p.args = append(p.args, t.flag, t.value.String())
		}
	}
	if s.options.TestClock {
		p.args = append(p.args, "--test-clock")
	}
	if s.options.StrictLimits {
		p.args = append(p.args, "--strict-limits")
	}
	if s.options.AllowPrivateSources {
		p.args = append(p.args, "--allow-private-sources")
	}
	return p
}

func (s *stack) worker() process {
	l := s.listeners.worker
	return process{
		name: nameWorker, round: 0, after: []string{nameHost, nameAuth, nameTraces},
		args: []string{
			"--listen", fd(0), "--public-url", l.url(), "--issuer", s.listeners.auth.url(),
			"--router", "unix:" + s.socket(nameRouter),
			"--session-key-file", filepath.Join(s.state, nameWorker, "session.key"),
		},
		env:    []string{s.directory()},
		files:  []*os.File{l.file},
		health: httpHealth(l.url() + healthPath),
	}
}

// overSocket completes a process that serves gRPC on a socket of its own.
func (s *stack) overSocket(p process) process {
	p.socket = s.socket(p.name)
	p.args = append(p.args, "--listen", "unix:"+p.socket, "--reflection")
	p.health = grpcHealth(p.socket)
	return p
}
