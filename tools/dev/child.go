package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/tandem-do/tandem/tools/dev/console"
)

// outputWait is how long a child's output may stay open after its end, held by children of its own.
const outputWait = 500 * time.Millisecond

// Exit codes by which a child says that starting it again is of no use: its flags are wrong, or the script that it is to
// run does not start.
const (
	exitUsage   = 2
	exitProject = 6
)

// errUnhealthy is a process that runs and did not answer its health check in time.
var errUnhealthy = errors.New("not healthy after")

// eventKind says what happened to a child.
type eventKind int

const (
	// eventStarted: its process runs.
	eventStarted eventKind = iota
	// eventHealthy: it answers its health check.
	eventHealthy
	// eventEnded: its process has ended, and another will be started after wait.
	eventEnded
	// eventGaveUp: it will not be started again.
	eventGaveUp
	// eventStopped: its process has ended as it was told to.
	eventStopped
	// eventReady comes from the supervisor, for tests: the stack is ready, and has said so.
	eventReady
)

// event is what a child tells the supervisor.
type event struct {
	name string
	kind eventKind
	pid  int
	// err says how it ended, in eventEnded and eventGaveUp.
	err error
	// wait is the time until the next start, ends how many ends in a row there were, in eventEnded.
	wait time.Duration
	ends int
}

// child runs one process again and again, on a goroutine of its own.
type child struct {
	process
	sup *supervisor
	// output takes what the process writes.
	output *console.Source
	// turn is closed when the process may start for the first time.
	turn chan struct{}
	// first is closed when the process was healthy for the first time.
	first chan struct{}
	// stop is closed to end the child, done when it has ended.
	stop, done chan struct{}
	// stale is true when its files have changed since the process was last told; it belongs to the supervisor's goroutine.
	stale bool
	// wake ends the pause before a restart; it has room for one.
	wake chan struct{}
}

// run is the goroutine of the child.
func (c *child) run() {
	defer close(c.done)
	if !c.awaitDependencies() {
		return
	}
	lim := c.sup.options.fake.limits
	retry := &backoff.ExponentialBackOff{
		InitialInterval: lim.backoffFirst, MaxInterval: lim.backoffMax, Multiplier: 2, RandomizationFactor: 0.1,
	}
	retry.Reset()
	for ends := 1; ; ends++ {
		healthy, err := c.life()
		if c.stopping() {
			c.sup.emit(event{name: c.name, kind: eventStopped, err: err})
			return
		}
		if healthy >= lim.steady {
			retry.Reset()
			ends = 1
		}
		hopeless := errors.Is(err, errUnhealthy) || exitCode(err) == exitUsage || exitCode(err) == exitProject
		if !c.wasHealthy() && (ends >= lim.startAttempts || hopeless) {
			c.sup.emit(event{name: c.name, kind: eventGaveUp, err: err})
			<-c.stop
			return
		}
		wait := retry.NextBackOff()
		c.sup.emit(event{name: c.name, kind: eventEnded, err: err, wait: wait, ends: ends})
		if !c.pause(wait) {
			return
		}
	}
}

// awaitDependencies waits for the process's turn, and until those that it needs were healthy; false means that the child
// was stopped.
func (c *child) awaitDependencies() bool {
	select {
	case <-c.turn:
	case <-c.stop:
		return false
	}
	for _, name := range c.after {
		select {
		case <-c.sup.children[name].first:
		case <-c.stop:
			return false
		}
	}
	return true
}

// pause waits before a restart; false means that the child was stopped.
func (c *child) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.wake:
		return true
	case <-c.stop:
		return false
	}
}

// stopping is true when the child was told to end.
func (c *child) stopping() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// wasHealthy is true when the process was healthy once in this stack.
func (c *child) wasHealthy() bool {
	select {
	case <-c.first:
		return true
	default:
		return false
	}
}

// life is one process from its start to its end: how long it was healthy, and how it ended.
func (c *child) life() (healthy time.Duration, err error) {
	cmd, err := c.start()
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(c.sup.detached, c.sup.options.fake.limits.start)
	defer cancel()
	health := make(chan error, 1)
	go func() {
		defer close(health)
		health <- c.health(ctx)
	}()

	var since time.Time
	var unhealthy error
	stop, kill, checked := c.stop, c.sup.kill, health
	for {
		select {
		case err := <-checked:
			checked = nil
			switch {
			case err == nil:
				since = time.Now()
				c.becameHealthy(cmd.Process.Pid)
			case stop != nil:
				unhealthy = fmt.Errorf("%w %v: %w", errUnhealthy, c.sup.options.fake.limits.start, err)
				killGroup(cmd)
			}
		case <-stop:
			stop = nil
			cancel()
			terminate(cmd)
		case <-kill:
			kill = nil
			killGroup(cmd)
		case err := <-ended:
			cancel()
			for range health { // what it says counts no more
			}
			killGroup(cmd) // what it left behind
			c.output.Flush()
			if !since.IsZero() {
				healthy = time.Since(since)
			}
			return healthy, cmp.Or(unhealthy, endError(err))
		}
	}
}

// becameHealthy tells the supervisor and those that wait for this process.
func (c *child) becameHealthy(pid int) {
	if !c.wasHealthy() {
		close(c.first)
	}
	c.sup.emit(event{name: c.name, kind: eventHealthy, pid: pid})
}

// start starts the process.
func (c *child) start() (*exec.Cmd, error) {
	if c.socket != "" {
		if err := os.Remove(c.socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove old socket: %w", err)
		}
	}
	o := c.sup.options
	flags, files := slices.Concat(c.args, c.sup.common), append([]*os.File{c.sup.lifeline}, c.files...)
	cmd := o.Reserve.take(&c.process, flags, files, c.output)
	if cmd == nil {
		cmd = exec.Command(o.Executable, append([]string{c.command()}, flags...)...)
		cmd.Env = slices.Concat(os.Environ(), c.env, o.fake.env)
		cmd.ExtraFiles = files
		cmd.Stdout, cmd.Stderr = c.output, c.output
		cmd.SysProcAttr = childAttributes()
		cmd.WaitDelay = outputWait
		if err := c.sup.spawner.start(cmd); err != nil {
			return nil, fmt.Errorf("start %s: %w", o.Executable, err)
		}
	}
	c.sup.emit(event{name: c.name, kind: eventStarted, pid: cmd.Process.Pid})
	return cmd, nil
}

// command is the subcommand of tandem.
func (p *process) command() string {
	name, _, _ := strings.Cut(p.name, ":")
	return name
}

// terminate asks the process to drain. An error means that it has ended, which Wait reports.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }

// killGroup kills the process and its children. An error means that none of them is left.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// endError says how a process ended.
func endError(err error) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return errors.New("ended with exit status 0")
	}
	return fmt.Errorf("ended: %w", err)
}

// exitCode returns the exit code in how a process ended, -1 when there is none.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
