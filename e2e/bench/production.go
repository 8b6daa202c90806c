package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tandem-do/tandem/e2e/harness"
)

// productionOptions say how a project is run as in production.
type productionOptions struct {
	// project is the folder of its wrangler file.
	project string
	// ready is a path that the Worker answers.
	ready string
	// files, when not zero, is the host's limit of open files.
	files int
	// isolates, when not zero, is how many isolates the host and the worker may have.
	isolates int
	// clock has the host's objects live by a clock that advance moves.
	clock bool
	// profiles, when set, is a directory for sockets of net/http/pprof.
	profiles string
}

// production is a project's bundle, run by a router, a host and a worker.
type production struct {
	binary, dir, address string
	router, host, worker *running
}

// startProduction builds the project into a bundle and runs it.
func startProduction(t *steps, o productionOptions) (*production, error) {
	binary, err := harness.Build(t.ctx, t.TempDir())
	if err != nil {
		return nil, err
	}
	p := &production{binary: binary, dir: t.TempDir()}
	bundle := filepath.Join(p.dir, "bundle")
	if out, err := exec.CommandContext(t.ctx, binary, "build", o.project, "-o", bundle).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("tandem build: %w\n%s", err, out)
	}
	if p.address, err = freeAddress(); err != nil {
		return nil, err
	}
	objects := []string{
		"durableobject", "--listen", p.socket("host"), "--router", p.socket("router"), "--bundle", bundle,
		"--state-dir", filepath.Join(p.dir, "objects"),
	}
	if o.clock {
		objects = append(objects, "--test-clock")
	}
	for _, s := range []struct {
		into *(*running)
		args []string
	}{
		{&p.router, []string{"router", "--listen", p.socket("router"), "--state-dir", filepath.Join(p.dir, "router")}},
		{&p.host, objects},
		{&p.worker, []string{"worker", "--listen", p.address, "--router", p.socket("router"), "--bundle", bundle}},
	} {
		cmd := exec.Command(binary, s.args...)
		cmd.Env = append(os.Environ(), "TANDEM_PROFILE_DIR="+o.profiles)
		if o.isolates > 0 {
			cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", o.isolates))
		}
		if s.into == &p.host && o.files > 0 {
			cmd = limitFiles(cmd, o.files)
		}
		if *s.into, err = startProcess(t, cmd, filepath.Join(p.dir, s.args[0]+".log")); err != nil {
			return nil, err
		}
	}
	if err := awaitServer(t.ctx, p.address, o.ready); err != nil {
		log, _ := os.ReadFile(filepath.Join(p.dir, "worker.log"))
		return nil, fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(log)))
	}
	return p, nil
}

// limitFiles returns cmd with a limit of open files.
func limitFiles(cmd *exec.Cmd, n int) *exec.Cmd {
	args := slices.Concat([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, n), "sh"}, cmd.Args)
	limited := exec.Command("sh", args...)
	limited.Env = cmd.Env
	return limited
}

func (p *production) socket(name string) string { return "unix:" + filepath.Join(p.dir, name+".sock") }

// processes returns what runs, in the order of a request.
func (p *production) processes() map[string]int {
	return map[string]int{
		"worker": p.worker.cmd.Process.Pid, "durableobject": p.host.cmd.Process.Pid, "router": p.router.cmd.Process.Pid,
	}
}

func (p *production) pids() []int {
	return []int{p.router.cmd.Process.Pid, p.host.cmd.Process.Pid, p.worker.cmd.Process.Pid}
}

// stop ends the processes.
func (p *production) stop() {
	for _, r := range []*running{p.worker, p.host, p.router} {
		r.end(syscall.SIGTERM)
	}
}

// advance moves the objects' clock and waits until what became due is done.
func (p *production) advance(ctx context.Context, by string) error {
	cmd := exec.CommandContext(ctx, p.binary, "clock", "advance", by, "--wait", "2m", "--address", p.socket("host"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tandem clock advance: %w\n%s", err, out)
	}
	return nil
}
