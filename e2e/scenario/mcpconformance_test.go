package scenario

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-do/tandem/e2e/harness"
)

// knownFile lists the checks of the MCP conformance suite that do not succeed, one a line: revision, scenario, check,
// and, after " # ", the reason. It is sorted.
const knownFile = "testdata/mcpconformance.txt"

// conformanceRun is one run of the MCP conformance suite: what chooses its scenarios, and scenarios of which at least one
// check must succeed.
type conformanceRun struct {
	name string
	args []string
	must []string
}

// mcpRevisions are the protocol revisions that the suite is run for.
var mcpRevisions = []conformanceRun{
	{"2025-03-26", []string{"--suite", "all", "--spec-version", "2025-03-26"}, []string{"server-session-lifecycle"}},
	{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}, []string{
		"logging-set-level", "ping", "server-initialize", "server-session-lifecycle", "tools-list",
	}},
	{"2025-11-25", []string{"--requirements", "2025-11-25"}, []string{
		"dns-rebinding-protection", "ping", "server-initialize", "server-session-lifecycle",
		"server-sse-multiple-streams", "server-sse-polling", "tools-list",
	}},
	{"2026-07-28", []string{"--requirements", "2026-07-28"}, []string{
		"caching", "dns-rebinding-protection", "http-header-validation", "input-required-result-unsupported-methods",
		"input-required-result-validate-input", "server-sse-multiple-streams", "server-stateless", "tools-list",
	}},
}

// Every check of the MCP conformance suite succeeds, but for those that are known not to; and those do not.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	known := readKnown(t, knownFile, mcpRevisions)
	s := shared.stack
	endpoint := harness.BearerProxy(t, s.MustReady(t).MCPURL, s.NewIdentity(t).Token)
	for _, revision := range mcpRevisions {
		t.Run(revision.name, func(t *testing.T) {
			t.Parallel()
			judge(t, knownFile, known[revision.name], revision.must, harness.MCPConformance(t, endpoint, revision.args...))
		})
	}
}

// judge fails the test for each check that does not succeed and is not known for it, for each that is known and does, and
// for each scenario that must have a success and has none.
func judge(t *testing.T, file string, known map[string]string, must []string, checks []harness.Check) {
	t.Helper()
	succeeded, failed := map[string]bool{}, map[string]bool{}
	for _, c := range checks {
		name := c.Scenario + " " + c.ID
		switch c.Status {
		case "SUCCESS":
			succeeded[c.Scenario] = true
		case "FAILURE", "WARNING":
			failed[name] = true
			if known[name] == "" {
				t.Errorf("%s %s: %s", name, strings.ToLower(c.Status), c.Message)
			}
		}
	}
	for name, reason := range known {
		if !failed[name] {
			t.Errorf("%s no longer fails, but %s says that it does: %s", name, file, reason)
		}
	}
	for _, scenario := range must {
		if !succeeded[scenario] {
			t.Errorf("no check of %s succeeded", scenario)
		}
	}
}

// readKnown reads a file of checks that are known not to succeed: reasons by scenario and check, by run.
func readKnown(t *testing.T, file string, runs []conformanceRun) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if !slices.IsSorted(lines) {
		t.Errorf("%s is not sorted", file)
	}
	known := map[string]map[string]string{}
	for _, run := range runs {
		known[run.name] = map[string]string{}
	}
	for _, line := range lines {
		entry, reason, _ := strings.Cut(line, " # ")
		revision, name, _ := strings.Cut(entry, " ")
		checks, ok := known[revision]
		if !ok || strings.Count(name, " ") != 1 || strings.TrimSpace(reason) == "" || checks[name] != "" {
			t.Errorf("%s: bad or repeated line %q", file, line)
			continue
		}
		checks[name] = reason
	}
	return known
}
