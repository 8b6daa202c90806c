package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandem-do/tandem/e2e/harness"
)

const workerdBinary = "../node/node_modules/@cloudflare/workerd-linux-64/bin/workerd"

// classes are the object classes of testdata/project, bound by their names in capitals as its wrangler.jsonc does.
var classes = []string{"Probe", "Legacy", "Silent", "Failing", "Blocking", "Plain", "Lender"}

// half is one of the two halves of the project: the probes of the platform, or those of node's modules.
type half struct {
	main  string
	flags []string
}

func platform() half { return half{main: "index.js"} }
func nodeHalf() half { return half{main: "node.js", flags: []string{"nodejs_compat"}} }

// writeProject copies the project for tandem and returns its folder.
func writeProject(t *testing.T, h half, date string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("testdata/project/wrangler.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	flags, err := json.Marshal(append([]string{}, h.flags...))
	if err != nil {
		t.Fatal(err)
	}
	config = bytes.Replace(config, []byte("2026-04-01"), []byte(date), 1)
	config = bytes.Replace(config, []byte(`"main": "index.js"`),
		fmt.Appendf(nil, `"main": %q, "compatibility_flags": %s`, h.main, flags), 1)
	if err := os.WriteFile(filepath.Join(dir, "wrangler.jsonc"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startTandem runs the project by tandem dev and returns its origin.
func startTandem(t *testing.T, binary string, h half, date string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s, err := harness.Start(ctx, harness.Options{Binary: binary, Args: []string{writeProject(t, h, date)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if testing.Verbose() {
			t.Logf("log of the stack:\n%s", s.Log())
		}
	})
	return s.MustReady(t).WorkerURL
}

// startBundle runs the project as it runs in production, by a bundle, and returns its origin.
func startBundle(t *testing.T, binary, date string) string {
	t.Helper()
	p := harness.Production{Binary: binary, Project: writeProject(t, platform(), date)}
	if testing.Verbose() {
		p.Output = t.Output()
	}
	return "http://" + harness.StartProduction(t, p)
}

// startWorkerd runs the project by workerd and returns its origin.
func startWorkerd(t *testing.T, h half, date string) string {
	t.Helper()
	dir, address := t.TempDir(), harness.FreeAddress(t)
	if err := os.CopyFS(dir, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "objects"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.capnp")
	if err := os.WriteFile(config, []byte(workerdConfig(t, dir, address, h, date)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(workerdBinary, "serve", config)
	if testing.Verbose() {
		cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	harness.AwaitListener(t, address)
	return "http://" + address
}

// workerdConfig is the project's configuration for workerd.
func workerdConfig(t *testing.T, dir, address string, h half, date string) string {
	t.Helper()
	var modules, namespaces, bindings strings.Builder
	fmt.Fprintf(&modules, "(name = \"index.js\", esModule = embed %q), ", h.main)
	files, err := filepath.Glob(filepath.Join(dir, "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "cases", "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, cases...) {
		name, _ := filepath.Rel(dir, file)
		if name != platform().main && name != nodeHalf().main {
			fmt.Fprintf(&modules, "(name = %q, esModule = embed %q), ", name, name)
		}
	}
	for _, class := range classes {
		fmt.Fprintf(&namespaces, "(className = %q, uniqueKey = %q, enableSql = true), ", class, "probes-"+class)
		fmt.Fprintf(&bindings, "(name = %q, durableObjectNamespace = %q), ", strings.ToUpper(class), class)
	}
	flags := ""
	if len(h.flags) > 0 {
		flags = fmt.Sprintf("%q", strings.Join(h.flags, `", "`))
	}
	return fmt.Sprintf(`using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .probes), (name = "objects", disk = (path = "%s/objects", writable = true))],
  sockets = [(name = "http", address = "%s", http = (), service = "main")],
);
const probes :Workerd.Worker = (
  modules = [%s], compatibilityDate = "%s", compatibilityFlags = [%s],
  durableObjectNamespaces = [%s], durableObjectStorage = (localDisk = "objects"),
  bindings = [%s(name = "SELF", service = "main"),
    (name = "SVC", service = (name = "main", entrypoint = "Service")), (name = "TEXT", text = "text"), (name = "DATA", json = "{\"a\":[1]}")],
);
`, dir, address, &modules, date, flags, &namespaces, &bindings)
}
