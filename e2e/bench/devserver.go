package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tandem-do/tandem/e2e/soak"
)

// wranglerModules is where wrangler is installed, with the version of its own lock file.
const wranglerModules = "e2e/bench/node"

const (
	// reloadWithin bounds the time from an edit until the new answer.
	reloadWithin = 30 * time.Second
	// askAgain is how long a client waits before it asks again whether the new answer is there.
	askAgain = 3 * time.Millisecond
)

// devServer is a command for development that serves the project of a folder.
type devServer struct {
	name string
	// command returns what serves the project in dir at a port of loopback.
	command func(dir, port string) *exec.Cmd
}

// tandemDev is `tandem dev` of a built binary.
func tandemDev(binary string) devServer {
	return devServer{name: "tandem dev", command: func(dir, port string) *exec.Cmd {
		cmd := exec.Command(binary, "dev", ".", "--port", port, "--dashboard-port", "0", "--auth-port", "0")
		cmd.Dir = dir
		return cmd
	}}
}

// wranglerDev is `wrangler dev`, told to leave the network alone so that it waits for nothing there.
func wranglerDev(ctx context.Context) (devServer, error) {
	if err := installModules(ctx, wranglerModules); err != nil {
		return devServer{}, err
	}
	script, err := filepath.Abs(filepath.Join(wranglerModules, "node_modules/wrangler/bin/wrangler.js"))
	if err != nil {
		return devServer{}, err
	}
	return devServer{name: "wrangler dev", command: func(dir, port string) *exec.Cmd {
		cmd := exec.Command("node", script, "dev", "--ip", "127.0.0.1", "--port", port)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=1", "WRANGLER_SEND_METRICS=false", "WRANGLER_HIDE_BANNER=true",
			"CLOUDFLARE_CF_FETCH_ENABLED=false", "WRANGLER_LOG_PATH="+dir)
		return cmd
	}}, nil
}

// installModules installs the npm packages of a folder, unless those of its lock file are there.
func installModules(ctx context.Context, folder string) error {
	lock, err := os.Stat(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("npm packages (run this in the repository's root): %w", err)
	}
	installed, err := os.Stat(filepath.Join(folder, "node_modules/.package-lock.json"))
	if err == nil && !lock.ModTime().After(installed.ModTime()) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", folder, err, out)
	}
	return nil
}

// served is a devServer that runs.
type served struct {
	*running
	dir, address, log string
}

// serve starts the server on the project in dir and returns how long it took until the first answer.
func (d devServer) serve(t *steps, dir, path string) (*served, time.Duration, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, 0, err
	}
	s := &served{dir: dir, address: address, log: filepath.Join(t.TempDir(), "log")}
	began := time.Now()
	if s.running, err = startProcess(t, d.command(dir, port), s.log); err != nil {
		return nil, 0, err
	}
	if err := awaitServer(t.ctx, address, path); err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", d.name, err, s.said())
	}
	return s, time.Since(began), nil
}

// said returns the end of the server's log.
func (s *served) said() []byte {
	text, _ := os.ReadFile(s.log)
	return text[max(0, len(text)-4096):]
}

// pids returns the server's processes: its own and all below it.
func (s *served) pids() []int {
	all := []int{s.cmd.Process.Pid}
	for i := 0; i < len(all); i++ {
		all = append(all, soak.Children(all[i])...)
	}
	return all
}

// stop ends the server and waits for its end.
func (s *served) stop() { s.end(syscall.SIGTERM) }

// edit replaces text in a file of the project and returns how long it took until path answers with what is wanted.
func (s *served) edit(ctx context.Context, file, from, to, path, want string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	name := filepath.Join(s.dir, file)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(text, []byte(from)) {
		return 0, fmt.Errorf("%s lacks %q", file, from)
	}
	began := time.Now()
	if err := os.WriteFile(name, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600); err != nil {
		return 0, err
	}
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	var w *wire
	for {
		var body []byte
		if w == nil {
			w, err = dialWire(s.address)
		}
		if err == nil {
			body, err = w.do("GET", path)
		}
		if err == nil && string(body) == want {
			return time.Since(began), w.conn.Close()
		}
		if err != nil && w != nil { // the process that served it has made place for another
			err = errors.Join(err, w.conn.Close())
			w = nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("%s answers %q instead of %q: %w\n%s", path, body, want, errors.Join(err, ctx.Err()), s.said())
		}
	}
}
