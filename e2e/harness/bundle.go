package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Production says how StartProduction runs a project.
type Production struct {
	// Binary is the tandem to run, and Project the folder of the project.
	Binary, Project string
	// WorkerFlags are further flags of its worker.
	WorkerFlags []string
	// Output takes what the processes write; nil discards it.
	Output io.Writer
}

// StartProduction builds a project into a bundle and runs that by a router, an object host and a worker until the end of
// the test. It returns the worker's address, on which it listens then.
func StartProduction(t testing.TB, p Production) (address string) {
	t.Helper()
	dir, address := t.TempDir(), FreeAddress(t)
	project, err := filepath.Abs(p.Project)
	if err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(p.Binary, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, p.Output, p.Output
		return cmd
	}
	if err := command("build", project, "-o", "bundle").Run(); err != nil {
		t.Fatal(err)
	}
	router := "unix:" + dir + "/r"
	for _, args := range [][]string{
		{"router", "--listen", router, "--state-dir", "router"},
		{"durableobject", "--bundle", "bundle", "--listen", "unix:" + dir + "/o", "--state-dir", "objects", "--router", router},
		append([]string{"worker", "--bundle", "bundle", "--listen", address, "--router", router}, p.WorkerFlags...),
	} {
		cmd := command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		})
	}
	AwaitListener(t, address)
	AwaitProcesses(t, router, 2, command)
	return address
}

// AwaitProcesses waits until a router knows so many bundles of processes that run, for at most two minutes: those of object
// hosts and of workers. command makes commands of tandem.
func AwaitProcesses(t T, router string, n int, command func(args ...string) *exec.Cmd) {
	t.Helper()
	awaitOutput(t, fmt.Sprintf("the router does not know %d processes", n), func() (string, error) {
		cmd := command("reload", "--router", router)
		cmd.Stdout, cmd.Stderr = nil, nil
		out, err := cmd.CombinedOutput()
		return string(out), err
	}, func(out string) bool { return strings.Count(out, " runs already") == n })
}

// awaitOutput runs a command until it succeeds with an output that will do, for at most two minutes.
func awaitOutput(t T, otherwise string, run func() (string, error), does func(out string) bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); ; <-tick.C {
		out, err := run()
		if err == nil && does(out) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v\n%s", otherwise, err, out)
		}
	}
}
