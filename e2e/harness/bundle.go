package harness

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
	return address
}
