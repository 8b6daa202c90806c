package projects

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// Bundles of three Workers run as production processes do: they find each other by the router alone. Two processes of one
// Worker take turns.
func TestWorkersInProduction(t *testing.T) {
	dir := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
		return cmd
	}
	for _, name := range workers {
		source, err := filepath.Abs(filepath.Join("testdata", "workers", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := command("build", source, "-o", name+".bundle").Run(); err != nil {
			t.Fatal(err)
		}
	}
	router := "unix:" + filepath.Join(dir, "r")
	run := func(args ...string) (stop func()) {
		cmd := command(append(args, "--router", router)...)
		if args[0] == "router" {
			cmd = command(args...)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := false
		stop = func() {
			if !done {
				done = true
				_ = cmd.Process.Signal(os.Interrupt)
				_ = cmd.Wait()
			}
		}
		t.Cleanup(stop)
		return stop
	}
	run("router", "--listen", router, "--state-dir", "router")
	run("durableobject", "--bundle", "accounts.bundle", "--bundle", "stock.bundle", "--listen", "unix:"+filepath.Join(dir, "o"),
		"--state-dir", "objects")
	web := harness.FreeAddress(t)
	run("worker", "--bundle", "web.bundle", "--listen", web)
	run("worker", "--bundle", "accounts.bundle", "--listen", harness.FreeAddress(t), "--service-listen", "unix:"+filepath.Join(dir, "a"))
	stopFirst := run("worker", "--bundle", "stock.bundle", "--listen", harness.FreeAddress(t))
	second := harness.FreeAddress(t)
	run("worker", "--bundle", "stock.bundle", "--listen", second)
	harness.AwaitListener(t, web)
	harness.AwaitListener(t, second)
	harness.AwaitProcesses(t, router, 6, command) // the host has two bundles
	p := func(path, want string) {
		t.Helper()
		if status, got := post(t, "http://"+web+path, ""); status != http.StatusOK || got != want {
			t.Errorf("%s: got %d %q, want %q", path, status, got, want)
		}
	}
	p("/deposit", `10`)
	p("/order", `{"receipt":"#ann pays 3","left":99}`)
	p("/nobody", `["TypeError","The entrypoint name Nobody was not found.",true,null,null]`)
	for range 4 {
		p("/other", "stock: POST /other")
	}
	stopFirst()
	for range 4 {
		p("/other", "stock: POST /other")
	}
}
