package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Command is a build of the project's own that runs before the bundling.
type Command struct {
	// Shell is what sh runs.
	Shell string
	// Dir is where, an absolute path.
	Dir string
	// Watch are the absolute paths of files and directories whose changes call for another run.
	Watch []string
}

// commandGrace is how long a command that was stopped has to end before it is killed.
const commandGrace = 5 * time.Second

// maxCommandLine bounds a line of output that is held until it is whole.
const maxCommandLine = 64 << 10

// Run runs the command with env and waits for its end. Its output goes to out, each line behind a prefix. The error
// is *Error when it fails, or the context's.
func (c *Command) Run(ctx context.Context, env []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Shell)
	cmd.Dir, cmd.Env = c.Dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	lines := &prefixed{out: out, prefix: "[custom build] "}
	cmd.Stdout, cmd.Stderr = lines, lines
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	lines.flush()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return &Error{Messages: []Message{plain(fmt.Sprintf("the custom build %q failed: %v", c.Shell, exit))}}
	}
	return &Error{Messages: []Message{plain(fmt.Sprintf("the custom build %q can't run: %v", c.Shell, err))}}
}

// prefixed writes whole lines behind a prefix.
type prefixed struct {
	out    io.Writer
	prefix string
	mu     sync.Mutex // guards part
	part   []byte
}

// Write never fails: a command does not end because nobody can read what it says.
func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = append(p.part, b...)
	for {
		end := bytes.IndexByte(p.part, '\n')
		if end < 0 && len(p.part) < maxCommandLine {
			return len(b), nil
		}
		if end < 0 {
			end = len(p.part) - 1
		}
		p.line(p.part[:end+1])
		p.part = p.part[end+1:]
	}
}

func (p *prefixed) line(b []byte) {
	_, _ = fmt.Fprintf(p.out, "%s%s\n", p.prefix, bytes.TrimRight(b, "\r\n"))
}

// flush writes a last line that has no end.
func (p *prefixed) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.part) > 0 {
		p.line(p.part)
		p.part = nil
	}
}
