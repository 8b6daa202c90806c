package pool

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/tandem-do/tandem/sandbox/frame"
)

const (
	// maxFrameBytes is the longest frame taken from a child: a result or an argument, and its envelope.
	maxFrameBytes = 16<<20 + 4<<10
	// stderrBytes is how much of a child's standard error is kept: its beginning, since the Go runtime first
	// says why it gives up.
	stderrBytes = 8 << 10
	// readyTimeout is how long a child has to start.
	readyTimeout = 10 * time.Second
)

// child is one process. Its goroutine (wait) reaps it; the rest belongs to whoever holds the child: the
// spawner until it is ready, the pool's idle list, or one Execution.
type child struct {
	cmd    *exec.Cmd
	in     *os.File // the child's standard input
	out    *os.File // the child's standard output
	reader *frame.Reader
	stderr *head
	// protections are what stands between its programs and the machine: what the pool did, and what the child says.
	protections []frame.Protection
	// idleSince is when it last became idle.
	idleSince time.Time
	// runs counts the programs that the child was given.
	runs uint64
	// cpu is the processor time of the programs that ended well.
	cpu time.Duration
	// exited is closed when the process is reaped and cmd.ProcessState is set.
	exited chan struct{}

	writeMu sync.Mutex // serializes frames on in
}

// startChild starts a process in namespaces of its own. It is called on the spawner's thread only, since the kernel kills
// children when the thread that started them ends.
func startChild(command []string, s separation) (*child, error) {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		closeAll(inRead, inWrite)
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	c := &child{
		cmd: exec.Command(command[0], command[1:]...), in: inWrite, out: outRead,
		reader: frame.NewReader(outRead, maxFrameBytes), stderr: &head{}, exited: make(chan struct{}),
	}
	c.cmd.Env = []string{} // not nil, which would be this process's
	c.cmd.Dir = "/"
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = inRead, outWrite, c.stderr
	c.cmd.SysProcAttr = processAttributes(s)
	c.protections = s.protections()
	err = c.cmd.Start()
	closeAll(inRead, outWrite)
	if err != nil {
		closeAll(inWrite, outRead)
		return nil, fmt.Errorf("start a child: %w", err)
	}
	return c, nil
}

func closeAll(files ...io.Closer) {
	for _, f := range files {
		_ = f.Close()
	}
}

// awaitReady reads the child's first frame.
func (c *child) awaitReady() error {
	if err := c.out.SetReadDeadline(time.Now().Add(readyTimeout)); err != nil {
		return fmt.Errorf("set a deadline: %w", err)
	}
	m, err := c.reader.Next()
	if err != nil {
		return fmt.Errorf("wait for a child to be ready: %w", err)
	}
	r, ok := m.(*frame.Ready)
	if !ok || r.Version != frame.Version {
		return fmt.Errorf("wait for a child to be ready: %w: %T, not version %d", frame.ErrMalformed, m, frame.Version)
	}
	c.protections = append(c.protections, r.Protections...)
	return c.out.SetReadDeadline(time.Time{})
}

// wait reaps the process.
func (c *child) wait() {
	_ = c.cmd.Wait()
	close(c.exited)
}

// write sends a frame. It fails once the process has ended, and ends when it is killed.
func (c *child) write(m frame.Message) error {
	b := frame.Append(nil, m)
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := c.in.Write(b)
	return err
}

// kill ends the process, whatever it is doing. It may be called from any goroutine and more than once.
func (c *child) kill() { _ = c.cmd.Process.Kill() }

// close kills the process, waits until it is reaped and releases its pipes.
func (c *child) close() {
	c.kill()
	<-c.exited
	closeAll(c.in, c.out)
}

// head keeps the first bytes written to it.
type head struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

// Write keeps what there is room for and never fails.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, p[:min(len(p), stderrBytes-len(h.kept))]...)
	return len(p), nil
}

// String returns what was kept.
func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.kept)
}
