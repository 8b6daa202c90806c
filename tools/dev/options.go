package dev

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// DrainTimeout is how long the processes of a stack have to drain before they are killed.
const DrainTimeout = 10 * time.Second

// MaxProjects is how many Workers a stack may have.
const MaxProjects = 64

// DirectoryVariable is the environment variable that tells the children Options.Directory, which may hold a password.
const DirectoryVariable = "TANDEM_DIRECTORY"

// Options say how a stack runs. Ports are TCP ports on 127.0.0.1, 0 for any free one.
type Options struct {
	// Executable is the tandem binary that the children run. Default: the running one.
	Executable string
	// StateDir holds what outlives the stack. Required unless Ephemeral.
	StateDir string
	// Ephemeral keeps the state in a temporary directory that is removed at the end.
	Ephemeral bool
	// Projects are run instead of the MCP application, the first one as the primary Worker. Updates brings what they have
	// become; nil if they never change.
	Projects []*Project
	Updates  <-chan Update
	// Reserve has processes that Workers may become; nil for none.
	Reserve *Reserve
	// Root is the project root: stacks of projects with the same one run with one router, and their Workers reach each
	// other. Empty for a stack that is alone.
	Root string
	// RuntimeDir is where such stacks find each other: $XDG_RUNTIME_DIR. Default: the directory of temporary files.
	RuntimeDir string
	// SearchPort and SearchDashboardPort have the next free port taken when Port or DashboardPort is busy.
	SearchPort, SearchDashboardPort bool
	// Port is the worker's, DashboardPort the trace store's, AuthPort the authorization server's, OTLPPort
	// the trace store's for OTLP over gRPC.
	Port, DashboardPort, AuthPort, OTLPPort int
	// Directory is where users and organizations are: sqlite:PATH or postgres://… Default: directory.db in StateDir.
	Directory string
	// ReadyFile, if set, is written when the stack is ready and whenever it is again: a JSON object, see Ready.
	ReadyFile string
	// SessionTimeout, PausedTimeout and ApprovalWindow are those of the MCP application; 0 leaves the object
	// host's own defaults.
	SessionTimeout, PausedTimeout, ApprovalWindow time.Duration
	// TestClock has the objects live by a clock that `tandem clock advance` moves.
	TestClock bool
	// StrictLimits has storage hold to Cloudflare's limits before SQLite.
	StrictLimits bool
	// AllowPrivateSources lets sources of tools have loopback and private addresses.
	AllowPrivateSources bool
	// TraceRatio is the share of new traces that are recorded, above 0 and at most 1. Default 1.
	TraceRatio float64
	// LogLevel is the least severe level that is logged, by the supervisor and its children.
	LogLevel slog.Level
	// Quiet has the children log warnings and errors only, beside what scripts print.
	Quiet bool
	// Color is true when Stderr is a terminal that takes colors.
	Color bool
	// Stdout takes the ready table, Stderr the logs. Default: none.
	Stdout, Stderr io.Writer
	// Kill, if set, ends a drain at once when it is closed.
	Kill <-chan struct{}

	// workersOnly leaves out the ports that are not Workers', since the stack has joined another.
	workersOnly bool
	// otlpHint is the port for OTLP that is tried before any free one.
	otlpHint int
	// fake is what tests put in the place of real children.
	fake fakes
}

// fakes are the hooks of tests; the zero value changes nothing.
type fakes struct {
	// env is added to every child's environment.
	env []string
	// observe is told each event of the supervisor, on its own goroutine.
	observe func(event)
	// limits, unless zero, replace defaultLimits.
	limits limits
}

// limits are the waits of a supervisor.
type limits struct {
	// start bounds how long a started process may take to answer its health check.
	start time.Duration
	// drain bounds a drain of the whole stack.
	drain time.Duration
	// backoffFirst and backoffMax are the first and the longest wait before a restart.
	backoffFirst, backoffMax time.Duration
	// steady is how long a process must be healthy for its backoff to begin anew.
	steady time.Duration
	// startAttempts is how often a process is started before the stack gives up on its first health.
	startAttempts int
	// crashLoop is how many ends in a row are reported as a crash loop.
	crashLoop int
	// slow is how long a start may take before its progress is shown, and the time between such lines.
	slow time.Duration
}

// defaultLimits are the limits of `tandem dev`.
var defaultLimits = limits{
	start: 30 * time.Second, drain: DrainTimeout,
	backoffFirst: 100 * time.Millisecond, backoffMax: 5 * time.Second, steady: 10 * time.Second,
	startAttempts: 5, crashLoop: 4, slow: 2 * time.Second,
}

// Validate reports every option that is out of range.
func (o Options) Validate() error {
	var errs []error
	if o.StateDir == "" && !o.Ephemeral {
		errs = append(errs, errors.New("a state directory is needed"))
	}
	if len(o.Projects) > MaxProjects {
		errs = append(errs, fmt.Errorf("%d Workers are too many for one stack, at most %d", len(o.Projects), MaxProjects))
	}
	seen := map[int]string{}
	for _, p := range o.ports() {
		if p.port < 0 || p.port > 65535 {
			errs = append(errs, fmt.Errorf("--%s %d is out of range: 0 (any free port) to 65535", p.flag, p.port))
		}
		if other, ok := seen[p.port]; ok && p.port != 0 {
			errs = append(errs, fmt.Errorf("--%s and --%s are both %d", other, p.flag, p.port))
		}
		seen[p.port] = p.flag
	}
	if !(o.TraceRatio >= 0 && o.TraceRatio <= 1) {
		errs = append(errs, fmt.Errorf("--trace-ratio %v is out of range: above 0, at most 1", o.TraceRatio))
	}
	return errors.Join(errs...)
}

// runningExecutable is what processes run unless Options.Executable says otherwise.
func runningExecutable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running executable: %w", err)
	}
	return exe, nil
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() (Options, error) {
	if o.Executable == "" {
		exe, err := runningExecutable()
		if err != nil {
			return o, err
		}
		o.Executable = exe
	}
	if o.TraceRatio == 0 {
		o.TraceRatio = 1
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	if o.fake.limits == (limits{}) {
		o.fake.limits = defaultLimits
	}
	return o, nil
}
