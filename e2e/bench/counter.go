package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// counterStack is docs/examples/counter with its router, as processes.
type counterStack struct {
	dir     string
	options counterOptions
	address string // of the worker
	router  *running
	host    *running
	worker  *running
}

// counterOptions say how a counterStack is started.
type counterOptions struct {
	// binaries is where buildCounter built.
	binaries string
	// env goes to host and worker.
	env []string
	// profiles, when set, is a directory for the sockets of net/http/pprof.
	profiles string
	// files, when not zero, is the host's limit of open files.
	files int
}

// buildCounter builds the example and tandem.
func buildCounter(t *steps) (dir string, err error) {
	dir = t.TempDir()
	cmd := exec.CommandContext(t.ctx, "go", "build", "-o", dir+"/", "./docs/examples/counter", "./cmd/tandem")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the counter (run this in the repository's root): %w\n%s", err, out)
	}
	return dir, nil
}

func startCounter(t *steps, o counterOptions) (c *counterStack, err error) {
	c = &counterStack{dir: t.TempDir(), options: o}
	if c.address, err = freeAddress(); err != nil {
		return nil, err
	}
	router := exec.Command(filepath.Join(o.binaries, "tandem"), "router", "--listen", c.socket("router"),
		"--state-dir", filepath.Join(c.dir, "router"))
	if c.router, err = startProcess(t, router, filepath.Join(c.dir, "router.log")); err != nil {
		return nil, err
	}
	if err := c.startHost(t); err != nil {
		return nil, err
	}
	worker := c.command("worker", "--listen", c.address, "--router", c.socket("router"))
	if c.worker, err = startProcess(t, worker, filepath.Join(c.dir, "worker.log")); err != nil {
		return nil, err
	}
	return c, awaitServer(t.ctx, c.address, "/ping/ready")
}

// startHost starts the host, on the objects that are there.
func (c *counterStack) startHost(t *steps) (err error) {
	cmd := c.command("host", "--listen", c.socket("host"), "--router", c.socket("router"), "--data",
		filepath.Join(c.dir, "objects"))
	if c.options.files > 0 {
		cmd = limitFiles(cmd, c.options.files)
	}
	c.host, err = startProcess(t, cmd, filepath.Join(c.dir, "host.log"))
	return err
}

func (c *counterStack) socket(name string) string {
	return "unix:" + filepath.Join(c.dir, name+".sock")
}

func (c *counterStack) command(role string, args ...string) *exec.Cmd {
	if c.options.profiles != "" {
		args = append(args, "--profile", "unix:"+filepath.Join(c.options.profiles, role+".sock"))
	}
	cmd := exec.Command(filepath.Join(c.options.binaries, "counter"), append([]string{role}, args...)...)
	cmd.Env = append(os.Environ(), c.options.env...)
	return cmd
}

func (c *counterStack) pids() []int {
	return []int{c.router.cmd.Process.Pid, c.host.cmd.Process.Pid, c.worker.cmd.Process.Pid}
}

// running is a process of a benchmark; it ends with it.
type running struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts cmd with its output in a file.
func startProcess(t *steps, cmd *exec.Cmd, log string) (*running, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &running{cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait() //nolint:errcheck // its end is what is waited for
		close(p.done)
	}()
	t.Cleanup(func() { p.end(syscall.SIGTERM) })
	return p, nil
}

// end sends a signal and waits for the process's end; SIGTERM that does not help within 15 s is followed by SIGKILL.
func (p *running) end(s syscall.Signal) {
	p.cmd.Process.Signal(s)                                                 //nolint:errcheck // it may have ended already
	kill := time.AfterFunc(15*time.Second, func() { p.cmd.Process.Kill() }) //nolint:errcheck // as above
	defer kill.Stop()
	<-p.done
}

// awaitServer waits until a server answers a request for path.
func awaitServer(ctx context.Context, address, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		w, err := dialWire(address)
		if err == nil {
			_, err = w.do("GET", path)
			w.conn.Close()
		}
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve: %w", address, err)
		}
	}
}
